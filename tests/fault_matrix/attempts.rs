//! What the harness meets in a scene, attempt by attempt.

use lab::{
    bug_tracker::Implementation,
    fault_matrix::{Cell, Row, Scene, cell},
    harness::{FinalResult, KeySource, Submission},
};

use crate::tracker::{Tracker, ends, replays};

/// `test_naive_server_duplicates_report_after_lost_response`: on a server known to be wrong, so that the fault is seen to
/// strike.
#[tokio::test]
async fn a_naive_server_duplicates_a_report_after_a_lost_response() {
    let tracker = Tracker::start(Implementation::Naive).await;
    tracker.lose_responses(1);

    let submission = tracker.submit(KeySource::None, 4).await;

    assert_eq!(ends(&submission), ["transport", "201"]);
    assert_eq!((submission.result, tracker.reports()), (created(2), 2));
}

/// `test_lost_response_retry_with_stable_key_replays_first_result`
#[tokio::test]
async fn a_retry_with_a_stable_key_replays_the_first_result_after_a_lost_response() {
    let tracker = Tracker::start(Implementation::KeyAtomic).await;
    tracker.lose_responses(1);

    let submission = tracker.submit(KeySource::ToolCall, 4).await;

    assert_eq!(ends(&submission), ["transport", "201"]);
    assert_eq!(replays(&submission), [false, true]);
    assert!(submission.attempts.iter().all(|attempt| attempt.key.as_deref() == Some("run-042:toolu_01")));
    assert_eq!((submission.result, tracker.reports()), (created(1), 1));
}

#[tokio::test]
async fn a_crash_between_two_commits_leaves_a_report_without_a_key_and_the_retry_files_another() {
    let tracker = Tracker::start(Implementation::KeySplit).await;
    tracker.crash(1);

    let first = tracker.submit(KeySource::ToolCall, 1).await;
    assert_eq!((ends(&first), tracker.reports(), tracker.split_keys()), (vec!["500".to_owned()], 1, 0));
    let second = tracker.submit(KeySource::ToolCall, 1).await;

    assert_eq!((ends(&second), replays(&second)), (vec!["201".to_owned()], vec![false]));
    assert_eq!((tracker.reports(), tracker.split_keys()), (2, 1));
}

#[tokio::test]
async fn a_crash_before_the_one_commit_leaves_nothing_and_the_retry_takes_over_at_once() {
    let tracker = Tracker::start(Implementation::KeyAtomic).await;
    tracker.crash(1);

    let first = tracker.submit(KeySource::ToolCall, 1).await;
    assert_eq!((ends(&first), tracker.reports()), (vec!["500".to_owned()], 0));
    let second = tracker.submit(KeySource::ToolCall, 1).await;

    assert_eq!((ends(&second), replays(&second)), (vec!["201".to_owned()], vec![false]));
    assert_eq!((second.result, tracker.reports()), (created(1), 1));
}

#[tokio::test]
async fn a_naive_server_crashes_after_it_has_filed_the_report() {
    let tracker = Tracker::start(Implementation::Naive).await;
    tracker.crash(1);

    let submission = tracker.submit(KeySource::None, 4).await;

    assert_eq!((ends(&submission), tracker.reports()), (vec!["500".to_owned(), "201".to_owned()], 2));
}

/// Two workers file the same tool call: one report, at least one 409, and both are told its number.
#[tokio::test]
async fn of_two_at_once_under_one_key_one_is_refused_first_and_both_are_told_the_same_report() {
    let cell = play(Implementation::KeyAtomic, KeySource::ToolCall, Scene::Concurrent).await;

    let [mut holder, mut other] = two(&cell);
    if ends(holder).len() > 1 {
        (holder, other) = (other, holder);
    }
    assert_eq!((ends(holder), replays(holder)), (vec!["201".to_owned()], vec![false]));
    assert_eq!(ends(other).first().map(String::as_str), Some("409"));
    assert_eq!(replays(other).last(), Some(&true));
    assert_eq!([&holder.result, &other.result], [&created(1), &created(1)]);
    assert_eq!(cell.reports.len(), 1);
}

/// Both are past the look-up: the second to register its key finds it taken, beside its own report.
#[tokio::test]
async fn of_two_at_once_the_split_server_files_both_and_fails_the_second() {
    let cell = play(Implementation::KeySplit, KeySource::ToolCall, Scene::Concurrent).await;

    let mut both = two(&cell).map(|submission| (ends(submission), replays(submission)));
    both.sort();
    let text = |ends: &[&str]| ends.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(both, [(text(&["201"]), vec![false]), (text(&["500", "201"]), vec![false, true])]);
    assert_eq!(cell.reports.len(), 2);
}

#[tokio::test]
async fn the_model_is_told_that_the_result_is_unknown_before_it_submits_again() {
    let cell = play(Implementation::KeyAtomic, KeySource::ToolCall, Scene::NewId).await;

    let [first, second] = two(&cell);
    assert_eq!(ends(first), ["transport"]);
    assert!(first.tool_message().starts_with("Result unknown: "), "{}", first.tool_message());
    assert_eq!([&*first.key.clone().unwrap(), &*second.key.clone().unwrap()], ["run-042:toolu_01", "run-042:toolu_02"]);
    assert_eq!((&second.result, cell.reports.len()), (&created(2), 2));
}

#[tokio::test]
async fn a_business_key_replays_the_models_second_call() {
    let cell = play(Implementation::KeyAtomic, KeySource::Business, Scene::NewId).await;

    let [first, second] = two(&cell);
    assert_eq!(first.key, second.key);
    assert_eq!((replays(second), &second.result), (vec![true], &created(1)));
}

/// So the zeros of the whole table are no lost reports.
#[tokio::test]
async fn a_server_that_knows_keys_refuses_a_report_without_one() {
    for implementation in [Implementation::KeySplit, Implementation::KeyAtomic] {
        let tracker = Tracker::start(implementation).await;

        let submission = tracker.submit(KeySource::None, 4).await;

        assert!(matches!(submission.result, FinalResult::Refused { status: 400, .. }), "{submission:?}");
    }
}

async fn play(implementation: Implementation, key_source: KeySource, scene: Scene) -> Cell {
    cell::play(Row::new(implementation, key_source), scene).await.unwrap()
}

fn two(cell: &Cell) -> [&Submission; 2] {
    let [one, other] = &*cell.submissions else { panic!("{cell:?}") };
    [one, other]
}

fn created(report_id: i64) -> FinalResult {
    FinalResult::Created { report_id }
}
