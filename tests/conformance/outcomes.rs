//! S32 to S34: which responses are outcomes.

use http::StatusCode;
use lab::{
    app::{App, answer, created},
    exchange::post,
    problem,
    wire::Server,
};
use tower_idempotency::idempotency::{OnFailure, Recording};

use crate::{shared, spied};

/// What refuses a request before the work (rule 13).
const REFUSALS: [u16; 18] = [400, 401, 403, 405, 406, 408, 409, 411, 413, 414, 415, 417, 421, 422, 425, 426, 428, 429];

fn status(code: u16) -> StatusCode {
    StatusCode::from_u16(code).expect("a status")
}

/// Sends twice to a handler that answers this status; whether the second was a replay.
async fn is_recorded(code: u16, on_failure: OnFailure) -> bool {
    let app = App::new(&shared(spied()).on_failure(on_failure), move |run, _| async move {
        answer(status(code), format!("{run}"))
    });
    let first = app.send(post("k", "{}")).await;
    assert_eq!((first.status, first.replayed()), (status(code), Some("false")));
    let second = app.send(post("k", "{}")).await;
    assert_eq!(second.status, status(code));
    assert_eq!(app.runs(), if second.replayed() == Some("true") { 1 } else { 2 }, "{code}");
    second.replayed() == Some("true")
}

/// S32, IK 2.6 and 2.7, ACP 6.5, own. The list is that of rule 13: every 2xx, 3xx and 4xx but those that refuse the
/// request before the work; no 5xx, and nothing out of range (9110 15 has it count as 5xx).
#[tokio::test(start_paused = true)]
async fn s32_outcomes_are_recorded_and_failures_are_not() {
    for code in (200..=599).chain([600, 999]) {
        let refusal = REFUSALS.contains(&code) || code == 431;
        assert_eq!(is_recorded(code, OnFailure::Release).await, code < 500 && !refusal, "{code}");
    }
}

/// S32: the mode that replays 500s too, as Stripe's API v1 does.
#[tokio::test(start_paused = true)]
async fn s32_failures_are_recorded_where_the_layer_is_set_to() {
    for code in [500, 502, 503, 504, 599, 600] {
        assert!(is_recorded(code, OnFailure::Record).await, "{code}");
    }
    assert!(!is_recorded(429, OnFailure::Record).await);
}

/// S32: the layer can be told a rule of its own.
#[tokio::test(start_paused = true)]
async fn s32_the_rule_can_be_replaced() {
    let layer =
        shared(spied()).with_recording(|response| (!response.status.is_success()).then_some(Recording::DoNotKeep));
    let app = App::new(&layer, |run, _| async move { if run == 1 { answer(status(404), "") } else { created("") } });
    assert_eq!(app.send(post("k", "{}")).await.status, StatusCode::NOT_FOUND);
    assert_eq!(app.send(post("k", "{}")).await.status, StatusCode::CREATED);
    assert_eq!(app.send(post("k", "{}")).await.replayed(), Some("true"));
}

/// S32: a handler overrides the rule for one response, both ways, and for one that holds secrets.
#[tokio::test(start_paused = true)]
async fn s32_a_handler_overrides_the_rule_for_one_response() {
    for (code, recording, repeat) in [
        (500, Recording::Keep, (500, Some("true"))),
        (429, Recording::Keep, (429, Some("true"))),
        (201, Recording::DoNotKeep, (201, Some("false"))),
        (201, Recording::CloseWithoutKeeping, (410, Some("true"))),
        (500, Recording::CloseWithoutKeeping, (410, Some("true"))),
    ] {
        let app = App::new(&shared(spied()), move |_, _| async move {
            let mut response = answer(status(code), "");
            response.extensions_mut().insert(recording);
            response
        });
        assert_eq!(app.send(post("k", "{}")).await.status, status(code));
        let second = app.send(post("k", "{}")).await;
        assert_eq!((second.status.as_u16(), second.replayed()), repeat, "{code} {recording:?}");
    }
}

/// S33, 6585 4 (a 429 MUST NOT be stored by a cache, ≈) and IK 2.7. The list is that of rule 13: 401, 403, 408, 409,
/// 425, 429, 503 and the others that refuse a request before the work are never recorded by default.
#[tokio::test(start_paused = true)]
async fn s33_a_refusal_is_never_recorded() {
    for code in REFUSALS.into_iter().chain([431, 503]) {
        assert!(!is_recorded(code, OnFailure::Release).await, "{code}");
    }
}

/// S34, 9110 15, MUST ≈: an interim response is never recorded; only the final one.
#[tokio::test]
async fn s34_an_interim_response_is_not_part_of_the_record() {
    let app = App::numbered(&shared(spied()));
    let server = Server::of_app(app.service()).await;
    let mut wire = server.connect().await;
    wire.write(
        "POST /reports HTTP/1.1\r\nhost: lab\r\ncontent-type: application/json\r\nidempotency-key: k\r\n\
         expect: 100-continue\r\ncontent-length: 2\r\n\r\n",
    )
    .await;
    assert_eq!(wire.read_head().await, "HTTP/1.1 100 Continue\r\n\r\n");
    wire.write("{}").await;
    assert!(wire.read_head().await.starts_with("HTTP/1.1 201"));

    let repeat = server.send(post("k", "{}")).await;

    assert_eq!((repeat.status, repeat.text(), repeat.replayed()), (StatusCode::CREATED, "run 1", Some("true")));
}

/// S34: a handler that answers 1xx as if it were final has its key closed, and nothing is stored.
#[tokio::test(start_paused = true)]
async fn s34_a_1xx_from_a_handler_is_not_stored() {
    let app = App::new(&shared(spied()), |_, _| async { answer(status(103), "") });
    app.send(post("k", "{}")).await;
    assert_eq!(problem::kind(&app.send(post("k", "{}")).await), (410, "NotReplayable".into()));
    assert_eq!(app.runs(), 1);
}
