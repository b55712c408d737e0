//! What holds of every sequence: break-even rates, and the bounds of the bucket.

use super::*;

/// Runs requests of three attempts whose failures are independent, from the middle of a large bucket, and tells what
/// one of them has earned on average.
fn earned_a_request(budget: &Budget, cause: Cause, failure_rate: f64) -> f64 {
    const REQUESTS: u32 = 200_000;
    let mut random = fastrand::Rng::with_seed(1);
    let now = Instant::now();
    let before = budget.available_at(now);
    for _ in 0..REQUESTS {
        let mut last = None;
        for attempt in 1..=3 {
            if random.f64() >= failure_rate {
                budget.succeeded(last.take());
                break;
            }
            budget.failed();
            if attempt < 3 {
                last = Some(budget.withdraw(cause, now).expect("far from empty").spend());
            }
        }
    }
    (budget.available_at(now) - before) / f64::from(REQUESTS)
}

fn half_spent(budget: Budget) -> Budget {
    let half = budget.retry_cost(5_000_000);
    retry(&half, Cause::Other);
    half
}

/// The table of sustained failure rates, to one percentage point.
#[test]
fn a_bucket_drains_above_its_sustained_failure_rate_and_fills_below() {
    let large = || half_spent(Budget::new(10_000_000));
    let grpc = || {
        let budget = Budget::grpc_with(1_000_000, 0.1);
        (0..100_000).for_each(|_| budget.failed());
        budget
    };
    let table = [
        (large().retry_cost(5), Cause::Other, 0.321),
        (large().timeout_cost(10), Cause::Timeout, 0.246),
        (large().retry_cost(14), Cause::Other, 0.215),
        (grpc(), Cause::Other, 0.091),
    ];
    for (budget, cause, rate) in table {
        let (below, above) =
            (earned_a_request(&budget, cause, rate - 0.01), earned_a_request(&budget, cause, rate + 0.01));
        assert!(below > 0.0 && above < 0.0, "{rate}: {below} below, {above} above");
    }
}

#[derive(Clone, Copy, Debug)]
enum Verb {
    Withdraw(Cause),
    Spend,
    Refund,
    Fail,
    Succeed,
}

fn any_verb() -> impl Strategy<Value = Verb> {
    prop_oneof![
        prop_oneof![Just(Cause::Timeout), Just(Cause::Throttled), Just(Cause::Other)].prop_map(Verb::Withdraw),
        Just(Verb::Spend),
        Just(Verb::Refund),
        Just(Verb::Fail),
        Just(Verb::Succeed),
    ]
}

proptest! {
    #[test]
    fn no_token_is_lost_or_made(verbs in prop::collection::vec(any_verb(), 0..100)) {
        let budget = Budget::new(60).success_reward(0.0);
        let (mut held, mut spent) = (Vec::new(), 0);
        for verb in verbs {
            match verb {
                Verb::Withdraw(cause) => held.extend(granted(&budget, cause)),
                Verb::Spend => spent += held.pop().map_or(0, |permit| permit.spend().0),
                Verb::Refund => drop(held.pop()),
                Verb::Fail => budget.failed(),
                Verb::Succeed => budget.succeeded(None),
            }
            let out: Amount = held.iter().map(|permit| permit.cost).sum();
            prop_assert_eq!(lock(&budget.bucket).tokens + out + spent, tokens(60));
        }
    }

    #[test]
    fn the_bucket_never_holds_more_than_its_capacity(
        verbs in prop::collection::vec((any_verb(), 0..5000_u64), 0..100),
        rate in 0.0..5.0_f64,
        capacity in 0..30_u32,
        ratio in 0.0..3.0_f64,
    ) {
        let (aws, grpc) = (Budget::new(capacity).success_reward(ratio), Budget::grpc_with(capacity, ratio));
        for budget in [aws.refill_per_second(rate), grpc.refill_per_second(rate)] {
            let (mut now, mut held, mut spent) = (Instant::now(), Vec::new(), None);
            for (verb, milliseconds) in &verbs {
                now += Duration::from_millis(*milliseconds);
                match verb {
                    Verb::Withdraw(cause) => held.extend(budget.withdraw(*cause, now)),
                    Verb::Spend => spent = held.pop().map(Permit::spend),
                    Verb::Refund => drop(held.pop()),
                    Verb::Fail => budget.failed(),
                    Verb::Succeed => budget.succeeded(spent.take()),
                }
                prop_assert!(lock(&budget.bucket).tokens <= tokens(capacity));
            }
        }
    }
}
