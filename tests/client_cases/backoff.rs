//! K1 to K3: how long to wait.

use std::{collections::HashSet, time::Duration};

use futures_util::future::join_all;
use lab::{
    exchange::get,
    scripted::{Scripted, Step},
};
use tower_idempotency::{RetryLayer, retry::Backoff};

use crate::{secs, seeded};

/// Bases and caps that have no reasonable meaning.
const EXTREMES: [Duration; 5] = [Duration::ZERO, Duration::from_nanos(1), secs(1), secs(u64::MAX), Duration::MAX];

type Strategy = fn(Duration, Duration) -> Backoff;

const STRATEGIES: [(&str, Strategy); 6] = [
    ("exponential", Backoff::exponential),
    ("proportional", Backoff::proportional),
    ("downward", Backoff::downward),
    ("equal", Backoff::equal),
    ("full", Backoff::full),
    ("decorrelated", Backoff::decorrelated),
];

/// K1: base 0, cap 0, cap below base, both at their largest. Attempt u32::MAX is out of an iterator's reach; the unit
/// test of the formula has it.
#[test]
fn k1_no_attempt_base_or_cap_panics_wraps_or_passes_the_cap() {
    for (name, strategy) in STRATEGIES {
        for (base, cap) in EXTREMES.iter().flat_map(|base| EXTREMES.map(|cap| (*base, cap))) {
            let delays: Vec<_> = strategy(base, cap).delays(17).take(1001).collect();
            assert!(delays.iter().all(|delay| *delay <= cap), "{name} of {base:?} up to {cap:?}");
        }
    }
}

/// K1: the power overflows at attempt 128, and no delay becomes short again.
#[test]
fn k1_late_attempts_wait_the_cap() {
    for attempt in [64, 100, 127, 128, 129, 1000] {
        let delay = Backoff::exponential(secs(1), secs(20)).delays(17).nth(attempt);
        assert_eq!(delay, Some(secs(20)), "attempt {attempt}");
    }
}

/// K1: through the layer: the longest of all waits is no panic, and ends with the deadline.
#[tokio::test(start_paused = true)]
async fn k1_the_longest_wait_of_all_is_no_panic() {
    let layer = seeded().backoff(Backoff::exponential(Duration::MAX, Duration::MAX));
    let script = Scripted::new([Step::reset(), Step::status(200)]);
    assert!(tokio::time::timeout(secs(365 * 24 * 3600), script.send(&layer, get("/"))).await.is_err());
    script.send(&layer.deadline(secs(10)), get("/")).await.unwrap();
}

/// K2: independent streams.
#[tokio::test(start_paused = true)]
async fn k2_requests_that_fail_at_the_same_instant_wait_differently() {
    let layer = seeded().backoff(Backoff::full(secs(3600), secs(3600)));
    let waits = first_waits(&[(); 100].map(|()| layer.clone())).await;
    assert_eq!(waits.iter().collect::<HashSet<_>>().len(), 100, "{waits:?}");
}

/// K2: those of two layers are no more alike.
#[tokio::test(start_paused = true)]
async fn k2_requests_of_two_layers_wait_differently() {
    let backoff = Backoff::full(secs(3600), secs(3600));
    let waits = first_waits(&[(); 2].map(|()| RetryLayer::new().backoff(backoff.clone()))).await;
    assert_ne!(waits[0], waits[1]);
}

/// K3: jitter that is cut to whole seconds has no tenths.
#[tokio::test(start_paused = true)]
async fn k3_delays_are_spread_within_the_second() {
    for (name, strategy) in STRATEGIES.iter().filter(|(name, _)| *name != "exponential") {
        let layer = seeded().backoff(strategy(secs(1), secs(20)));
        let waits = first_waits(&vec![layer; 100]).await;
        let distinct = waits.iter().map(Duration::subsec_millis).collect::<HashSet<_>>().len();
        assert!(distinct > 50, "{name}: {distinct}");
    }
}

/// K3: and from end to end of it.
#[tokio::test(start_paused = true)]
async fn k3_full_jitter_meets_each_tenth_of_the_second() {
    let waits = first_waits(&vec![seeded().backoff(Backoff::full(secs(1), secs(20))); 100]).await;
    let tenths: HashSet<_> = waits.iter().map(|wait| wait.subsec_millis() / 100).collect();
    assert_eq!(tenths.len(), 10, "{waits:?}");
}

/// How long a request of each layer waits, all of them failing at the same instant.
async fn first_waits(layers: &[RetryLayer]) -> Vec<Duration> {
    join_all(layers.iter().map(|layer| async {
        let script = Scripted::new([Step::reset(), Step::status(200)]);
        script.send(layer, get("/")).await.unwrap();
        script.waits()[0]
    }))
    .await
}
