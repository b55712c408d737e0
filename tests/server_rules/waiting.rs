//! Rule 9: a repeat while the first still runs.

use std::{sync::Arc, time::Duration};

use http::StatusCode;
use lab::{
    exchange::{post, send, sending},
    gate::{Gate, Verb},
    handler::{Handler, response},
};
use tokio::{sync::Semaphore, task::JoinHandle, time::Instant};
use tower::{Layer, ServiceExt};
use tower_idempotency::{IdempotencyLayer, idempotency::RejectionKind};

use crate::support::{Guarded, TestStore, gate, layer, millis, pass, refusal, respond, secs, store};

/// A request that runs until its gate lets it end.
struct Running {
    service: Guarded,
    handler: Handler,
    gate: Arc<Semaphore>,
    first: JoinHandle<lab::exchange::Answer>,
}

async fn running(layer: IdempotencyLayer<TestStore>) -> Running {
    let gate = gate();
    let handler = Handler::numbered_at(&gate);
    let service = layer.layer(handler.clone());
    let first = sending(&service, post("k", "{}"));
    handler.started(1).await;
    Running { service, handler, gate, first }
}

/// Rule 9: 409 at once, with `Retry-After`.
#[tokio::test(start_paused = true)]
async fn a_repeat_while_the_first_runs_is_409_with_retry_after() {
    let running = running(layer(&store())).await;

    let response = respond(&running.service, post("k", "{}")).await;

    assert!(matches!(refusal(&response), RejectionKind::InProgress));
    assert_eq!((response.status(), running.handler.runs()), (StatusCode::CONFLICT, 1));
    assert_eq!(response.headers()["retry-after"], "1");
}

async fn retry_after(layer: IdempotencyLayer<TestStore>, later: Duration) -> String {
    let running = running(layer).await;
    pass(later).await;
    let repeat = send(&running.service, post("k", "{}")).await;
    assert_eq!(repeat.status, StatusCode::CONFLICT);
    repeat.header("retry-after").expect("a Retry-After").to_owned()
}

/// Rule 9: `Retry-After` is a setting, in whole seconds, rounded up.
#[tokio::test(start_paused = true)]
async fn the_retry_after_of_a_repeat_is_a_setting() {
    assert_eq!(retry_after(layer(&store()).retry_after(secs(3)), secs(0)).await, "3");
    assert_eq!(retry_after(layer(&store()).retry_after(millis(2_100)), secs(0)).await, "3");
}

/// Rule 9: never more than what is left of the lease, rounded up to whole seconds.
#[tokio::test(start_paused = true)]
async fn retry_after_is_never_more_than_what_is_left_of_the_lease() {
    let store = store();
    store.set(Verb::Renew, Gate::Never);

    assert_eq!(retry_after(layer(&store).retry_after(secs(60)), millis(7_500)).await, "3");
}

/// Rule 9: a waiter gets the replay when the first ends.
#[tokio::test(start_paused = true)]
async fn a_waiter_gets_the_replay() {
    let running = running(layer(&store()).wait_for(secs(30))).await;
    let waiter = sending(&running.service, post("k", "{}"));
    pass(secs(5)).await;

    running.gate.add_permits(1);

    let answer = waiter.await.unwrap();
    assert_eq!((answer.status, answer.text(), answer.replayed()), (StatusCode::CREATED, "run 1", Some("true")));
    assert_eq!((running.first.await.unwrap().text(), running.handler.runs()), ("run 1", 1));
}

/// Rule 9: it asks `claim` again at growing intervals, of a second at most.
#[tokio::test(start_paused = true)]
async fn a_waiter_asks_again_at_growing_intervals() {
    let store = store();
    let running = running(layer(&store).wait_for(secs(30))).await;
    let before = store.calls(Verb::Claim);
    let waiter = sending(&running.service, post("k", "{}"));

    let mut asks = Vec::new();
    for _ in 0..3 {
        pass(millis(1_000)).await;
        asks.push(store.calls(Verb::Claim) - before);
    }
    pass(secs(10)).await;
    let late = store.calls(Verb::Claim) - before - asks[2];

    // At 0, 10, 30, 70, 150, 310 and 630 ms; then at 1,270 ms and each second.
    assert_eq!((asks, late), (vec![7, 8, 9], 10));
    waiter.abort();
}

/// Rule 9: at the deadline 409.
#[tokio::test(start_paused = true)]
async fn a_waiter_is_refused_at_the_deadline() {
    let running = running(layer(&store()).wait_for(secs(5))).await;
    let asked = Instant::now();

    let repeat = send(&running.service, post("k", "{}")).await;

    assert_eq!((repeat.status, asked.elapsed()), (StatusCode::CONFLICT, secs(5)));
    assert_eq!((repeat.header("retry-after"), running.handler.runs()), (Some("1"), 1));
}

/// Rule 9: after a release one waiter runs it, and the others get its answer.
#[tokio::test(start_paused = true)]
async fn after_a_release_one_waiter_runs_it() {
    let (fails, succeeds) = (gate(), gate());
    let handler = Handler::scripted({
        let gates = [Arc::clone(&fails), Arc::clone(&succeeds)];
        move |call| {
            let gate = Arc::clone(&gates[call.run - 1]);
            async move {
                gate.acquire().await.expect("never closed").forget();
                Ok(if call.run == 1 { response(503, "") } else { response(201, "second") })
            }
        }
    });
    let service = layer(&store()).wait_for(secs(30)).layer(handler.clone());
    let first = sending(&service, post("k", "{}"));
    handler.started(1).await;
    let waiters = [sending(&service, post("k", "{}")), sending(&service, post("k", "{}"))];
    pass(secs(3)).await;

    fails.add_permits(1);
    handler.started(2).await;
    succeeds.add_permits(1);

    assert_eq!(first.await.unwrap().status, StatusCode::SERVICE_UNAVAILABLE);
    let mut marks = Vec::new();
    for waiter in waiters {
        let answer = waiter.await.unwrap();
        assert_eq!(answer.text(), "second");
        marks.push(answer.replayed().map(str::to_owned));
    }
    marks.sort();
    assert_eq!((marks, handler.runs()), (vec![Some("false".into()), Some("true".into())], 2));
}

/// Rule 9: after a lapse one waiter runs it, as soon as the lease has lapsed.
#[tokio::test(start_paused = true)]
async fn after_a_lapse_a_waiter_runs_it_at_once() {
    let (store, first_ends, second_ends) = (store(), gate(), gate());
    let handler = Handler::numbered_at_each([&first_ends, &second_ends]);
    let service = layer(&store).wait_for(secs(30)).layer(handler.clone());
    second_ends.add_permits(1);
    store.set(Verb::Renew, Gate::Never);
    let claimed = Instant::now();
    let _first = sending(&service, post("k", "{}"));
    handler.started(1).await;

    let waiter = send(&service, post("k", "{}")).await;

    assert_eq!((waiter.text(), waiter.replayed(), claimed.elapsed()), ("run 2", Some("false"), secs(10)));
}

/// Rule 9: waiters are bounded: one more is answered 409 at once, and a place that is left is taken.
#[tokio::test(start_paused = true)]
async fn one_waiter_more_than_may_wait_is_refused_at_once() {
    let running = running(layer(&store()).wait_for(secs(5)).max_waiters(1)).await;
    let waiter = sending(&running.service, post("k", "{}"));
    pass(millis(1)).await;
    let asked = Instant::now();

    let too_many = send(&running.service, post("k", "{}")).await;

    assert_eq!((too_many.status, asked.elapsed()), (StatusCode::CONFLICT, secs(0)));
    assert_eq!(waiter.await.unwrap().status, StatusCode::CONFLICT);
    let again = Instant::now();
    send(&running.service, post("k", "{}")).await;
    assert_eq!(again.elapsed(), secs(5));
}

/// Rule 14: only the pause between a waiter's asks ends with the caller: it asks no more, and its place is free.
#[tokio::test(start_paused = true)]
async fn a_waiter_whose_caller_leaves_asks_no_more() {
    let store = store();
    let layer = layer(&store).wait_for(secs(60)).max_waiters(1);
    let running = running(layer.clone()).await;
    let waiter = sending(&running.service, post("k", "{}"));
    pass(secs(2)).await;

    waiter.abort();
    layer.drained().await;
    let asked = store.calls(Verb::Claim);
    pass(secs(5)).await;

    assert_eq!(store.calls(Verb::Claim), asked);
    let next = sending(&running.service, post("k", "{}"));
    pass(secs(1)).await;
    assert!(!next.is_finished());
}

/// Rule 14: a caller that leaves while its ask is under way is not waited for either.
#[tokio::test(start_paused = true)]
async fn a_waiter_whose_caller_leaves_during_an_ask_does_not_wait_again() {
    let (store, asks) = (store(), gate());
    let layer = layer(&store).wait_for(secs(60));
    let running = running(layer.clone()).await;
    store.set(Verb::Claim, Gate::Permit(Arc::clone(&asks)));
    let mut waiter = Box::pin(running.service.clone().oneshot(post("k", "{}")));
    assert!(is_pending(&mut waiter).await);

    drop(waiter);
    let left = Instant::now();
    asks.add_permits(10);
    layer.drained().await;

    assert_eq!((left.elapsed(), asks.available_permits()), (secs(0), 9));
}

/// Whether a future is pending when it is polled once.
async fn is_pending<F: Future + Unpin>(future: &mut F) -> bool {
    std::future::poll_fn(|cx| std::task::Poll::Ready(std::pin::Pin::new(&mut *future).poll(cx).is_pending())).await
}

/// Rule 9: whoever loses a race is answered 409 or the replay, never a 5xx (V1, V2, V4).
#[tokio::test(start_paused = true)]
async fn of_fifty_at_once_one_runs_and_none_gets_a_5xx() {
    let handler = Handler::numbered();
    let service = layer(&store()).layer(handler.clone());

    let all: Vec<_> = (0..50).map(|_| sending(&service, post("k", "{}"))).collect();

    for answer in all {
        let answer = answer.await.unwrap();
        assert!(answer.status == StatusCode::CONFLICT || answer.text() == "run 1", "{answer:?}");
    }
    assert_eq!(handler.runs(), 1);
}
