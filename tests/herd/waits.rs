//! The delays of the strategies, beside what is published of them.

use std::time::Duration;

use lab::{
    clock::{hours, millis, secs},
    herd::{Defect, Pace, Strategy},
};

use crate::pace;

const BOUNDS: [u64; 10] = [10, 20, 40, 80, 160, 320, 640, 1280, 2000, 2000];

#[test]
fn exponential_is_twice_the_base_doubled_up_to_the_cap() {
    let delays: Vec<_> = Strategy::Exponential.backoff(Pace::PUBLISHED, None).delays(1).take(10).collect();

    assert_eq!(delays, BOUNDS.map(millis));
}

/// The lowest and the highest of a thousand clients, in parts of the exponential value.
#[test]
fn each_strategy_draws_from_its_part_of_the_exponential_value() {
    let ranges = [
        (Strategy::Proportional, 0.9, 1.1),
        (Strategy::Equal, 0.5, 1.0),
        (Strategy::Full, 0.0, 1.0),
        (Strategy::Downward, 0.75, 1.0),
    ];
    for (strategy, low, high) in ranges {
        for (n, bound) in BOUNDS.into_iter().enumerate() {
            let (lowest, highest) = ends(strategy, n);
            let near = (high - low) / 50.0;
            let (lowest, highest) = (parts(lowest, bound), parts(highest, bound));
            assert!(low - 1e-6 <= lowest && lowest <= low + near, "{strategy}, {n}: {lowest}");
            assert!(high - near <= highest && highest <= high + 1e-6, "{strategy}, {n}: {highest}");
        }
    }
}

/// From 5 ms to three times 5 ms, and then to three times the last.
#[test]
fn decorrelated_grows_from_the_base() {
    let (lowest, highest) = ends(Strategy::Decorrelated, 0);
    assert!(lowest >= millis(5) && highest <= millis(15) && highest > millis(14), "{lowest:?} {highest:?}");

    for seed in 0..1000 {
        let delays: Vec<_> = Strategy::Decorrelated.backoff(Pace::PUBLISHED, None).delays(seed).take(20).collect();
        assert!(delays.windows(2).all(|two| two[1] <= (3 * two[0]).min(secs(2)) && two[1] >= millis(5)), "{delays:?}");
    }
}

#[test]
fn none_does_not_wait() {
    assert!(Strategy::None.backoff(Pace::PUBLISHED, None).delays(1).take(10).all(|delay| delay.is_zero()));
}

/// Six tries of Codex from 200 ms, as the article prints them: each within a tenth of the exponential value, as ours are.
#[test]
fn proportional_is_the_codex_shape() {
    let published = [192, 372, 824, 1463, 3222, 6228];
    let codex = Strategy::Proportional.backoff(pace(millis(100), hours(1)), None);

    for seed in 0..100 {
        for ((n, ours), theirs) in (0..).zip(codex.delays(seed)).zip(published) {
            let value = 200 << n;
            assert!((0.9..1.1).contains(&parts(millis(theirs), value)));
            assert!((0.9..1.1).contains(&parts(ours, value)), "{n}: {ours:?}");
        }
    }
}

#[test]
fn a_cap_after_the_jitter_is_met_by_everybody() {
    for strategy in [Strategy::Proportional, Strategy::Downward, Strategy::Equal] {
        let planted = strategy.backoff(Pace::PUBLISHED, Some(Defect::CapAfterJitter));
        let right = strategy.backoff(Pace::PUBLISHED, None);

        assert!((0..100).all(|seed| planted.delays(seed).nth(11) == Some(secs(2))), "{strategy}");
        assert!((0..100).all(|seed| right.delays(seed).nth(11) != Some(secs(2))), "{strategy}");
    }
}

fn ends(strategy: Strategy, n: usize) -> (Duration, Duration) {
    let backoff = strategy.backoff(Pace::PUBLISHED, None);
    let delays = || (0..1000).filter_map(|seed| backoff.delays(seed).nth(n));
    (delays().min().unwrap(), delays().max().unwrap())
}

fn parts(delay: Duration, milliseconds: u64) -> f64 {
    delay.as_secs_f64() * 1e3 / milliseconds as f64
}
