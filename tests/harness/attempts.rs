//! The list of attempts.

use lab::{
    faults::{Fault, Faults},
    harness::{AttemptEnd, KeySource},
};

use crate::tracker::{Tracker, call, created, report, titled};

#[tokio::test]
async fn attempts_are_numbered_and_in_their_order() {
    let tracker = Tracker::start(Faults::first([Fault::ResetBefore, Fault::LoseAnswer])).await;

    let submission = tracker.submit(KeySource::ToolCall).await;

    let numbers: Vec<_> = submission.attempts.iter().map(|attempt| attempt.number).collect();
    assert_eq!(numbers, [1, 2, 3]);
    assert!(submission.attempts.windows(2).all(|two| two[0].after + two[0].took <= two[1].after), "{submission:?}");
}

#[tokio::test]
async fn an_attempt_without_an_answer_says_why() {
    let tracker = Tracker::start(Faults::first([Fault::LoseAnswer, Fault::CutAnswer])).await;

    let submission = tracker.submit(KeySource::ToolCall).await;

    let why = |number: usize| match &submission.attempts[number].end {
        AttemptEnd::Transport { error } => error.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(why(0), "client error (SendRequest): connection closed before message completed");
    assert!(why(1).starts_with("the response with status 201 was cut in its body: "), "{}", why(1));
}

#[tokio::test]
async fn submissions_that_run_at_the_same_time_have_lists_of_their_own() {
    let tracker = Tracker::start(Faults::none()).await;
    let harness = tracker.harness(KeySource::ToolCall);
    let (one, other) = (report(), titled("Total is negative"));

    let (one_call, other_call) = (call("toolu_01"), call("toolu_02"));
    let (one, other) = tokio::join!(harness.submit(&one, &one_call), harness.submit(&other, &other_call));

    for (submission, key) in [(&one, "run-042:toolu_01"), (&other, "run-042:toolu_02")] {
        assert_eq!(submission.attempts.len(), 1);
        assert_eq!(submission.attempts[0].key.as_deref(), Some(key));
    }
    assert_eq!(tracker.reports().await, 2);
}

/// Two workers with one tool call: whoever comes second is refused or gets the answer of the first.
#[tokio::test]
async fn two_at_the_same_time_with_one_key_get_one_report() {
    let tracker = Tracker::start(Faults::none()).await;
    let harness = tracker.harness(KeySource::ToolCall);
    let (report, call) = (report(), call("toolu_01"));

    let (one, other) = tokio::join!(harness.submit(&report, &call), harness.submit(&report, &call));

    assert_eq!((one.result, other.result), (created(1), created(1)));
    assert_eq!(tracker.reports().await, 1);
}
