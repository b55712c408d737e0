//! Rule 13: which answers are recorded, and what becomes of the key after a failure.

use http::StatusCode;
use lab::{
    body::{Broken, ScriptedBody},
    exchange::{post, send},
    gate::Verb,
    handler::{Call, Handler, Reply, numbered, response},
};
use tower::{Layer, ServiceExt};
use tower_idempotency::{
    IdempotencyLayer,
    idempotency::{OnFailure, Recording, RejectionKind},
};

use crate::support::{Guarded, TestStore, layer, pass, secs, store};

/// What becomes of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Becomes {
    /// A repeat runs at once.
    Free,
    /// A repeat is refused, and runs when the lease has lapsed.
    Held,
    /// A repeat gets this status as a replay.
    Replayed(u16),
    /// A repeat gets 410.
    Closed,
}

/// What became of the key `k` after one run.
async fn becomes(service: &Guarded) -> Becomes {
    let repeat = send(service, post("k", "{}")).await;
    match (repeat.status, repeat.replayed()) {
        (_, Some("false")) => Becomes::Free,
        (StatusCode::GONE, _) => Becomes::Closed,
        (status, Some("true")) => Becomes::Replayed(status.as_u16()),
        (StatusCode::CONFLICT, None) => {
            pass(secs(11)).await;
            assert_eq!(send(service, post("k", "{}")).await.replayed(), Some("false"), "held for ever");
            Becomes::Held
        }
        other => panic!("{other:?}"),
    }
}

/// What becomes of the key when the first run ends like this. Later runs answer 201.
async fn after<R>(layer: IdempotencyLayer<TestStore>, first: impl Fn() -> R + Clone + Send + Sync + 'static) -> Becomes
where
    R: Future<Output = Reply> + Send + 'static,
{
    let handler = Handler::scripted(move |call: Call| {
        let first = first.clone();
        async move { if call.run == 1 { first().await } else { Ok(numbered(call.run)) } }
    });
    let service = layer.layer(handler);
    // As a task, for a panic ends it.
    let _ = tokio::spawn(service.clone().oneshot(post("k", "{}"))).await;
    becomes(&service).await
}

async fn after_status(layer: IdempotencyLayer<TestStore>, status: u16) -> Becomes {
    after(layer, move || async move { Ok(response(status, "text")) }).await
}

async fn after_word(layer: IdempotencyLayer<TestStore>, status: u16, word: Recording) -> Becomes {
    after(layer, move || async move {
        let mut response = response(status, "text");
        response.extensions_mut().insert(word);
        Ok(response)
    })
    .await
}

async fn panics() -> Reply {
    panic!("the handler panics")
}

/// Rule 13: 5xx are not recorded (V14).
#[tokio::test(start_paused = true)]
async fn a_repeat_of_a_5xx_runs_at_once() {
    for status in [500, 501, 502, 503, 504, 599, 600, 999] {
        assert_eq!(after_status(layer(&store()), status).await, Becomes::Free, "{status}");
    }
}

/// Rule 13: nor are the 4xx that refuse a request before the work (V38); every other status is.
#[tokio::test(start_paused = true)]
async fn of_the_4xx_those_that_refuse_the_request_are_not_recorded() {
    let refused = [400, 401, 403, 405, 406, 408, 409, 411, 413, 414, 415, 417, 421, 422, 425, 426, 428, 429, 431];
    for status in 400..500 {
        let expected = match status {
            status if refused.contains(&status) => Becomes::Free,
            410 => Becomes::Closed, // which a recorded 410 looks like here; the next test tells them apart
            status => Becomes::Replayed(status),
        };
        assert_eq!(after_status(layer(&store()), status).await, expected, "{status}");
    }
}

/// Rule 13: a handler's own 410 is an outcome, and replays with its body.
#[tokio::test(start_paused = true)]
async fn a_handlers_own_410_is_recorded() {
    let service = layer(&store()).layer(Handler::answering(|_| response(410, "long gone")));
    send(&service, post("k", "{}")).await;

    let repeat = send(&service, post("k", "{}")).await;

    assert_eq!((repeat.text(), repeat.replayed()), ("long gone", Some("true")));
}

/// Rule 13: a refused request is corrected under the same key (V38).
#[tokio::test(start_paused = true)]
async fn the_corrected_body_runs_under_the_same_key() {
    let handler =
        Handler::answering(|call| if call.body == "{}" { response(400, "no title") } else { numbered(call.run) });
    let service = layer(&store()).layer(handler);
    send(&service, post("k", "{}")).await;

    let corrected = send(&service, post("k", "{\"title\":\"t\"}")).await;

    assert_eq!((corrected.text(), corrected.replayed()), ("run 2", Some("false")));
}

/// Rule 13: an error of the inner service is passed on, and not recorded (V14).
#[tokio::test(start_paused = true)]
async fn an_error_of_the_inner_service_is_passed_on_and_its_key_is_free() {
    let service = layer(&store()).layer(Handler::scripted(async |_| Err(Broken)));

    assert_eq!(service.clone().oneshot(post("k", "{}")).await.unwrap_err(), Broken);
    assert_eq!(service.oneshot(post("k", "{}")).await.unwrap_err(), Broken);
}

/// Rule 13: a panic is released, then resumed with what it carries (V14).
#[tokio::test(start_paused = true)]
async fn a_panic_is_released_and_then_resumed() {
    let store = store();
    let service = layer(&store).layer(Handler::scripted(|_| panics()));

    let panic = tokio::spawn(service.oneshot(post("k", "{}"))).await.unwrap_err().into_panic();

    assert_eq!(panic.downcast_ref::<&str>(), Some(&"the handler panics"));
    assert_eq!((store.calls(Verb::Release), store.inner().len()), (1, 0));
}

/// Rule 13: release is the default; holding and recording are settings, for each kind of failure.
#[tokio::test(start_paused = true)]
async fn what_becomes_of_the_key_after_a_failure_is_a_setting() {
    for (policy, of_5xx, of_silence) in [
        (OnFailure::Release, Becomes::Free, Becomes::Free),
        (OnFailure::HoldUntilLapse, Becomes::Held, Becomes::Held),
        (OnFailure::Record, Becomes::Replayed(500), Becomes::Closed),
    ] {
        let layer = || layer(&store()).on_failure(policy);
        assert_eq!(after_status(layer(), 500).await, of_5xx, "{policy:?}");
        assert_eq!(after(layer(), async || Err(Broken)).await, of_silence, "{policy:?}");
        assert_eq!(after(layer(), panics).await, of_silence, "{policy:?}");
    }
}

/// Rule 13: a panic in what the layer reads or asks after the handler has run is a failure like any other.
#[tokio::test(start_paused = true)]
async fn a_panic_of_a_body_a_recording_rule_or_a_rendering_is_a_failure_too() {
    for (policy, expected) in [
        (OnFailure::Release, Becomes::Free),
        (OnFailure::HoldUntilLapse, Becomes::Held),
        (OnFailure::Record, Becomes::Closed),
    ] {
        let layer = || layer(&store()).on_failure(policy);
        let body = async || Ok(response(200, ScriptedBody::streaming().data("half").panics()));
        let rule = layer().with_recording(|parts| {
            assert_ne!(parts.status, StatusCode::ACCEPTED, "the rule panics");
            None
        });
        let rendering = layer().max_run(secs(1)).with_rejection_response(|rejection| {
            assert!(!matches!(rejection.kind(), RejectionKind::RunTimedOut), "the rendering panics");
            rejection.to_response()
        });
        assert_eq!(after(layer(), body).await, expected, "{policy:?}");
        assert_eq!(after_status(rule, 202).await, expected, "{policy:?}");
        assert_eq!(after(rendering, std::future::pending).await, expected, "{policy:?}");
    }
}

/// Rule 13: a refusal is no failure, whatever the policy.
#[tokio::test(start_paused = true)]
async fn a_refusal_is_released_under_each_policy() {
    for policy in [OnFailure::Release, OnFailure::HoldUntilLapse, OnFailure::Record] {
        assert_eq!(after_status(layer(&store()).on_failure(policy), 422).await, Becomes::Free);
    }
}

/// Rule 13: a handler overrides per response.
#[tokio::test(start_paused = true)]
async fn the_handlers_word_overrides_the_rule() {
    let layer = || layer(&store()).on_failure(OnFailure::HoldUntilLapse);
    for (status, word, expected) in [
        (500, Recording::Keep, Becomes::Replayed(500)),
        (400, Recording::Keep, Becomes::Replayed(400)),
        (201, Recording::DoNotKeep, Becomes::Free),
        (500, Recording::DoNotKeep, Becomes::Free),
        (201, Recording::CloseWithoutKeeping, Becomes::Closed),
        (500, Recording::CloseWithoutKeeping, Becomes::Closed),
    ] {
        assert_eq!(after_word(layer(), status, word).await, expected, "{status} {word:?}");
    }
}

/// Rule 13: an answer with secrets reaches its first caller whole, and nobody else.
#[tokio::test(start_paused = true)]
async fn an_answer_that_is_not_to_be_kept_reaches_its_first_caller_only() {
    let handler = Handler::answering(|_| {
        let mut response = response(201, "token 1234");
        response.extensions_mut().insert(Recording::CloseWithoutKeeping);
        response
    });
    let service = layer(&store()).layer(handler.clone());

    let first = send(&service, post("k", "{}")).await;
    let repeat = send(&service, post("k", "{}")).await;

    assert_eq!((first.text(), first.replayed()), ("token 1234", Some("false")));
    assert_eq!((repeat.status, repeat.text().contains("1234"), handler.runs()), (StatusCode::GONE, false, 1));
}

/// Rule 13: a rule of your own decides before the handler's word, and leaves the rest to it.
#[tokio::test(start_paused = true)]
async fn a_recording_rule_of_your_own_comes_first() {
    let layer = || {
        layer(&store()).with_recording(|parts| match parts.status.as_u16() {
            404 => Some(Recording::DoNotKeep),
            503 => Some(Recording::Keep),
            _ => None,
        })
    };

    assert_eq!(after_status(layer(), 404).await, Becomes::Free);
    assert_eq!(after_status(layer(), 503).await, Becomes::Replayed(503));
    assert_eq!(after_word(layer(), 404, Recording::Keep).await, Becomes::Free);
    assert_eq!(after_word(layer(), 400, Recording::Keep).await, Becomes::Replayed(400));
    assert_eq!(after_status(layer(), 201).await, Becomes::Replayed(201));
}
