//! Rules 11 and 12: a holder that was passed completes nothing, and what its caller gets.

use std::{sync::Arc, time::Duration};

use http::{Response, StatusCode};
use lab::{
    body::{Broken, ScriptedBody},
    exchange::{Answer, post, send, sending},
    gate::{Gate, Verb},
    handler::{Handler, Reply, numbered, response},
};
use tokio::{sync::Semaphore, task::JoinHandle};
use tower::Layer;
use tower_idempotency::{
    IdempotencyLayer, MemoryStore,
    idempotency::{Claim, OnFailure, Recording},
    store::{ClaimRequest, Claimed, Fingerprint, Held, Outcome, Store, StoredResponse, Token},
};

use crate::support::{Guarded, TestStore, filed, gate, layer, pass, secs, store};

/// A first holder, A, whose lease has lapsed and that runs on until its gate lets it end.
struct Lapsed {
    store: TestStore,
    service: Guarded,
    a_ends: Arc<Semaphore>,
    a: JoinHandle<Answer>,
}

impl Lapsed {
    /// A ends with `reply_of_a`, each later run with `later`.
    async fn holder(
        reply_of_a: impl Fn() -> Reply + Send + Sync + 'static,
        later: impl Fn(usize) -> Response<ScriptedBody> + Send + Sync + 'static,
    ) -> Self {
        Self::under(|layer| layer, reply_of_a, later).await
    }

    /// As [`holder`](Self::holder), under a layer with other settings.
    async fn under(
        settings: impl FnOnce(IdempotencyLayer<TestStore>) -> IdempotencyLayer<TestStore>,
        reply_of_a: impl Fn() -> Reply + Send + Sync + 'static,
        later: impl Fn(usize) -> Response<ScriptedBody> + Send + Sync + 'static,
    ) -> Self {
        let (store, a_ends) = (store(), gate());
        let (gate, reply_of_a) = (Arc::clone(&a_ends), Arc::new(reply_of_a));
        let handler = Handler::scripted(move |call| {
            let (gate, reply_of_a, later) = (Arc::clone(&gate), Arc::clone(&reply_of_a), later(call.run));
            async move {
                if call.run > 1 {
                    return Ok(later);
                }
                gate.acquire().await.expect("never closed").forget();
                reply_of_a()
            }
        });
        let service = settings(layer(&store)).layer(handler.clone());
        store.set(Verb::Renew, Gate::Never);
        let a = sending(&service, post("k", "{}"));
        handler.started(1).await;
        pass(secs(10)).await;
        Self { store, service, a_ends, a }
    }

    async fn numbered() -> Self {
        Self::holder(|| Ok(numbered(1)), numbered).await
    }

    /// Lets A end; its caller's answer.
    async fn answer_of_a(self) -> Answer {
        self.a_ends.add_permits(1);
        self.a.await.expect("no panic")
    }
}

/// Rule 11: it gets the recorded response if its own fingerprint matches; the record stands (V7).
#[tokio::test(start_paused = true)]
async fn a_passed_holder_answers_the_recorded_response() {
    let lapsed = Lapsed::numbered().await;
    let b = send(&lapsed.service, post("k", "{}")).await;
    let service = lapsed.service.clone();

    let a = lapsed.answer_of_a().await;

    assert_eq!((b.text(), b.replayed()), ("run 2", Some("false")));
    assert_eq!((a.text(), a.replayed()), ("run 2", Some("true")));
    assert_eq!(send(&service, post("k", "{}")).await.text(), "run 2");
}

/// Rule 11: or 410, if what was recorded was not kept.
#[tokio::test(start_paused = true)]
async fn a_passed_holder_answers_410_if_the_response_was_not_kept() {
    let lapsed = Lapsed::holder(
        || Ok(numbered(1)),
        |run| {
            let mut response = numbered(run);
            response.extensions_mut().insert(Recording::CloseWithoutKeeping);
            response
        },
    )
    .await;
    send(&lapsed.service, post("k", "{}")).await;

    let a = lapsed.answer_of_a().await;

    assert_eq!((a.status, a.replayed()), (StatusCode::GONE, Some("true")));
}

/// Rule 11: 409 while its successor runs, which is not disturbed (V7).
#[tokio::test(start_paused = true)]
async fn a_passed_holder_answers_409_while_its_successor_runs() {
    let (store, a_ends, b_ends) = (store(), gate(), gate());
    let handler = Handler::numbered_at_each([&a_ends, &b_ends]);
    let service = layer(&store).layer(handler.clone());
    store.set(Verb::Renew, Gate::Never);
    let a = sending(&service, post("k", "{}"));
    handler.started(1).await;
    pass(secs(10)).await;
    let b = sending(&service, post("k", "{}"));
    handler.started(2).await;

    a_ends.add_permits(1);
    let a = a.await.unwrap();
    let repeat = send(&service, post("k", "{}")).await;
    b_ends.add_permits(1);

    assert_eq!((a.status, a.header("retry-after")), (StatusCode::CONFLICT, Some("1")));
    assert_eq!(repeat.status, StatusCode::CONFLICT);
    assert_eq!(b.await.unwrap().text(), "run 2");
}

/// Rule 11: 409 if its successor has given the key back; nothing is recorded.
#[tokio::test(start_paused = true)]
async fn a_passed_holder_answers_409_if_its_successor_released() {
    let lapsed = Lapsed::holder(|| Ok(numbered(1)), |_| response(503, "")).await;
    send(&lapsed.service, post("k", "{}")).await;
    let store = lapsed.store.clone();

    let a = lapsed.answer_of_a().await;

    assert_eq!((a.status, store.inner().len()), (StatusCode::CONFLICT, 0));
}

/// Rules 11 and 12: 409 if the key has become another request's, and that one's result stands (V8).
#[tokio::test(start_paused = true)]
async fn a_passed_holder_never_answers_nor_overwrites_another_request() {
    let lapsed =
        Lapsed::holder(|| Ok(numbered(1)), |run| if run == 2 { response(503, "") } else { numbered(run) }).await;
    send(&lapsed.service, post("k", "{}")).await;
    let c = send(&lapsed.service, post("k", "[]")).await;
    let service = lapsed.service.clone();

    let a = lapsed.answer_of_a().await;

    assert_eq!((c.text(), c.replayed()), ("run 3", Some("false")));
    assert_eq!(a.status, StatusCode::CONFLICT);
    assert!(!a.text().contains("run"));
    assert_eq!(send(&service, post("k", "[]")).await.text(), "run 3");
}

/// Rule 11: 409 if the look-up fails.
#[tokio::test(start_paused = true)]
async fn a_passed_holder_answers_409_if_the_look_up_fails() {
    for gate in [Gate::Fail, Gate::FailForGood, Gate::Never] {
        let lapsed = Lapsed::numbered().await;
        send(&lapsed.service, post("k", "{}")).await;
        lapsed.store.set(Verb::Lookup, gate);

        assert_eq!(lapsed.answer_of_a().await.status, StatusCode::CONFLICT);
    }
}

/// Rule 11: the record decides whatever the passed handler says: a failure, a refusal, an error; its release changes
/// nothing (V7).
#[tokio::test(start_paused = true)]
async fn a_passed_holder_that_fails_answers_the_recorded_response_too() {
    let replies: [fn() -> Reply; 3] = [|| Ok(response(503, "")), || Ok(response(400, "")), || Err(Broken)];
    for reply in replies {
        let lapsed = Lapsed::holder(reply, numbered).await;
        send(&lapsed.service, post("k", "{}")).await;
        let service = lapsed.service.clone();

        let a = lapsed.answer_of_a().await;

        assert_eq!((a.text(), a.replayed()), ("run 2", Some("true")));
        assert_eq!(send(&service, post("k", "{}")).await.text(), "run 2");
    }
}

/// Rule 11: under each policy: one that holds its key learns from a refused renewal that it was passed.
#[tokio::test(start_paused = true)]
async fn a_passed_holder_that_would_hold_its_key_answers_the_recorded_response_too() {
    let held = |layer: IdempotencyLayer<TestStore>| layer.on_failure(OnFailure::HoldUntilLapse);
    let lapsed = Lapsed::under(held, || Ok(response(503, "")), numbered).await;
    send(&lapsed.service, post("k", "{}")).await;

    lapsed.store.set(Verb::Renew, Gate::Open);
    pass(secs(5)).await;

    assert_eq!(lapsed.answer_of_a().await.text(), "run 2");
}

/// Rule 11: a body that streams does not leave either.
#[tokio::test(start_paused = true)]
async fn a_passed_holder_streams_nothing() {
    let endless = || Ok(response(200, ScriptedBody::streaming().data("secret").never_ends()));
    let lapsed = Lapsed::holder(endless, numbered).await;
    send(&lapsed.service, post("k", "{}")).await;

    assert_eq!(lapsed.answer_of_a().await.text(), "run 2");
}

/// Rule 11: a passed handler runs on, to its end.
#[tokio::test(start_paused = true)]
async fn a_passed_handler_runs_on() {
    let lapsed = Lapsed::numbered().await;
    send(&lapsed.service, post("k", "{}")).await;
    lapsed.store.set(Verb::Renew, Gate::Open);

    pass(secs(60)).await;

    assert!(!lapsed.a.is_finished());
    assert_eq!(lapsed.answer_of_a().await.text(), "run 2");
}

/// Rule 12: a fence rises for the life of the store: a release and an erasure do not set it back.
#[tokio::test(start_paused = true)]
async fn fences_rise_through_release_and_erasure() {
    let (store, handler) = (store(), Handler::answering(|call| response(if call.run == 1 { 503 } else { 201 }, "")));
    let service = layer(&store).layer(handler.clone());

    send(&service, post("k", "{}")).await;
    send(&service, post("k", "{}")).await;
    let _ = store.inner().forget(&filed("k")).await.unwrap();
    send(&service, post("k", "{}")).await;
    send(&service, post("another", "{}")).await;

    let fence = |run| handler.call_number(run).parts.extensions.get::<Claim<TestStore>>().expect("a claim").fence();
    assert!((1..4).all(|run| fence(run) < fence(run + 1)));
}

/// Rule 12: the holder counts as well as the fence.
#[tokio::test(start_paused = true)]
async fn another_holder_with_the_same_fence_holds_nothing() {
    let store = MemoryStore::new();
    let request = ClaimRequest {
        key: filed("k"),
        fingerprint: Fingerprint::of(b"", b"", b""),
        lease: secs(10),
        retention: Duration::MAX,
    };
    let Ok(Claimed::Acquired { token, .. }) = store.claim(&request).await else { panic!("not granted") };
    let stored = StoredResponse { status: StatusCode::OK, headers: http::HeaderMap::new(), body: bytes::Bytes::new() };

    let other = Token::new(filed("k"), token.fence());

    assert_eq!(store.complete(&other, Outcome::Response(stored)).await.unwrap(), Held::No);
    assert_eq!(store.renew(&other, secs(10)).await.unwrap(), Held::No);
    assert_eq!(store.release(&other).await.unwrap(), Held::No);
    assert_eq!(store.release(&token).await.unwrap(), Held::Yes);
}
