//! Nothing is lost and nothing is counted twice.

use std::sync::LazyLock;

use lab::overload::{Abandoned, Attempts, Outcome, Policy, Requests, Settings, side_by_side, simulate};

use crate::settings;

static OUTCOMES: LazyLock<Vec<(Policy, Outcome)>> = LazyLock::new(|| {
    let served = Policy::ALL.map(|policy| (settings(7), policy));
    let dropped = Settings { abandoned: Abandoned::Dropped, ..settings(7) };
    let runs: Vec<_> = served.into_iter().chain([(dropped, Policy::FullJitter)]).collect();
    runs.iter().map(|(_, policy)| *policy).zip(side_by_side(&runs)).collect()
});

#[test]
fn every_request_and_every_attempt_ends_once() {
    for (policy, outcome) in &*OUTCOMES {
        let Requests { arrived, answered_first_try, answered_after_retry, out_of_attempts, budget_empty } =
            outcome.requests;
        assert_eq!(arrived, answered_first_try + answered_after_retry + out_of_attempts + budget_empty, "{policy:?}");
        let Attempts { sent, refused, answered, failed, served_for_nobody, dropped, left } = outcome.attempts;
        assert_eq!(sent, refused + answered + failed + served_for_nobody + dropped + left, "{policy:?}");
        // Each answer that reached a client ended its request.
        assert_eq!(answered, answered_first_try + answered_after_retry, "{policy:?}");
    }
}

#[test]
fn each_policy_sends_no_more_attempts_than_it_may() {
    for (policy, Outcome { attempts, requests, .. }) in &*OUTCOMES {
        let most = match policy {
            Policy::NoRetry => requests.arrived,
            Policy::Exponential | Policy::FullJitter => requests.arrived * u64::from(Settings::DEFAULT.attempts),
            // 500 tokens, 5 at least for each retry that failed; what an answer gives back pays for one more.
            Policy::Budgeted => {
                requests.arrived + (500 + requests.answered_first_try) / 5 + requests.answered_after_retry
            }
        };
        assert!((requests.arrived..=most).contains(&attempts.sent), "{policy:?}: {} of {most}", attempts.sent);
    }
}

#[test]
fn the_seconds_add_up_to_what_was_watched() {
    let settings = settings(7);
    let outcome = simulate(&settings, Policy::NoRetry);
    assert_eq!(outcome.seconds.len(), settings.watched_s() as usize);
    let arrived: u64 = outcome.seconds.iter().map(|second| second.arrived).sum();
    assert!(arrived <= outcome.requests.arrived);
    assert!(outcome.seconds.iter().all(|second| second.answered_of_these <= second.arrived));
    assert!(outcome.seconds.iter().all(|second| second.queue <= u64::from(settings.queue)));
    let mean = arrived as f64 / f64::from(settings.watched_s());
    // Five standard deviations of a Poisson mean over 100 s.
    assert!((mean - 75.0).abs() < 5.0 * 0.75_f64.sqrt(), "{mean} a second came in");
}

#[test]
fn the_same_seed_is_the_same_outcome_and_another_one_another() {
    let play = |seed| simulate(&settings(seed), Policy::Budgeted);
    let first = play(7);
    assert_ne!(first, play(8));
    assert_eq!(first, play(7));
    // As what another test has played, beside others on another thread.
    let (_, budgeted) = OUTCOMES.iter().find(|(policy, _)| *policy == Policy::Budgeted).unwrap();
    assert_eq!(&first, budgeted);
}
