use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

mod laws;

const BASE: Duration = Duration::from_millis(100);
const CAP: Duration = Duration::from_secs(2);
const HOUR: Duration = Duration::from_secs(3600);
const NANOSECOND: Duration = Duration::from_nanos(1);

const STRATEGIES: [fn(Duration, Duration) -> Backoff; 6] = [
    Backoff::exponential,
    Backoff::proportional,
    Backoff::downward,
    Backoff::equal,
    Backoff::full,
    Backoff::decorrelated,
];

fn formula_of(backoff: &Backoff) -> Formula {
    match backoff.0 {
        Kind::Formula(formula) => formula,
        Kind::Custom(_) => panic!("a formula"),
    }
}

/// The delays in milliseconds of a request that always draws `u`.
fn drawing(u: f64, backoff: &Backoff, retries: u32) -> Vec<f64> {
    let formula = formula_of(backoff);
    let mut prev = formula.base;
    let mut next = |n| {
        prev = formula.delay(n, prev, u);
        prev.as_secs_f64() * 1e3
    };
    (0..retries).map(&mut next).collect()
}

fn first(backoff: &Backoff, seed: u64) -> Duration {
    backoff.delays(seed).next().expect("no formula ends")
}

#[test]
fn exponential_doubles_up_to_the_cap() {
    let delays = drawing(0.5, &Backoff::exponential(BASE, CAP), 7);
    assert_eq!(delays, [100.0, 200.0, 400.0, 800.0, 1600.0, 2000.0, 2000.0]);
}

#[test]
fn full_draws_from_nothing_to_the_exponential_value() {
    let delays = drawing(0.5, &Backoff::full(BASE, CAP), 7);
    assert_eq!(delays, [50.0, 100.0, 200.0, 400.0, 800.0, 1000.0, 1000.0]);
}

#[test]
fn equal_draws_from_the_upper_half_of_the_exponential_value() {
    let delays = drawing(0.5, &Backoff::equal(BASE, CAP), 7);
    assert_eq!(delays, [75.0, 150.0, 300.0, 600.0, 1200.0, 1500.0, 1500.0]);
}

#[test]
fn decorrelated_draws_from_the_base_to_three_times_the_last_delay() {
    let delays = drawing(0.5, &Backoff::decorrelated(BASE, CAP), 7);
    assert_eq!(delays, [200.0, 350.0, 575.0, 912.5, 1418.75, 2000.0, 2000.0]);
}

/// The article's six tries come out of the formula for draws from [0, 1), and none of ours leaves its range.
#[test]
fn proportional_draws_within_a_tenth_of_the_exponential_value() {
    let codex = Backoff::proportional(Duration::from_millis(200), HOUR);
    let published = [192.0, 372.0, 824.0, 1463.0, 3222.0, 6228.0];
    let (lowest, middle, highest) =
        (drawing(0.0, &codex, 6), drawing(0.5, &codex, 6), drawing(1.0 - f64::EPSILON, &codex, 6));
    assert_eq!(middle, [200.0, 400.0, 800.0, 1600.0, 3200.0, 6400.0]);
    for (n, tried) in published.into_iter().enumerate() {
        assert!((lowest[n]..=highest[n]).contains(&tried), "retry {n}: {tried}");
        assert_eq!((lowest[n], highest[n].round()), (middle[n] * 0.9, (middle[n] * 1.1).round()));
    }
}

#[test]
fn downward_takes_off_up_to_a_quarter() {
    let anthropic = Backoff::downward(Duration::from_millis(500), Duration::from_secs(8));
    assert_eq!(drawing(0.0, &anthropic, 6), [500.0, 1000.0, 2000.0, 4000.0, 8000.0, 8000.0]);
    assert_eq!(drawing(0.5, &anthropic, 6), [437.5, 875.0, 1750.0, 3500.0, 7000.0, 7000.0]);
    assert_eq!(drawing(1.0, &anthropic, 6), [375.0, 750.0, 1500.0, 3000.0, 6000.0, 6000.0]);
}

#[test]
fn none_never_waits() {
    assert!(Backoff::none().delays(1).take(100).all(|delay| delay.is_zero()));
}

#[test]
fn the_default_is_full_jitter_from_100_milliseconds_to_20_seconds() {
    let full = Backoff::full(Duration::from_millis(100), Duration::from_secs(20));
    assert!(Backoff::default().delays(1).take(20).eq(full.delays(1).take(20)));
}

/// Both ends are nearly reached, nothing lies outside, and the mean is that of a uniform draw: in milliseconds, of
/// retry n = 2, and of retry n = 7, where the cap cuts.
#[test]
fn each_formula_draws_uniformly_from_its_whole_range() {
    let ranges = [
        (Backoff::exponential(BASE, CAP), (400.0, 400.0), (2000.0, 2000.0)),
        (Backoff::proportional(BASE, CAP), (360.0, 440.0), (1800.0, 2000.0)),
        (Backoff::downward(BASE, CAP), (300.0, 400.0), (1500.0, 2000.0)),
        (Backoff::equal(BASE, CAP), (200.0, 400.0), (1000.0, 2000.0)),
        (Backoff::full(BASE, CAP), (0.0, 400.0), (0.0, 2000.0)),
        (Backoff::decorrelated(Duration::from_millis(5), CAP), (5.0, 1200.0), (5.0, 1200.0)),
    ];
    let mut random = fastrand::Rng::with_seed(1);
    for (backoff, early, late) in ranges {
        let formula = formula_of(&backoff);
        for (n, (low, high)) in [(2, early), (7, late)] {
            let mut delay = || formula.delay(n, Duration::from_millis(400), random.f64()).as_secs_f64() * 1e3;
            let draws: Vec<f64> = (0..100_000).map(|_| delay()).collect();
            let near = (high - low) / 1000.0;
            assert!(draws.iter().all(|draw| (low..=high).contains(draw)), "{formula:?}, n = {n}");
            assert!(draws.iter().any(|draw| *draw <= low + near), "{formula:?}, n = {n}: never low");
            assert!(draws.iter().any(|draw| *draw >= high - near), "{formula:?}, n = {n}: never high");
            let mean = draws.iter().sum::<f64>() / 100_000.0;
            // Five standard errors.
            let tolerance = 5.0 * (high - low) / (12.0 * 100_000.0_f64).sqrt() + 1e-6;
            assert!((mean - f64::midpoint(low, high)).abs() <= tolerance, "{formula:?}, n = {n}: mean {mean}");
        }
    }
}

/// K1.
#[test]
fn no_attempt_base_or_cap_panics_wraps_or_passes_the_cap() {
    let durations = [Duration::ZERO, NANOSECOND, BASE, CAP, HOUR, Duration::from_nanos(u64::MAX), Duration::MAX];
    for strategy in STRATEGIES {
        for base in durations {
            for cap in durations {
                let formula = formula_of(&strategy(base, cap));
                for n in [0, 1, 31, 32, 63, 64, 100, 127, 128, 1000, u32::MAX] {
                    for u in [0.0, 0.5, 1.0_f64.next_down()] {
                        let delay = formula.delay(n, base.min(cap), u);
                        assert!(delay <= cap, "{formula:?}, n = {n}, u = {u}: {delay:?}");
                    }
                }
            }
        }
    }
}

/// K1.
#[test]
fn the_delay_before_the_last_retries_is_the_cap() {
    for n in [64, 100, 1000, u32::MAX] {
        for cap in [CAP, Duration::MAX] {
            let base = Duration::from_secs(1);
            assert_eq!(formula_of(&Backoff::exponential(base, cap)).delay(n, base, 0.0), cap);
        }
    }
}

/// K1.
#[test]
fn the_stream_goes_on_after_many_retries() {
    for strategy in STRATEGIES {
        assert!(strategy(BASE, CAP).delays(1).take(10_000).all(|delay| delay <= CAP));
    }
}

#[test]
fn a_nanosecond_grows_past_32_bits_to_an_hour() {
    let formula = formula_of(&Backoff::exponential(NANOSECOND, HOUR));
    for n in [31, 32, 33, 40, 41] {
        assert_eq!(formula.delay(n, NANOSECOND, 0.0), Duration::from_nanos(1 << n));
    }
    assert_eq!(formula.delay(42, NANOSECOND, 0.0), HOUR);
}

/// Cutting the draws at the cap would make half of them, and later all, the cap itself.
#[test]
fn requests_do_not_meet_at_the_cap() {
    for strategy in [Backoff::proportional, Backoff::downward, Backoff::equal, Backoff::full] {
        let met = (0..1000).filter(|seed| strategy(BASE, CAP).delays(*seed).nth(10) == Some(CAP)).count();
        assert_eq!(met, 0, "{:?}", strategy(BASE, CAP));
    }
}

/// K2.
#[test]
fn requests_that_fail_together_wait_differently() {
    let backoff = Backoff::default();
    let delays: HashSet<Duration> = (0..1000).map(|seed| first(&backoff, seed)).collect();
    assert_eq!(delays.len(), 1000);
}

/// K2: the first delays of neighbouring seeds are uniform, and so are the second ones, whatever the first.
#[test]
fn neighbouring_seeds_give_independent_streams() {
    let full = Backoff::full(Duration::from_secs(1), Duration::from_secs(1));
    let mut tenths = [[0_u32; 10]; 10];
    let mut neighbours = [[0_u32; 10]; 10];
    let tenth = |delay: Duration| (delay.as_secs_f64() * 10.0) as usize;
    for seed in 0..100_000 {
        let mut delays = full.delays(seed);
        let drawn = delays.next().map(tenth).expect("no formula ends");
        tenths[drawn][delays.next().map(tenth).expect("no formula ends")] += 1;
        neighbours[drawn][tenth(first(&full, seed + 1))] += 1;
    }
    // 1,000 are expected in each cell; 160 are five standard deviations.
    assert!(tenths.as_flattened().iter().all(|count| count.abs_diff(1000) < 160), "{tenths:?}");
    assert!(neighbours.as_flattened().iter().all(|count| count.abs_diff(1000) < 160), "{neighbours:?}");
}

/// K3.
#[test]
fn jitter_is_finer_than_seconds_and_milliseconds() {
    let second = Duration::from_secs(1);
    for strategy in [Backoff::proportional, Backoff::downward, Backoff::equal, Backoff::full, Backoff::decorrelated] {
        let delays: Vec<Duration> = (0..1000).map(|seed| first(&strategy(second, HOUR), seed)).collect();
        let milliseconds: HashSet<u128> = delays.iter().map(Duration::as_millis).collect();
        assert!(milliseconds.len() > 150, "{:?}: {}", strategy(second, HOUR), milliseconds.len());
        assert!(delays.iter().filter(|delay| delay.subsec_nanos() % 1_000_000 != 0).count() > 990);
    }
}

#[test]
fn the_same_seed_gives_the_same_delays() {
    for strategy in STRATEGIES {
        let backoff = strategy(BASE, CAP);
        assert!(backoff.delays(7).take(100).eq(backoff.clone().delays(7).take(100)));
    }
}

#[test]
fn a_restart_begins_with_the_first_delay_again() {
    let mut delays = Backoff::exponential(BASE, CAP).delays(1);
    assert_eq!(delays.by_ref().take(6).last(), Some(CAP));
    delays.restart();
    assert_eq!(delays.next(), Some(BASE));

    let mut delays = Backoff::decorrelated(BASE, HOUR).delays(1);
    delays.by_ref().take(50).for_each(drop);
    delays.restart();
    assert!(delays.next() < Some(3 * BASE));
}

#[test]
fn a_restart_goes_on_in_the_same_random_stream() {
    let full = Backoff::full(BASE, BASE);
    let straight: Vec<Duration> = full.delays(1).take(6).collect();
    let mut delays = full.delays(1);
    let mut restarted: Vec<Duration> = delays.by_ref().take(3).collect();
    delays.restart();
    restarted.extend(delays.take(3));
    assert_eq!(restarted, straight);
}

#[test]
fn a_draw_of_ours_comes_from_the_stream_of_the_delays() {
    let second = Duration::from_secs(1);
    let full = Backoff::full(second, second);
    let straight: Vec<Duration> = full.delays(1).take(3).collect();
    let mut delays = full.delays(1);
    assert_eq!(delays.next(), Some(straight[0]));
    assert_eq!(second.mul_f64(delays.unit()).as_micros(), straight[1].as_micros());
    assert_eq!(delays.next(), Some(straight[2]));
}

#[test]
fn a_custom_iterator_that_ends_stays_ended() {
    let twice = Backoff::custom(|_| {
        let mut calls = 0;
        std::iter::from_fn(move || {
            calls += 1;
            (calls != 3).then_some(BASE)
        })
    });
    assert_eq!(twice.delays(1).by_ref().take(9).count(), 2);
    let mut delays = twice.delays(1);
    delays.by_ref().for_each(drop);
    assert_eq!(delays.next(), None);
}

#[test]
fn a_custom_factory_is_called_again_by_a_restart_with_another_seed() {
    let seeds = Backoff::custom(|seed| std::iter::once(Duration::from_nanos(seed)));
    let mut delays = seeds.delays(1);
    let (first, end) = (delays.next(), delays.next());
    delays.restart();
    let second = delays.next();
    assert_eq!(end, None);
    assert!(first.is_some() && second.is_some() && first != second);
}

/// K2.
#[test]
fn a_custom_factory_gets_the_same_seed_for_the_same_request_and_another_for_its_neighbour() {
    let seeds = Backoff::custom(|seed| std::iter::once(Duration::from_nanos(seed)));
    assert_eq!(seeds.delays(1).next(), seeds.delays(1).next());
    assert_ne!(seeds.delays(1).next(), seeds.delays(2).next());
}

#[test]
fn delays_are_small_and_can_be_sent() {
    fn sent<T: Send + 'static>(_: &T) {}
    sent(&Backoff::default().delays(1));
    assert!(size_of::<Delays>() <= 72);
}

#[test]
fn debug_output_names_the_strategy() {
    let full = format!("{:?}", Backoff::default());
    assert!(full.contains("Full") && full.contains("100ms") && full.contains("20s"), "{full}");
    assert_eq!(format!("{:?}", Backoff::custom(|_| std::iter::empty())), "Backoff(Custom)");
}
