//! How the outage ends with each policy.

use std::sync::LazyLock;

use lab::overload::{Outcome, Policy, Recovery, Settings, side_by_side, simulate};

use crate::{has_recovered, settings};

const SEEDS: [u64; 3] = [1, 2, 3];

/// Each policy with each seed.
static OUTCOMES: LazyLock<Vec<(Policy, Outcome)>> = LazyLock::new(|| {
    let runs: Vec<_> = SEEDS.iter().flat_map(|&seed| Policy::ALL.map(|policy| (settings(seed), policy))).collect();
    runs.iter().map(|(_, policy)| *policy).zip(side_by_side(&runs)).collect()
});

fn outcomes(policy: Policy) -> impl Iterator<Item = &'static Outcome> {
    OUTCOMES.iter().filter(move |(of, _)| *of == policy).map(|(_, outcome)| outcome)
}

fn recoveries(policy: Policy) -> Vec<Recovery> {
    outcomes(policy).map(|outcome| outcome.recovery).collect()
}

#[test]
fn without_retries_it_comes_back() {
    let recoveries = recoveries(Policy::NoRetry);
    assert!(recoveries.iter().all(|recovery| has_recovered(*recovery)), "{recoveries:?}");
}

#[test]
fn retries_without_a_budget_keep_it_down() {
    assert_eq!(recoveries(Policy::Exponential), [Recovery::NotWithinSeconds(45); SEEDS.len()]);
}

#[test]
fn jitter_alone_does_not_help() {
    assert_eq!(recoveries(Policy::FullJitter), [Recovery::NotWithinSeconds(45); SEEDS.len()]);
}

#[test]
fn with_the_default_budget_it_comes_back_about_as_soon_as_without_retries() {
    let without = recoveries(Policy::NoRetry);
    let with = recoveries(Policy::Budgeted);
    for (without, with) in without.into_iter().zip(with) {
        let (Recovery::AfterSeconds(without), Recovery::AfterSeconds(with)) = (without, with) else {
            panic!("not in both: {without:?}, {with:?}");
        };
        assert!(without.abs_diff(with) <= 5, "{without} s without retries, {with} s with a budget");
    }
}

#[test]
fn while_it_is_down_the_server_is_sent_more_than_it_can_do_under_a_load_that_it_could() {
    let settings = settings(1);
    for outcome in outcomes(Policy::FullJitter) {
        let last = outcome.mean(75..85);
        assert_eq!(last.goodput, 0.0);
        assert!(last.attempts > 2.5 * settings.capacity(), "{last:?}");
    }
    assert!(settings.arrivals_per_second() < settings.capacity());
}

#[test]
fn a_load_that_is_served_even_when_each_request_is_four_attempts_comes_back_without_a_budget() {
    let outcome = simulate(&Settings { load: 20, ..settings(1) }, Policy::FullJitter);
    assert!(has_recovered(outcome.recovery), "{:?}", outcome.recovery);
}

#[test]
fn a_budget_lets_retries_do_what_they_are_for() {
    for (without, with) in outcomes(Policy::NoRetry).zip(outcomes(Policy::Budgeted)) {
        let (without, with) = (without.failed_percent(0..15), with.failed_percent(0..15));
        assert!(without > 0.3, "{without} % failed without retries");
        assert_eq!(with, 0.0, "with them");
    }
}

#[test]
fn each_of_many_clients_has_tokens_of_its_own_and_it_comes_back_all_the_same() {
    let extra = |clients| {
        let outcome = simulate(&Settings { clients, ..settings(1) }, Policy::Budgeted);
        assert!(has_recovered(outcome.recovery), "{clients} clients: {:?}", outcome.recovery);
        outcome.attempts.sent - outcome.requests.arrived
    };
    assert!(extra(10) > 3 * extra(1));
}
