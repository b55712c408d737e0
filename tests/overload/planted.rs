//! Mistakes that are planted, to see that the simulator sees them.

use lab::overload::{Abandoned, Policy, Recovery, Settings, simulate, simulate_with};
use tower_idempotency::retry::Budget;

use crate::{has_recovered, settings};

#[test]
fn a_budget_that_is_asked_and_never_spent_keeps_it_down() {
    let settings = settings(1);
    let unspent = || Budget::default().retry_cost(0).timeout_cost(0).throttled_cost(0);
    let outcome = simulate_with(&settings, || Policy::Budgeted.layer(&settings).budget(unspent()));
    assert_eq!(outcome.recovery, Recovery::NotWithinSeconds(45));
}

#[test]
fn a_server_that_looks_whether_its_client_is_there_comes_back_even_so() {
    let outcome = simulate(&Settings { abandoned: Abandoned::Dropped, ..settings(1) }, Policy::FullJitter);
    assert!(has_recovered(outcome.recovery), "{:?}", outcome.recovery);
    assert!(outcome.attempts.dropped > 0);
}

#[test]
fn a_queue_that_is_done_within_the_clients_patience_comes_back_even_so() {
    let outcome = simulate(&Settings { queue: 50, ..settings(1) }, Policy::FullJitter);
    assert!(has_recovered(outcome.recovery), "{:?}", outcome.recovery);
}
