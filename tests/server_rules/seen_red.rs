//! A test is trusted once it has been seen red: each scenario below runs twice, with a guard and without it, and has
//! to go wrong without it. The guards are off in a naive store and a naive service only; the crate cannot do without.

use http::{Request, Response, StatusCode};
use lab::{
    body::{Broken, ScriptedBody},
    exchange::{Answer, HeldRequest, post, send, sending},
    gate::{Gate, GatedStore, Verb},
    handler::{Handler, response},
    naive::{Naive, Without},
};
use tower::{Layer, Service, ServiceExt, service_fn};
use tower_idempotency::{
    IdempotencyLayer, MemoryStore,
    idempotency::Scope,
    store::{ClaimRequest, Claimed, Fingerprint, Outcome, Store, StoredResponse},
};

use crate::support::{filed, gate, millis, pass, secs};

fn layer(store: &GatedStore<Naive>) -> IdempotencyLayer<GatedStore<Naive>> {
    IdempotencyLayer::new(store.clone(), Scope::shared())
}

/// A lapses and B takes over; A completes while B still runs, then B. The status of A's answer, and what a repeat gets.
async fn a_completes_while_b_runs(without: Without) -> (u16, String) {
    let (store, a_ends, b_ends) = (GatedStore::new(Naive::new(without)), gate(), gate());
    let handler = Handler::numbered_at_each([&a_ends, &b_ends]);
    let service = layer(&store).layer(handler.clone());
    store.set(Verb::Renew, Gate::Never);
    let a = sending(&service, post("k", "{}"));
    handler.started(1).await;
    pass(secs(10)).await;
    let b = sending(&service, post("k", "{}"));
    handler.started(2).await;

    a_ends.add_permits(1);
    let a = a.await.expect("no panic");
    b_ends.add_permits(1);
    b.await.expect("no panic");
    (a.status.as_u16(), send(&service, post("k", "{}")).await.text().to_owned())
}

/// Rule 11: without the comparison a holder that was passed completes, and its successor's outcome is lost.
#[tokio::test(start_paused = true)]
async fn without_fencing_a_passed_holder_completes() {
    assert_eq!(a_completes_while_b_runs(Without::Nothing).await, (409, "run 2".into()));
    assert_eq!(a_completes_while_b_runs(Without::Fencing).await, (201, "run 1".into()));
}

/// V8: A lapses; B takes over, fails and releases; C claims with another body; A completes while C runs, then C. The
/// status of A's answer, and what a repeat of C's request gets.
async fn a_sleeps_through_a_release(without: Without) -> (u16, String) {
    let (store, a_ends, c_ends) = (GatedStore::new(Naive::new(without)), gate(), gate());
    let handler = Handler::scripted({
        let (a_ends, c_ends) = (a_ends.clone(), c_ends.clone());
        move |call| {
            let gate = if call.body == "a" { a_ends.clone() } else { c_ends.clone() };
            async move {
                if call.run == 2 {
                    return Ok(response(503, "B fails"));
                }
                gate.acquire().await.expect("never closed").forget();
                Ok(response(201, format!("answer to {}", String::from_utf8_lossy(&call.body))))
            }
        }
    });
    let service = layer(&store).layer(handler.clone());
    store.set(Verb::Renew, Gate::Never);
    let a = sending(&service, post("k", "a"));
    handler.started(1).await;
    pass(secs(10)).await;
    send(&service, post("k", "a")).await;
    let c = sending(&service, post("k", "c"));
    handler.started(3).await;

    a_ends.add_permits(1);
    let a = a.await.expect("no panic");
    c_ends.add_permits(1);
    c.await.expect("no panic");
    (a.status.as_u16(), send(&service, post("k", "c")).await.text().to_owned())
}

/// Rule 12: with tokens that begin again a holder that slept through a release overwrites another request.
#[tokio::test(start_paused = true)]
async fn with_tokens_that_repeat_a_sleeper_overwrites_another_request() {
    assert_eq!(a_sleeps_through_a_release(Without::Nothing).await, (409, "answer to c".into()));
    assert_eq!(a_sleeps_through_a_release(Without::FreshTokens).await, (201, "answer to a".into()));
}

/// What a reused key is answered while the first request runs.
async fn reused_while_the_first_runs(without: Without) -> u16 {
    let store = GatedStore::new(Naive::new(without));
    let handler = Handler::numbered_at(&gate());
    let service = layer(&store).layer(handler.clone());
    let _first = sending(&service, post("k", "{}"));
    handler.started(1).await;

    send(&service, post("k", "[]")).await.status.as_u16()
}

/// Rule 10: judged in the other order, a reused key is told to come again (V3).
#[tokio::test(start_paused = true)]
async fn without_mismatch_before_in_flight_a_reused_key_is_told_to_come_again() {
    assert_eq!(reused_while_the_first_runs(Without::Nothing).await, 422);
    assert_eq!(reused_while_the_first_runs(Without::MismatchFirst).await, 409);
}

/// How often a handler that takes three leases ran when a repeat came after one and a half.
async fn runs_of_a_slow_handler(without: Without) -> usize {
    let store = GatedStore::new(Naive::new(without));
    let handler = Handler::numbered_at(&gate());
    let service = layer(&store).lease(secs(10)).layer(handler.clone());
    let _first = sending(&service, post("k", "{}"));
    pass(secs(15)).await;
    let _repeat = sending(&service, post("k", "{}"));
    pass(secs(15)).await;

    handler.runs()
}

/// Rule 11: without renewals a slow handler runs twice at the same time.
#[tokio::test(start_paused = true)]
async fn without_renewals_a_slow_handler_runs_beside_itself() {
    assert_eq!(runs_of_a_slow_handler(Without::Nothing).await, 1);
    assert_eq!(runs_of_a_slow_handler(Without::Renewal).await, 2);
}

/// Sends first, and closes the key afterwards.
fn sends_first(
    store: GatedStore<MemoryStore>,
    handler: Handler,
) -> impl Service<HeldRequest, Response = Response<ScriptedBody>, Error = Broken, Future: Send> + Clone + Send + 'static
{
    service_fn(move |request: Request<_>| {
        let (store, handler) = (store.clone(), handler.clone());
        async move {
            let claim = ClaimRequest {
                key: filed("k"),
                fingerprint: Fingerprint::of(b"", b"", b""),
                lease: secs(10),
                retention: secs(60),
            };
            match store.claim(&claim).await.expect("the store is there") {
                Claimed::Acquired { token, .. } => {
                    let answer = Answer::of(handler.oneshot(request).await?).await;
                    let (status, headers, body) = (answer.status, answer.headers, answer.body.clone());
                    let outcome = Outcome::Response(StoredResponse { status, headers, body });
                    tokio::spawn(async move { store.complete(&token, outcome).await });
                    Ok(response(status.as_u16(), answer.body))
                }
                Claimed::Done(stored) => Ok(response(stored.status.as_u16(), stored.body)),
                Claimed::InFlight { .. } | Claimed::Mismatch(_) | Claimed::NotReplayable(_) => Ok(response(409, "")),
            }
        }
    })
}

/// The server is cut off from its store when the handler has ended. Whether its caller had an answer by then, and how
/// often the handler has run when a repeat comes to another server after the lease.
async fn cut_off_before_the_key_is_closed<S>(service: impl Fn(GatedStore<MemoryStore>, Handler) -> S) -> (bool, usize)
where
    S: Service<HeldRequest, Response: IntoAnswer, Error = Broken, Future: Send> + Clone + Send + 'static,
{
    let (store, handler) = (MemoryStore::new(), Handler::numbered());
    let cut_off = GatedStore::new(store.clone());
    cut_off.set(Verb::Complete, Gate::Never);
    cut_off.set(Verb::Renew, Gate::Never);
    let first = tokio::time::timeout(millis(100), service(cut_off, handler.clone()).oneshot(post("k", "{}"))).await;
    pass(secs(10)).await;

    let repeat = service(GatedStore::new(store), handler.clone()).oneshot(post("k", "{}")).await.expect("an answer");
    assert_eq!(repeat.status(), StatusCode::CREATED);
    (first.is_ok(), handler.runs())
}

/// A response of whatever body.
trait IntoAnswer {
    fn status(&self) -> StatusCode;
}

impl<B> IntoAnswer for Response<B> {
    fn status(&self) -> StatusCode {
        self.status()
    }
}

/// Rule 15: sent before its key is closed, an answer can reach its caller and the work run again all the same (V26).
#[tokio::test(start_paused = true)]
async fn without_closing_first_work_that_was_answered_runs_again() {
    let layered =
        |store: GatedStore<MemoryStore>, handler| IdempotencyLayer::new(store, Scope::shared()).layer(handler);

    assert_eq!(cut_off_before_the_key_is_closed(layered).await, (false, 2));
    assert_eq!(cut_off_before_the_key_is_closed(sends_first).await, (true, 2));
}
