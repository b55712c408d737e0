//! The answer is lost, and the key is stable.

use lab::{
    faults::{Fault, Faults},
    harness::FinalResult,
};

use crate::tracker::{Tracker, ends, filed, first_hand, replay};

/// Article: `test_lost_response_retry_with_stable_key_replays_first_result`. Not only the rows are counted: a server
/// that files no second report can still tell of an id that is not there.
#[tokio::test]
async fn a_stable_key_replays_the_first_result_after_a_lost_answer() {
    let tracker = Tracker::with_faults(Faults::first([Fault::LoseAnswer])).await;

    let submission = tracker.submit().await;

    assert_eq!(ends(&submission), [first_hand("transport"), replay("201")]);
    let keys: Vec<_> = submission.attempts.iter().map(|attempt| attempt.key.as_deref()).collect();
    assert_eq!(keys, [Some("run-042:toolu_01"); 2]);
    assert_eq!(submission.result, FinalResult::Created { report_id: 1 });
    assert_eq!(tracker.reports().await, [filed(1)]);
}

/// Article: `out.body == {"report_id": 1}`.
#[tokio::test]
async fn the_replay_is_the_body_of_the_one_report() {
    let tracker = Tracker::with_faults(Faults::first([Fault::LoseAnswer])).await;
    tracker.submit().await;

    let again = tracker.post_once().await;

    assert_eq!((again.text(), again.replayed()), (r#"{"report_id":1}"#, Some("true")));
    assert_eq!(again.header("location"), Some("/reports/1"));
}

/// Article: "a test has to be able to go red itself": were the answer not lost, the first attempt would do.
#[tokio::test]
async fn without_the_fault_there_is_nothing_to_replay() {
    let tracker = Tracker::start().await;

    assert_eq!(ends(&tracker.submit().await), [first_hand("201")]);
}
