use std::{sync::Barrier, thread, time::Duration};

use proptest::prelude::*;

use super::*;

mod laws;

const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

/// One retry that is sent; panics if the budget has none.
fn retry(budget: &Budget, cause: Cause) -> Spent {
    granted(budget, cause).expect("a retry is granted").spend()
}

fn granted(budget: &Budget, cause: Cause) -> Option<Permit> {
    budget.withdraw(cause, Instant::now())
}

fn refused(budget: &Budget) -> bool {
    granted(budget, Cause::Other).is_none()
}

/// Sends retries that all fail, until the budget refuses one.
fn empty(budget: &Budget, now: Instant) -> usize {
    (0..1000).take_while(|_| budget.withdraw(Cause::Other, now).map(Permit::spend).is_some()).count()
}

/// K16.
#[test]
fn a_success_after_retries_refunds_the_last_cost() {
    let budget = Budget::default();
    retry(&budget, Cause::Other);
    assert_eq!(budget.available(), 495.0);
    let last = retry(&budget, Cause::Other);
    assert_eq!(budget.available(), 490.0);
    budget.succeeded(Some(last));
    assert_eq!(budget.available(), 495.0);
}

#[test]
fn a_success_at_the_first_try_earns_one() {
    let budget = Budget::default();
    retry(&budget, Cause::Other);
    budget.succeeded(None);
    assert_eq!(budget.available(), 496.0);
}

#[test]
fn a_retry_after_a_timeout_costs_twice_as_much_and_is_refunded_as_much() {
    let budget = Budget::aws_v2_0();
    retry(&budget, Cause::Timeout);
    assert_eq!(budget.available(), 490.0);
    retry(&budget, Cause::Throttled);
    assert_eq!(budget.available(), 485.0);
    let last = retry(&budget, Cause::Timeout);
    assert_eq!(budget.available(), 475.0);
    budget.succeeded(Some(last));
    assert_eq!(budget.available(), 485.0);
}

#[test]
fn a_retry_costs_14_in_version_2_1_and_5_when_throttled() {
    let budget = Budget::aws_v2_1();
    retry(&budget, Cause::Other);
    assert_eq!(budget.available(), 486.0);
    let last = retry(&budget, Cause::Timeout);
    assert_eq!(budget.available(), 472.0);
    budget.succeeded(Some(last));
    assert_eq!(budget.available(), 486.0);
    let last = retry(&budget, Cause::Throttled);
    assert_eq!(budget.available(), 481.0);
    budget.succeeded(Some(last));
    assert_eq!(budget.available(), 486.0);
}

#[test]
fn a_failure_takes_nothing_from_an_aws_budget() {
    let budget = Budget::aws_v2_0();
    budget.failed();
    assert_eq!(budget.available(), 500.0);
}

/// C23.
#[test]
fn a_grpc_budget_grants_no_retry_after_five_failures_and_recovers_by_successes() {
    let budget = Budget::grpc();
    for failures in 1..5 {
        budget.failed();
        assert!(!refused(&budget), "{failures} failures");
    }
    budget.failed();
    assert_eq!(budget.available(), 5.0);
    assert!(refused(&budget));
    budget.succeeded(None);
    assert_eq!(budget.available(), 5.1);
    assert!(!refused(&budget));
}

/// C23.
#[test]
fn a_grpc_budget_that_is_empty_needs_51_successes() {
    let budget = Budget::grpc();
    (0..1000).for_each(|_| budget.failed());
    assert_eq!(budget.available(), 0.0);
    for successes in 1..=50 {
        budget.succeeded(None);
        assert!(refused(&budget), "{successes} successes");
    }
    budget.succeeded(None);
    assert!(!refused(&budget));
}

#[test]
fn a_grpc_retry_is_free_and_its_success_earns_what_every_success_earns() {
    let budget = Budget::grpc();
    budget.failed();
    let last = retry(&budget, Cause::Timeout);
    assert_eq!(budget.available(), 9.0);
    budget.succeeded(Some(last));
    assert_eq!(budget.available(), 9.1);
}

#[test]
fn a_tenth_ten_times_is_one() {
    let budget = Budget::grpc();
    (0..3).for_each(|_| budget.failed());
    (0..10).for_each(|_| budget.succeeded(None));
    assert_eq!(budget.available(), 8.0);
}

/// A6: further decimals are ignored.
#[test]
fn a_token_ratio_counts_to_three_decimals() {
    for (ratio, earned) in [(0.29, 0.29), (0.5466, 0.546), (0.001, 0.001), (0.0009, 0.0), (-1.0, 0.0), (f64::NAN, 0.0)]
    {
        let budget = Budget::grpc_with(1, ratio);
        budget.failed();
        budget.succeeded(None);
        assert_eq!(budget.available(), earned, "{ratio}");
    }
}

#[test]
fn a_reward_beyond_all_bounds_fills_the_bucket_and_no_more() {
    let budget = Budget::new(u32::MAX).success_reward(f64::INFINITY).refill_per_second(f64::MAX);
    retry(&budget, Cause::Other);
    budget.succeeded(None);
    assert_eq!(budget.available(), f64::from(u32::MAX));
}

/// K15.
#[test]
fn sixteen_threads_take_exactly_what_there_is() {
    for round in 0..200 {
        let budget = Budget::new(100).retry_cost(1);
        let start = Barrier::new(16);
        let taken: usize = thread::scope(|scope| {
            let takers: Vec<_> = (0..16)
                .map(|_| {
                    scope.spawn(|| {
                        start.wait();
                        empty(&budget.clone(), Instant::now())
                    })
                })
                .collect();
            takers.into_iter().map(|taker| taker.join().expect("no panic")).sum()
        });
        assert_eq!((taken, budget.available()), (100, 0.0), "round {round}");
    }
}

/// K15, K17.
#[test]
fn sixteen_threads_that_send_nothing_leave_the_bucket_full() {
    let budget = Budget::new(100).retry_cost(1);
    thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| (0..1000).for_each(|_| drop(granted(&budget, Cause::Other))));
        }
    });
    assert_eq!(budget.available(), 100.0);
}

/// K16.
#[test]
fn a_budget_empties_when_all_fail_and_refills_to_the_brim_when_all_succeed() {
    let budget = Budget::default();
    assert_eq!(empty(&budget, Instant::now()), 100);
    assert_eq!(budget.available(), 0.0);
    for _ in 0..499 {
        budget.succeeded(None);
    }
    assert_eq!(budget.available(), 499.0);
    for _ in 0..1000 {
        budget.succeeded(None);
    }
    assert_eq!(budget.available(), 500.0);
}

#[test]
fn what_is_left_buys_what_it_can_pay() {
    let budget = Budget::new(9);
    assert!(granted(&budget, Cause::Timeout).is_none());
    retry(&budget, Cause::Other);
    assert!(refused(&budget));
    assert_eq!(budget.available(), 4.0);
}

#[test]
fn a_budget_of_nothing_grants_nothing() {
    assert!(refused(&Budget::new(0)));
    assert!(refused(&Budget::grpc_with(0, 1.0)));
}

/// K17.
#[test]
fn a_permit_that_is_dropped_is_refunded() {
    let budget = Budget::default();
    let permit = granted(&budget, Cause::Timeout);
    assert_eq!(budget.available(), 490.0);
    drop(permit);
    assert_eq!(budget.available(), 500.0);
}

/// K17.
#[test]
fn a_permit_that_is_spent_is_not_refunded() {
    let budget = Budget::default();
    let _spent = retry(&budget, Cause::Timeout);
    assert_eq!(budget.available(), 490.0);
}

#[test]
fn clones_share_the_bucket_and_not_what_is_set() {
    let budget = Budget::default();
    let dear = budget.clone().retry_cost(100);
    retry(&dear, Cause::Other);
    retry(&budget, Cause::Other);
    assert_eq!((budget.available(), dear.available()), (395.0, 395.0));
}

#[test]
fn time_refills_to_the_thousandth_and_not_above_the_brim() {
    let budget = Budget::new(10).retry_cost(10).refill_per_second(0.3);
    let start = Instant::now();
    assert_eq!(budget.available_at(start), 10.0);
    budget.withdraw(Cause::Other, start).expect("a full bucket").spend();
    // Each step is too short for a thousandth.
    for millisecond in 1..=10_000 {
        budget.available_at(start + Duration::from_millis(millisecond));
    }
    assert_eq!(budget.available_at(start + Duration::from_secs(10)), 3.0);
    assert_eq!(budget.available_at(start + Duration::from_secs(60)), 10.0);
    budget.withdraw(Cause::Other, start + Duration::from_secs(60)).expect("a full bucket").spend();
    assert_eq!(budget.available_at(start + Duration::from_secs(61)), 0.3);
}

#[test]
fn a_time_from_before_the_last_one_refills_nothing_twice() {
    let budget = Budget::new(10).retry_cost(10).refill_per_second(1.0);
    let start = Instant::now();
    let later = start + Duration::from_secs(5);
    budget.withdraw(Cause::Other, start).expect("a full bucket").spend();
    assert_eq!(budget.available_at(later), 5.0);
    assert_eq!(budget.available_at(start), 5.0);
    assert_eq!(budget.available_at(later), 5.0);
}

/// K23: a bucket that steps through the time it was idle would be at it for hours.
#[test]
fn the_next_take_after_a_year_or_a_thousand_is_one_step() {
    for years in [1, 1000] {
        let budget = Budget::default().refill_per_second(f64::MAX);
        let start = Instant::now();
        empty(&budget, start);
        let permit = budget.withdraw(Cause::Other, start + YEAR * years);
        assert!(permit.is_some() && start.elapsed() < Duration::from_secs(5));
        assert_eq!(budget.available_at(start + YEAR * years), 495.0);
    }
}

/// K23: with a rate at which the year counts.
#[test]
fn a_slow_refill_counts_the_whole_idle_year() {
    let budget = Budget::new(100_000).retry_cost(100_000).refill_per_second(0.001);
    let start = Instant::now();
    budget.withdraw(Cause::Other, start).expect("a full bucket").spend();
    assert_eq!(budget.available_at(start + YEAR), 31_536.0);
}
