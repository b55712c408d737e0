//! What each source of keys recognises, and what it does not: the rows of the first article's table.

use lab::{
    faults::{Fault, Faults},
    harness::{FinalResult, KeySource},
};

use crate::tracker::{Tracker, call, created, ends, keys, replays, report, titled};

fn lost_answer() -> Faults {
    Faults::first([Fault::LoseAnswer])
}

/// Seen red: the fault is one that makes two of one.
#[tokio::test]
async fn without_a_key_a_lost_answer_makes_two_reports() {
    let tracker = Tracker::naive(lost_answer()).await;

    let submission = tracker.submit(KeySource::None).await;

    assert_eq!(ends(&submission), ["transport", "201"]);
    assert_eq!(keys(&submission), [None, None]);
    assert_eq!(submission.result, created(2));
    assert_eq!(tracker.reports().await, 2);
}

#[tokio::test]
async fn a_new_key_for_each_attempt_makes_two_reports_of_a_lost_answer() {
    let tracker = Tracker::start(lost_answer()).await;

    let submission = tracker.submit(KeySource::PerAttempt).await;

    assert_eq!(ends(&submission), ["transport", "201"]);
    assert_eq!(replays(&submission), [false, false]);
    let [Some(first), Some(second)] = keys(&submission)[..] else { panic!("{submission:?}") };
    assert_ne!(first, second);
    assert_eq!(submission.key, None);
    assert_eq!(tracker.reports().await, 2);
}

#[tokio::test]
async fn a_new_key_for_each_attempt_is_good_enough_before_anything_was_written() {
    let tracker = Tracker::start(Faults::first([Fault::ResetBefore])).await;

    let submission = tracker.submit(KeySource::PerAttempt).await;

    assert_eq!(ends(&submission), ["transport", "201"]);
    assert_eq!(tracker.reports().await, 1);
}

#[tokio::test]
async fn the_key_of_the_tool_call_makes_one_report_of_a_lost_answer() {
    let tracker = Tracker::start(lost_answer()).await;

    let submission = tracker.submit(KeySource::ToolCall).await;

    assert_eq!(ends(&submission), ["transport", "201"]);
    assert_eq!(replays(&submission), [false, true]);
    assert_eq!(keys(&submission), [Some("run-042:toolu_01"); 2]);
    assert_eq!(submission.key.as_deref(), Some("run-042:toolu_01"));
    assert_eq!(submission.result, created(1));
    assert_eq!(tracker.reports().await, 1);
}

#[tokio::test]
async fn the_key_of_the_tool_call_does_not_know_the_call_that_the_model_makes_again() {
    let tracker = Tracker::start(Faults::none()).await;
    let harness = tracker.harness(KeySource::ToolCall);

    let first = harness.submit(&report(), &call("toolu_01")).await;
    let again = harness.submit(&report(), &call("toolu_02")).await;

    assert_eq!((first.result, again.result), (created(1), created(2)));
    assert_eq!(tracker.reports().await, 2);
}

#[tokio::test]
async fn the_business_key_makes_one_report_of_a_lost_answer() {
    let tracker = Tracker::start(lost_answer()).await;

    let submission = tracker.submit(KeySource::Business).await;

    assert_eq!(replays(&submission), [false, true]);
    assert!(submission.key.as_deref().unwrap().starts_with("content-v1-"));
    assert_eq!(keys(&submission), [submission.key.as_deref(); 2]);
    assert_eq!(tracker.reports().await, 1);
}

#[tokio::test]
async fn the_business_key_knows_the_report_that_the_model_submits_again() {
    let tracker = Tracker::start(Faults::none()).await;
    let harness = tracker.harness(KeySource::Business);

    let first = harness.submit(&report(), &call("toolu_01")).await;
    let again = harness.submit(&report(), &call("toolu_02")).await;

    assert_eq!((&first.result, &again.result), (&created(1), &created(1)));
    assert_eq!(replays(&again), [true]);
    assert_eq!(tracker.reports().await, 1);
}

#[tokio::test]
async fn the_business_key_does_not_know_a_reworded_title() {
    let tracker = Tracker::start(Faults::none()).await;
    let harness = tracker.harness(KeySource::Business);

    harness.submit(&report(), &call("toolu_01")).await;
    harness.submit(&titled("The total is wrong"), &call("toolu_02")).await;

    assert_eq!(tracker.reports().await, 2);
}

/// Its key is the same and its content is not: the server refuses what it cannot replay.
#[tokio::test]
async fn the_business_key_knows_a_title_in_other_case_and_the_server_refuses_it() {
    let tracker = Tracker::start(Faults::none()).await;
    let harness = tracker.harness(KeySource::Business);

    let first = harness.submit(&report(), &call("toolu_01")).await;
    let again = harness.submit(&titled(" total  is WRONG"), &call("toolu_02")).await;

    assert_eq!(first.key, again.key);
    assert!(matches!(again.result, FinalResult::Refused { status: 422, .. }), "{again:?}");
    assert_eq!(tracker.reports().await, 1);
}

/// The article's: the run, the module and the title.
#[test]
fn the_business_key_is_made_of_run_module_and_title_only() {
    let key = |report| KeySource::Business.key(&report, &call("toolu_01"));
    let mut other_steps = report();
    other_steps.steps.push("pay".to_owned());
    let mut other_module = report();
    other_module.module.push_str("-2");
    let mut other_run = report();
    other_run.run_id.push_str("-2");

    assert_eq!(key(other_steps), key(report()));
    assert_ne!(key(other_module), key(report()));
    assert_ne!(key(other_run), key(report()));
    assert_ne!(key(titled("Total is negative")), key(report()));
}
