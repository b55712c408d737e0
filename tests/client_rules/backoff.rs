//! Rule 4: how long it waits. The formulas themselves are tested beside them.

use std::{collections::HashSet, time::Duration};

use futures_util::future::join_all;
use lab::{exchange::get, scripted::Step};
use tower::Layer;
use tower_idempotency::{
    RetryLayer,
    retry::{Backoff, Stopped},
};

use crate::support::{always, layer, millis, secs, send, stopped};

/// The waits of one request that fails every time, without a budget.
async fn waits(layer: &RetryLayer, attempts: u32) -> Vec<Duration> {
    let client = always(Step::status(503));
    let layer = layer.clone().without_budget().max_attempts(attempts);
    send(&layer.layer(client.clone()), get("/reports")).await.expect("a response");
    client.waits()
}

/// The first wait of each of a hundred requests of one layer that fail at the same instant.
async fn first_waits(layer: &RetryLayer) -> Vec<Duration> {
    join_all((0..100).map(|_| waits(layer, 2))).await.concat()
}

/// Rule 4: the first retry is n = 0: it waits for the base.
#[tokio::test(start_paused = true)]
async fn exponential_waits_double_from_the_base_to_the_cap() {
    let waits = waits(&layer().backoff(Backoff::exponential(secs(1), secs(5))), 6).await;

    assert_eq!(waits, [1, 2, 4, 5, 5].map(secs));
}

/// Rule 4: the default is full jitter, 100 ms up to 20 s.
#[tokio::test(start_paused = true)]
async fn the_default_waits_are_anything_up_to_the_exponential_value() {
    let waits = waits(&layer(), 12).await;

    let most = (0..11).map(|n| millis(100 << n).min(secs(20)));
    assert!(waits.iter().zip(most).all(|(wait, most)| *wait <= most), "{waits:?}");
    assert!(waits[10] > secs(1), "they grow: {waits:?}");
}

/// Rule 4: the cap is a true ceiling, jitter included.
#[tokio::test(start_paused = true)]
async fn no_wait_is_above_the_cap() {
    let (base, cap) = (millis(900), secs(1));
    let strategies = [
        Backoff::exponential(base, cap),
        Backoff::proportional(base, cap),
        Backoff::downward(base, cap),
        Backoff::equal(base, cap),
        Backoff::full(base, cap),
        Backoff::decorrelated(base, cap),
        Backoff::exponential(secs(9), cap),
    ];
    for strategy in strategies {
        let waits = waits(&layer().backoff(strategy.clone()), 30).await;
        assert!(waits.iter().all(|wait| *wait <= cap), "{strategy:?}: {waits:?}");
    }
}

/// Rule 4: arithmetic saturates, and zero is legal (K1).
#[tokio::test(start_paused = true)]
async fn many_attempts_without_a_wait_stay_without_one() {
    for strategy in [Backoff::none(), Backoff::full(Duration::ZERO, secs(1)), Backoff::decorrelated(secs(1), secs(0))] {
        let waits = waits(&layer().backoff(strategy), 1000).await;
        assert!(waits.len() == 999 && waits.iter().all(Duration::is_zero));
    }
}

/// Rule 4: the longest of all waits neither panics nor wraps: it lies after any deadline (K1).
#[tokio::test(start_paused = true)]
async fn a_wait_without_end_is_not_begun_under_a_deadline() {
    let client = always(Step::status(503));
    let layer = layer().backoff(Backoff::exponential(Duration::MAX, Duration::MAX)).deadline(secs(60));

    let ended = send(&layer.layer(client.clone()), get("/reports")).await;

    assert_eq!((client.attempts(), stopped(&ended)), (1, Stopped::Deadline));
}

/// Rule 4: each request has its own random stream: those that fail together do not come back together (K2).
#[tokio::test(start_paused = true)]
async fn requests_of_one_layer_that_fail_together_wait_differently() {
    let waits = first_waits(&layer().backoff(Backoff::full(secs(1000), secs(1000)))).await;

    assert_eq!(waits.iter().collect::<HashSet<_>>().len(), 100);
}

/// Rule 4: jitter is finer than whole seconds (K3).
#[tokio::test(start_paused = true)]
async fn waits_of_about_a_second_are_spread_within_it() {
    let waits = first_waits(&layer().backoff(Backoff::full(secs(1), secs(1)))).await;

    let tenths: HashSet<_> = waits.iter().map(|wait| wait.as_millis() / 100).collect();
    assert!((0..10).all(|tenth| tenths.contains(&tenth)), "{tenths:?}");
}

/// Rule 4: a seed makes it repeatable, request by request.
#[tokio::test(start_paused = true)]
async fn the_same_seed_gives_the_same_waits() {
    assert_eq!(first_waits(&layer().seed(7)).await, first_waits(&layer().seed(7)).await);
}

/// Rule 4: without a seed, or with another, the waits are other ones.
#[tokio::test(start_paused = true)]
async fn another_seed_or_none_gives_other_waits() {
    let seven = first_waits(&layer().seed(7)).await;

    assert_ne!(seven, first_waits(&layer().seed(8)).await);
    assert_ne!(first_waits(&RetryLayer::new()).await, first_waits(&RetryLayer::new()).await);
}

/// Rule 4: delays of one's own, from a factory of iterators.
#[tokio::test(start_paused = true)]
async fn a_backoff_of_ones_own_is_followed() {
    let mine = Backoff::custom(|_seed| [3, 1, 2].into_iter().map(secs));

    assert_eq!(waits(&layer().backoff(mine), 4).await, [3, 1, 2].map(secs));
}

/// Rule 4: an iterator that ends, ends the retries.
#[tokio::test(start_paused = true)]
async fn no_retry_is_made_after_the_last_delay_of_a_custom_backoff() {
    let client = always(Step::status(503));
    let layer = layer().backoff(Backoff::custom(|_seed| [secs(1)].into_iter())).max_attempts(9);

    let ended = send(&layer.layer(client.clone()), get("/reports")).await;

    assert_eq!((client.attempts(), stopped(&ended)), (2, Stopped::Backoff));
}
