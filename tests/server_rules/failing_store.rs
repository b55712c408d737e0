//! Rule 17: the store fails.

use http::StatusCode;
use lab::{
    exchange::{post, send, sending},
    gate::{Gate, GatedStore, Verb},
    handler::{Handler, numbered, response},
};
use tokio::time::Instant;
use tower::Layer;
use tower_idempotency::{
    IdempotencyLayer, MemoryStore,
    idempotency::{Claim, RejectionKind, Scope},
};

use crate::support::{TestStore, gate, layer, millis, pass, refusal, respond, secs, store};

/// Rule 17: at the claim 503 with `Retry-After`, and the handler is not called (V27).
#[tokio::test(start_paused = true)]
async fn a_failed_claim_is_503_and_nothing_runs() {
    for gate in [Gate::Fail, Gate::FailForGood] {
        let (store, handler) = (store(), Handler::numbered());
        let service = layer(&store).retry_after(secs(7)).layer(handler.clone());
        store.set(Verb::Claim, gate);

        let response = respond(&service, post("k", "{}")).await;

        assert!(matches!(refusal(&response), RejectionKind::StoreUnavailable));
        assert_eq!((response.status(), handler.runs()), (StatusCode::SERVICE_UNAVAILABLE, 0));
        assert_eq!(response.headers()["retry-after"], "7");
    }
}

/// Rule 17: each call has a limit of 5 s (V37).
#[tokio::test(start_paused = true)]
async fn a_claim_that_is_never_answered_is_503_after_five_seconds() {
    let (store, handler) = (store(), Handler::numbered());
    let service = layer(&store).layer(handler.clone());
    store.set(Verb::Claim, Gate::Never);
    let asked = Instant::now();

    let answer = send(&service, post("k", "{}")).await;

    assert_eq!((answer.status, asked.elapsed()), (StatusCode::SERVICE_UNAVAILABLE, secs(5)));
    assert_eq!(handler.runs(), 0);
}

/// Rule 17: which is a setting.
#[tokio::test(start_paused = true)]
async fn the_limit_of_a_store_call_is_a_setting() {
    let store = store();
    let service = layer(&store).store_timeout(millis(200)).layer(Handler::numbered());
    store.set(Verb::Claim, Gate::Never);
    let asked = Instant::now();

    send(&service, post("k", "{}")).await;

    assert_eq!(asked.elapsed(), millis(200));
}

/// Rule 17: a claim past its limit is awaited in the background, and given back if it was granted.
#[tokio::test(start_paused = true)]
async fn a_claim_that_is_granted_too_late_is_given_back() {
    for gate in [Gate::Slow(secs(7)), Gate::SlowAnswer(secs(7))] {
        let store = store();
        let layer = layer(&store);
        let service = layer.layer(Handler::numbered());
        store.set_once(Verb::Claim, gate);
        let asked = Instant::now();

        assert_eq!(send(&service, post("k", "{}")).await.status, StatusCode::SERVICE_UNAVAILABLE);
        layer.drained().await;

        assert_eq!((asked.elapsed(), store.calls(Verb::Release)), (secs(7), 1));
        assert_eq!(send(&service, post("k", "{}")).await.replayed(), Some("false"));
    }
}

/// Rule 17: for one lease at most.
#[tokio::test(start_paused = true)]
async fn a_claim_that_is_never_answered_is_awaited_for_one_lease() {
    let store = store();
    let layer = layer(&store).lease(secs(10));
    let service = layer.layer(Handler::numbered());
    store.set(Verb::Claim, Gate::Never);
    let asked = Instant::now();

    send(&service, post("k", "{}")).await;
    layer.drained().await;

    assert_eq!((asked.elapsed(), store.calls(Verb::Release)), (secs(15), 0));
}

/// Rule 17: a claim whose answer was lost holds its key until the lease lapses, and never longer.
#[tokio::test(start_paused = true)]
async fn a_claim_whose_answer_was_lost_lapses() {
    let (store, handler) = (store(), Handler::numbered());
    let service = layer(&store).layer(handler.clone());
    store.set_once(Verb::Claim, Gate::LoseAnswer);

    let lost = send(&service, post("k", "{}")).await;
    let early = send(&service, post("k", "{}")).await;
    pass(secs(10)).await;
    let late = send(&service, post("k", "{}")).await;

    assert_eq!((lost.status, early.status), (StatusCode::SERVICE_UNAVAILABLE, StatusCode::CONFLICT));
    assert_eq!((late.text(), handler.runs()), ("run 1", 1));
}

/// Rule 17: serving unprotected is an option: the handler runs without a claim, and nothing is marked.
#[tokio::test(start_paused = true)]
async fn a_layer_may_serve_unprotected_when_the_claim_fails() {
    let (store, handler) = (store(), Handler::numbered());
    let service = layer(&store).serve_unprotected_when_the_store_fails().layer(handler.clone());
    store.set(Verb::Claim, Gate::Fail);

    let first = send(&service, post("k", "{}")).await;
    let second = send(&service, post("k", "{}")).await;

    assert_eq!((first.text(), first.replayed()), ("run 1", None));
    assert_eq!((second.text(), second.replayed()), ("run 2", None));
    assert!(handler.call_number(1).parts.extensions.get::<Claim<TestStore>>().is_none());
    assert_eq!(handler.call_number(1).body, "{}");
}

/// Rule 17: that option lets nothing pass that the store refuses.
#[tokio::test(start_paused = true)]
async fn a_layer_that_serves_unprotected_still_guards_while_the_store_answers() {
    let handler = Handler::numbered();
    let service = layer(&store()).serve_unprotected_when_the_store_fails().layer(handler.clone());
    send(&service, post("k", "{}")).await;

    assert_eq!(send(&service, post("k", "{}")).await.replayed(), Some("true"));
    assert_eq!(send(&service, post("k", "[]")).await.status, StatusCode::UNPROCESSABLE_ENTITY);
}

/// Rule 17: a store that is full fails at the claim.
#[tokio::test(start_paused = true)]
async fn a_full_store_is_503() {
    let handler = Handler::numbered();
    let service = IdempotencyLayer::new(MemoryStore::new().max_records(1), Scope::shared()).layer(handler.clone());
    send(&service, post("a", "{}")).await;

    assert_eq!(send(&service, post("b", "{}")).await.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!((send(&service, post("a", "{}")).await.replayed(), handler.runs()), (Some("true"), 1));
}

/// Rule 17: a renewal that fails, or is not answered, is tried again in time (V37).
#[tokio::test(start_paused = true)]
async fn a_failed_renewal_is_tried_again_before_the_lease_lapses() {
    for renewal in [Gate::Fail, Gate::FailForGood, Gate::Never, Gate::LoseAnswer] {
        let (store, gate) = (store(), gate());
        let handler = Handler::numbered_at(&gate);
        let service = layer(&store).layer(handler.clone());
        store.set_once(Verb::Renew, renewal);
        let _first = sending(&service, post("k", "{}"));
        pass(millis(10_001)).await;

        assert_eq!(send(&service, post("k", "{}")).await.status, StatusCode::CONFLICT);
        assert_eq!(handler.runs(), 1);
    }
}

/// Rule 17: a release that fails is tried again in the background; the caller does not wait for it.
#[tokio::test(start_paused = true)]
async fn a_failed_release_is_tried_again_in_the_background() {
    let store = store();
    let layer = layer(&store);
    let service = layer.layer(Handler::answering(|_| response(503, "")));
    store.set(Verb::Release, Gate::Fail);
    let asked = Instant::now();

    let answer = send(&service, post("k", "{}")).await;
    let answered = asked.elapsed();
    pass(secs(2)).await;
    store.set(Verb::Release, Gate::Open);
    layer.drained().await;

    assert_eq!((answer.status, answered), (StatusCode::SERVICE_UNAVAILABLE, secs(0)));
    assert_eq!(store.inner().len(), 0);
}

/// Rule 17: for one lease; then it is left to lapse.
#[tokio::test(start_paused = true)]
async fn a_release_that_never_succeeds_is_left_to_lapse() {
    for release in [Gate::Fail, Gate::Never] {
        let (store, handler) =
            (store(), Handler::answering(|call| if call.run == 1 { response(503, "") } else { numbered(2) }));
        let layer = layer(&store);
        let service = layer.layer(handler.clone());
        store.set(Verb::Release, release);
        let asked = Instant::now();

        send(&service, post("k", "{}")).await;
        let early = send(&service, post("k", "{}")).await;
        layer.drained().await;
        let tries = store.calls(Verb::Release);
        pass(secs(60)).await;

        assert!(asked.elapsed() <= secs(80));
        assert_eq!((early.status, store.calls(Verb::Release)), (StatusCode::CONFLICT, tries));
        assert_eq!(send(&service, post("k", "{}")).await.text(), "run 2");
    }
}

/// Rule 17: a completion that fails is tried again; the answer leaves when it has succeeded.
#[tokio::test(start_paused = true)]
async fn a_failed_completion_is_tried_again_before_the_answer_leaves() {
    let (store, handler) = (store(), Handler::numbered());
    let service = layer(&store).layer(handler.clone());
    store.set(Verb::Complete, Gate::Fail);
    let first = sending(&service, post("k", "{}"));
    pass(secs(5)).await;

    assert!(!first.is_finished());
    store.set(Verb::Complete, Gate::Open);

    assert_eq!(first.await.unwrap().replayed(), Some("false"));
    assert_eq!((send(&service, post("k", "{}")).await.replayed(), handler.runs()), (Some("true"), 1));
}

/// Rule 17: it is idempotent: one whose answer was lost is no takeover.
#[tokio::test(start_paused = true)]
async fn a_completion_whose_answer_was_lost_is_asked_again() {
    let (store, handler) = (store(), Handler::numbered());
    let service = layer(&store).layer(handler.clone());
    store.set_once(Verb::Complete, Gate::LoseAnswer);

    let first = send(&service, post("k", "{}")).await;

    assert_eq!((first.text(), first.replayed(), store.calls(Verb::Complete)), ("run 1", Some("false"), 2));
    assert_eq!(send(&service, post("k", "{}")).await.replayed(), Some("true"));
}

/// Rule 17: for up to one lease, while the lease is renewed; then the caller gets its response, and the key is held
/// until the lease lapses: never a second run inside the lease (V12).
#[tokio::test(start_paused = true)]
async fn when_a_completion_never_succeeds_the_caller_gets_its_response_and_the_lease_lapses() {
    for complete in [Gate::Fail, Gate::Never] {
        let (store, handler) = (store(), Handler::numbered());
        let service = layer(&store).lease(secs(10)).layer(handler.clone());
        store.set(Verb::Complete, complete);
        let asked = Instant::now();

        let first = send(&service, post("k", "{}")).await;

        assert_eq!((first.text(), first.replayed()), ("run 1", Some("false")));
        assert!(asked.elapsed() >= secs(9) && asked.elapsed() <= secs(11), "{:?}", asked.elapsed());
        // Renewed last a third of a lease ago at most.
        pass(secs(6)).await;
        assert_eq!(send(&service, post("k", "{}")).await.status, StatusCode::CONFLICT);
        pass(secs(4)).await;
        store.set(Verb::Complete, Gate::Open);
        assert_eq!(send(&service, post("k", "{}")).await.text(), "run 2");
    }
}

/// Rule 17: where trying is in vain the caller does not wait for it.
#[tokio::test(start_paused = true)]
async fn a_completion_that_fails_for_good_is_not_tried_again() {
    let store = store();
    let service = layer(&store).layer(Handler::numbered());
    store.set(Verb::Complete, Gate::FailForGood);
    let asked = Instant::now();

    let first = send(&service, post("k", "{}")).await;

    assert_eq!((first.text(), first.replayed(), asked.elapsed()), ("run 1", Some("false"), secs(0)));
    assert_eq!(store.calls(Verb::Complete), 2, "with the response and without it");
    assert_eq!(send(&service, post("k", "{}")).await.status, StatusCode::CONFLICT);
}

/// Rule 17, and 13: a response that the store can never take must not make the request run again.
#[tokio::test(start_paused = true)]
async fn a_response_that_the_store_can_never_take_closes_the_key_without_it() {
    let store = GatedStore::new(MemoryStore::new().max_bytes(64 * 1024));
    let service = layer(&store).layer(Handler::answering(|_| response(200, "x".repeat(80 * 1024))));

    let first = send(&service, post("k", "{}")).await;
    let second = send(&service, post("k", "{}")).await;

    assert_eq!((first.body.len(), first.replayed()), (80 * 1024, Some("false")));
    assert_eq!((second.status, second.replayed()), (StatusCode::GONE, Some("true")));
}

/// Rule 17, and 13: nor one that it cannot take now, since it is full.
#[tokio::test(start_paused = true)]
async fn a_response_that_finds_the_store_full_closes_the_key_without_it() {
    let store = GatedStore::new(MemoryStore::new().max_bytes(64 * 1024));
    let service = layer(&store).layer(Handler::answering(|_| response(200, "x".repeat(40 * 1024))));
    send(&service, post("fills it", "{}")).await;

    let first = send(&service, post("k", "{}")).await;
    let second = send(&service, post("k", "{}")).await;

    assert_eq!((first.body.len(), first.replayed()), (40 * 1024, Some("false")));
    assert_eq!((second.status, second.replayed()), (StatusCode::GONE, Some("true")));
}
