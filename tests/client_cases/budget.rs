//! K15 to K18 and K23: what retries may cost.

use std::{
    sync::{Barrier, Mutex},
    thread,
};

use lab::{
    exchange::get,
    scripted::{Scripted, Step},
};
use tokio::{runtime, time::timeout};
use tower_idempotency::{
    RetryLayer,
    retry::{Backoff, Budget, Stopped},
};

use crate::{millis, secs, seeded, told, waiting};

/// K15: real threads, each with a runtime of its own, that begin at the same time and retry until there is nothing left.
#[test]
fn k15_sixteen_threads_take_exactly_a_hundred_retries_from_a_budget_of_a_hundred() {
    for round in 0..50 {
        let budget = Budget::new(100).retry_cost(1);
        let layer = seeded().budget(budget.clone()).max_attempts(u32::MAX).backoff(Backoff::none());
        let (start, retries) = (Barrier::new(16), Mutex::new(Vec::new()));
        thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| {
                    let taken = retries_until_refused(&layer, &start);
                    retries.lock().unwrap().push(taken);
                });
            }
        });
        let retries = retries.into_inner().unwrap();
        assert_eq!((retries.iter().sum::<usize>(), budget.available()), (100, 0.0), "round {round}: {retries:?}");
    }
}

/// K16: 500 tokens are a hundred retries, fifty requests of three attempts; the next one gets none.
#[tokio::test(start_paused = true)]
async fn k16_a_budget_empties_when_all_fail() {
    let budget = Budget::aws_v2_0();
    let layer = seeded().budget(budget.clone());
    let script = Scripted::new([Step::reset()]);
    for _ in 0..50 {
        script.send(&layer, get("/")).await.unwrap_err();
    }
    assert_eq!((script.attempts(), budget.available()), (150, 0.0));

    let error = script.send(&layer, get("/")).await.unwrap_err();

    assert_eq!((script.attempts(), error.info().stopped(), budget.available()), (151, Stopped::Budget, 0.0));
}

/// K16: to the brim, and not over it.
#[tokio::test(start_paused = true)]
async fn k16_an_empty_budget_refills_to_the_brim_when_all_succeed() {
    let budget = Budget::aws_v2_0();
    let layer = seeded().budget(budget.clone()).max_attempts(101);
    Scripted::new([Step::reset()]).send(&layer, get("/")).await.unwrap_err();
    assert_eq!(budget.available(), 0.0);
    let script = Scripted::new([Step::status(200)]);
    for successes in 1..=510 {
        script.send(&layer, get("/")).await.unwrap();
        assert_eq!(budget.available(), f64::from(successes.min(500)));
    }
}

/// K16: 500 → 495 → 490 → success 495.
#[tokio::test(start_paused = true)]
async fn k16_a_success_after_retries_gives_the_last_cost_back() {
    let budget = Budget::aws_v2_0();
    let layer = waiting(secs(2)).budget(budget.clone());
    let script = Scripted::new([Step::reset(), Step::reset(), Step::status(200)]);
    let mut sending = Box::pin(script.send(&layer, get("/")));
    let mut seen = vec![budget.available()];
    for _ in 0..2 {
        assert!(timeout(millis(1900), &mut sending).await.is_err());
        seen.push(budget.available());
    }
    sending.await.unwrap();
    seen.push(budget.available());
    assert_eq!(seen, [500.0, 495.0, 490.0, 495.0]);
}

/// K17.
#[tokio::test(start_paused = true)]
async fn k17_a_request_that_is_dropped_while_it_sleeps_is_refunded() {
    let budget = Budget::new(100);
    let layer = waiting(secs(10)).budget(budget.clone());
    let script = Scripted::new([Step::status(503)]);
    let mut sleeping = Box::pin(script.send(&layer, get("/")));
    assert!(timeout(secs(1), &mut sleeping).await.is_err());
    assert_eq!(budget.available(), 95.0);
    drop(sleeping);
    assert_eq!((script.attempts(), budget.available()), (1, 100.0));
}

/// K17: its retry was sent.
#[tokio::test(start_paused = true)]
async fn k17_a_request_that_is_dropped_while_an_attempt_is_in_flight_has_spent() {
    let budget = Budget::new(100);
    let layer = waiting(secs(1)).budget(budget.clone());
    let script = Scripted::new([Step::status(503), Step::Never]);
    assert!(timeout(secs(5), script.send(&layer, get("/"))).await.is_err());
    assert_eq!((script.attempts(), script.in_flight(), budget.available()), (2, 0, 95.0));
}

/// K17: of two retries that which was sent is spent, and that which is waited for is refunded.
#[tokio::test(start_paused = true)]
async fn k17_only_the_retry_that_was_not_sent_is_refunded() {
    let budget = Budget::new(100);
    let layer = waiting(secs(10)).budget(budget.clone());
    let script = Scripted::new([Step::status(503)]);
    assert!(timeout(secs(15), script.send(&layer, get("/"))).await.is_err());
    assert_eq!((script.attempts(), budget.available()), (2, 95.0));
}

/// K18: the budget is the layer's, and that of its clones.
#[tokio::test(start_paused = true)]
async fn k18_two_services_of_one_layer_share_the_budget() {
    let layer = seeded().max_attempts(101);
    empty(&layer).await;
    for layer in [layer.clone(), layer] {
        let script = Scripted::new([Step::reset()]);
        let error = script.send(&layer, get("/")).await.unwrap_err();
        assert_eq!((script.attempts(), error.info().stopped()), (1, Stopped::Budget));
    }
}

/// K18.
#[tokio::test(start_paused = true)]
async fn k18_two_layers_do_not_share_the_budget() {
    let (one, other) = (seeded().max_attempts(101), seeded().max_attempts(101));
    empty(&one).await;
    let script = Scripted::new([Step::status(503)]);
    let answer = script.send(&other, get("/")).await.unwrap();
    assert_eq!((script.attempts(), told(&answer).stopped()), (101, Stopped::Attempts));
}

/// K23: a year of refill is one sum, at the brim: a bucket that counted its ticks one by one would take 31 million steps
/// for one request, and this test asks a thousand times.
#[tokio::test(start_paused = true)]
async fn k23_a_year_of_idling_is_one_step() {
    const YEAR: u64 = 365 * 24 * 60 * 60;
    let budget = Budget::new(100).refill_per_second(1000.0);
    let layer = seeded().budget(budget.clone()).backoff(Backoff::none());
    for _ in 0..1000 {
        Scripted::new([Step::reset(), Step::status(400)]).send(&layer, get("/")).await.unwrap();
        assert_eq!(budget.available(), 95.0);
        tokio::time::advance(secs(YEAR)).await;
    }
}

async fn empty(layer: &RetryLayer) {
    let script = Scripted::new([Step::reset()]);
    let error = script.send(layer, get("/")).await.unwrap_err();
    assert_eq!((script.attempts(), error.info().stopped()), (101, Stopped::Attempts));
}

/// How many retries one request gets out of the budget.
fn retries_until_refused(layer: &RetryLayer, start: &Barrier) -> usize {
    let runtime = runtime::Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime");
    let script = Scripted::new([Step::reset()]);
    start.wait();
    let error = runtime.block_on(script.send(layer, get("/"))).unwrap_err();
    assert_eq!(error.info().stopped(), Stopped::Budget);
    script.attempts() - 1
}
