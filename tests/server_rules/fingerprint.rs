//! Rules 6 and 10: is it the same request, and what if not.

use http::{HeaderValue, StatusCode, header::CONTENT_TYPE};
use lab::{
    exchange::{Answer, HeldRequest, post, send, sending},
    handler::{Handler, response},
};
use tower::Layer;
use tower_idempotency::{IdempotencyLayer, idempotency::RejectionKind, store::Fingerprint};

use crate::support::{TestStore, gate, layer, pass, refusal, respond, secs, store};

fn to(target: &str) -> HeldRequest {
    let mut request = post("k", "{}");
    *request.uri_mut() = target.parse().expect("a target");
    request
}

fn typed(content_type: &'static str) -> HeldRequest {
    let mut request = post("k", "{}");
    request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    request
}

/// Sends both through one layer; the second's answer.
async fn second_of(layer: IdempotencyLayer<TestStore>, first: HeldRequest, second: HeldRequest) -> Answer {
    let service = layer.layer(Handler::numbered());
    send(&service, first).await;
    send(&service, second).await
}

async fn is_same(first: HeldRequest, second: HeldRequest) -> bool {
    second_of(layer(&store()), first, second).await.replayed() == Some("true")
}

/// Rule 6: method, path, query, content type and body (V16, V17).
#[tokio::test(start_paused = true)]
async fn a_request_that_differs_in_any_part_is_another_request() {
    let mut patch = post("k", "{}");
    *patch.method_mut() = http::Method::PATCH;
    let mut untyped = post("k", "{}");
    untyped.headers_mut().remove(CONTENT_TYPE);

    assert!(is_same(to("/orders/1?a=1"), to("/orders/1?a=1")).await);
    assert!(!is_same(post("k", "{}"), patch).await);
    assert!(!is_same(to("/orders/1"), to("/orders/2")).await);
    assert!(!is_same(to("/orders?a=1"), to("/orders?a=2")).await);
    assert!(!is_same(to("/orders"), to("/orders?")).await);
    assert!(!is_same(typed("application/json"), typed("text/plain")).await);
    assert!(!is_same(typed("application/json"), untyped).await);
    assert!(!is_same(post("k", "{}"), post("k", "{} ")).await);
}

/// Rule 6: other headers do not count.
#[tokio::test(start_paused = true)]
async fn a_repeat_may_carry_other_headers() {
    let mut repeat = post("k", "{}");
    repeat.headers_mut().insert("traceparent", HeaderValue::from_static("00-1-2-00"));

    assert!(is_same(post("k", "{}"), repeat).await);
}

/// Rule 6: `json()` compares by meaning.
#[tokio::test(start_paused = true)]
async fn json_may_be_compared_by_meaning() {
    let by_meaning = || layer(&store()).with_fingerprint(Fingerprint::json);

    let same = second_of(by_meaning(), post("k", r#"{"a":1,"b":2}"#), post("k", r#"{ "b": 2, "a": 1.0 }"#)).await;
    let other = second_of(by_meaning(), post("k", r#"{"a":1}"#), post("k", r#"{"a":2}"#)).await;

    assert_eq!((same.replayed(), other.status), (Some("true"), StatusCode::UNPROCESSABLE_ENTITY));
}

/// Rule 6: where JSON has no one meaning the bytes are compared (V18).
#[tokio::test(start_paused = true)]
async fn json_without_one_meaning_is_compared_by_bytes() {
    for (first, second) in [
        (r#"{"amount":1,"amount":2}"#, r#"{"amount":2}"#),
        ("0.1", "0.1000000000000000055"),
        ("9007199254740992", "9007199254740993"),
    ] {
        let layer = layer(&store()).with_fingerprint(Fingerprint::json);

        let answer = second_of(layer, post("k", first), post("k", second)).await;

        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{first}");
    }
}

/// Rule 6: `with_fingerprint` plugs in your own.
#[tokio::test(start_paused = true)]
async fn a_fingerprint_of_your_own_leaves_out_what_it_likes() {
    let by_path =
        layer(&store()).with_fingerprint(|parts, body| Fingerprint::of(parts.uri.path().as_bytes(), b"", body));

    let answer = second_of(by_path, to("/orders?trace=1"), to("/orders?trace=2")).await;

    assert_eq!(answer.replayed(), Some("true"));
}

/// Rule 10: 422 after the first has ended, and the record is left as it was.
#[tokio::test(start_paused = true)]
async fn a_reused_key_is_refused_and_the_first_still_replays() {
    let handler = Handler::numbered();
    let service = layer(&store()).layer(handler.clone());

    send(&service, post("k", "{}")).await;
    let reused = send(&service, post("k", "[]")).await;
    let repeat = send(&service, post("k", "{}")).await;

    assert_eq!((reused.status, reused.replayed()), (StatusCode::UNPROCESSABLE_ENTITY, None));
    assert_eq!((repeat.text(), repeat.replayed(), handler.runs()), ("run 1", Some("true"), 1));
}

/// Rule 10: 422, not 409, while the first still runs; the first goes on undisturbed (V3).
#[tokio::test(start_paused = true)]
async fn a_reused_key_is_refused_as_such_while_the_first_runs() {
    let gate = gate();
    let handler = Handler::numbered_at(&gate);
    let service = layer(&store()).layer(handler.clone());
    let first = sending(&service, post("k", "{}"));
    handler.started(1).await;

    let reused = send(&service, post("k", "[]")).await;
    gate.add_permits(1);

    assert_eq!(reused.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(first.await.unwrap().text(), "run 1");
}

/// Rule 10: a layer that waits does not wait on another request.
#[tokio::test(start_paused = true)]
async fn a_reused_key_does_not_wait() {
    let gate = gate();
    let handler = Handler::numbered_at(&gate);
    let service = layer(&store()).wait_for(secs(60)).layer(handler.clone());
    let _first = sending(&service, post("k", "{}"));
    handler.started(1).await;
    let asked = tokio::time::Instant::now();

    let reused = send(&service, post("k", "[]")).await;

    assert_eq!((reused.status, asked.elapsed()), (StatusCode::UNPROCESSABLE_ENTITY, secs(0)));
}

/// Rule 10: a lapsed lease frees the key for the same request only.
#[tokio::test(start_paused = true)]
async fn a_reused_key_takes_nothing_over() {
    use lab::gate::{Gate, Verb};
    let (store, gate) = (store(), gate());
    let handler = Handler::numbered_at(&gate);
    let service = layer(&store).layer(handler.clone());
    store.set(Verb::Renew, Gate::Never);
    let _first = sending(&service, post("k", "{}"));
    handler.started(1).await;
    pass(secs(11)).await;

    let reused = send(&service, post("k", "[]")).await;

    assert_eq!((reused.status, handler.runs()), (StatusCode::UNPROCESSABLE_ENTITY, 1));
}

/// Rule 10: after a restart too: the record is the store's.
#[tokio::test(start_paused = true)]
async fn a_reused_key_is_refused_by_another_server_on_the_same_store() {
    let store = store();
    send(&layer(&store).layer(Handler::numbered()), post("k", "{}")).await;

    let restarted = layer(&store).layer(Handler::numbered());

    assert_eq!(send(&restarted, post("k", "[]")).await.status, StatusCode::UNPROCESSABLE_ENTITY);
}

/// Rule 10: the problem names what differs, never the data.
#[tokio::test(start_paused = true)]
async fn the_refusal_of_a_reused_key_names_what_differs_and_no_data() {
    let service = layer(&store()).layer(Handler::answering(|_| response(201, "the answer's secret")));
    send(&service, post("k", "\"first's secret\"")).await;

    let mut other = post("k", "\"second's secret\"");
    other.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    let response = respond(&service, other).await;

    let RejectionKind::KeyReused(differs) = refusal(&response) else { panic!("{:?}", refusal(&response)) };
    assert_eq!((differs.target, differs.content_type, differs.body), (false, true, true));
    let answer = Answer::of(response).await;
    let problem: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(problem["differs"], serde_json::json!(["content_type", "body"]));
    assert!(!answer.text().contains("secret"));
}

/// Rule 10: the status is a setting.
#[tokio::test(start_paused = true)]
async fn the_status_of_a_reused_key_is_a_setting() {
    let layer = layer(&store()).mismatch_status(StatusCode::CONFLICT);

    let answer = second_of(layer, post("k", "{}"), post("k", "[]")).await;

    let problem: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!((answer.status, problem["status"].as_u64()), (StatusCode::CONFLICT, Some(409)));
}

/// Rule 6: two nested routers with the same inner path do not collide (V16).
#[cfg(feature = "axum")]
#[tokio::test(start_paused = true)]
async fn two_nested_routers_with_the_same_inner_path_do_not_collide() {
    use axum::{Router, routing::post as on_post};
    let shared = layer(&store());
    let inner = || Router::new().route("/new", on_post(async || "done")).layer(shared.clone());
    let app = Router::new().nest("/orders", inner()).nest("/refunds", inner());
    let to = |target: &str| to(target).map(axum::body::Body::new);

    let order = send(&app, to("/orders/new")).await;
    let refund = send(&app, to("/refunds/new")).await;

    assert_eq!((order.status, refund.status), (StatusCode::OK, StatusCode::UNPROCESSABLE_ENTITY));
}
