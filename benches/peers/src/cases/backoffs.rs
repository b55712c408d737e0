//! Point 5: a maximum that is one.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use tower_idempotency::retry::Backoff;

use super::{Ours, Peer, Row};

const BASE: Duration = Duration::from_secs(1);
const MAX: Duration = Duration::from_secs(10);
const SEEDS: u64 = 1000;
const DELAYS: usize = 6;

pub(crate) fn longest_delay() -> Row {
    let backon = ExponentialBuilder::new().with_jitter().with_min_delay(BASE).with_max_delay(MAX);
    let theirs = longest(|seed| backon.with_max_times(DELAYS).with_jitter_seed(seed).build());
    let ours = [
        Backoff::exponential(BASE, MAX),
        Backoff::proportional(BASE, MAX),
        Backoff::downward(BASE, MAX),
        Backoff::equal(BASE, MAX),
        Backoff::full(BASE, MAX),
        Backoff::decorrelated(BASE, MAX),
    ];
    let ours = ours.map(|backoff| longest(|seed| backoff.delays(seed)));
    Row {
        point: "5",
        case: "the longest of 6000 delays from a base of 1 s, maximum 10 s, with jitter",
        peer: Peer { name: "backon", did: format!("{theirs:.3?}"), fault_seen: theirs > MAX },
        ours: Ours {
            did: format!("{:.3?}, over six strategies", ours.iter().max().expect("six")),
            passed: ours.iter().all(|longest| *longest <= MAX),
        },
    }
}

fn longest<I: Iterator<Item = Duration>>(delays: impl Fn(u64) -> I) -> Duration {
    (0..SEEDS).flat_map(|seed| delays(seed).take(DELAYS)).max().expect("some delay")
}
