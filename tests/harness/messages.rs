//! What the model is told.

use http::StatusCode;
use lab::{
    faults::{Fault, Faults},
    harness::{KeySource, Submission},
};
use serde_json::{Value, json};

use crate::tracker::{Tracker, call, report, titled};

const UNAVAILABLE: Fault = Fault::AnsweredBefore(StatusCode::SERVICE_UNAVAILABLE);

/// The text, and whether it is marked as an error.
fn told(submission: &Submission) -> (String, bool) {
    (submission.tool_message(), submission.is_error())
}

fn an_error(text: &str) -> (String, bool) {
    (text.to_owned(), true)
}

fn no_error(text: &str) -> (String, bool) {
    (text.to_owned(), false)
}

#[tokio::test]
async fn a_report_that_is_created_has_its_number() {
    let tracker = Tracker::start(Faults::none()).await;

    assert_eq!(told(&tracker.submit(KeySource::ToolCall).await), no_error("Created: this is report 1."));
}

#[tokio::test]
async fn a_replay_is_no_second_report() {
    let tracker = Tracker::start(Faults::first([Fault::LoseAnswer])).await;

    let says = "Created: this is report 1. It had been filed before; there is no second report.";
    assert_eq!(told(&tracker.submit(KeySource::ToolCall).await), no_error(says));
}

/// Not "failed": that would be asking the model to submit once more.
#[tokio::test]
async fn an_unknown_result_says_to_query_first_and_which_key_to_submit_again_with() {
    let tracker = Tracker::start(Faults::always(UNAVAILABLE)).await;

    let says = "Result unknown: the report may have been created. Query the reports before you submit it again. If it is \
                not there, submit it again with the same key, run-042:toolu_01. (The last answer was 503 Service \
                Unavailable.)";
    assert_eq!(told(&tracker.submit(KeySource::ToolCall).await), an_error(says));
}

#[tokio::test]
async fn an_unknown_result_without_a_key_says_what_a_second_submission_would_be() {
    let tracker = Tracker::naive(Faults::always(Fault::LoseAnswer)).await;

    let (text, is_error) = told(&tracker.submit(KeySource::None).await);

    let begin = "Result unknown: the report may have been created. Query the reports before you submit it again: under \
                 another key, or none, a second submission would be a second report. (Attempt 4, the last one, failed: client error";
    assert!(text.starts_with(begin), "{text}");
    assert!(is_error);
    assert_eq!(tracker.reports().await, 4, "and this is what it cost");
}

/// The report is there: the client that lost every answer must not be told that nothing was filed.
#[tokio::test]
async fn where_every_answer_is_lost_the_result_is_unknown_and_the_key_finds_the_report() {
    let tracker = Tracker::start(Faults::first([Fault::LoseAnswer; 4])).await;

    let lost = tracker.submit(KeySource::ToolCall).await;
    let again = tracker.submit(KeySource::ToolCall).await;

    assert!(lost.tool_message().starts_with("Result unknown: "), "{}", lost.tool_message());
    assert_eq!(again.tool_message(), "Created: this is report 1. It had been filed before; there is no second report.");
    assert_eq!(tracker.reports().await, 1);
}

/// A refusal says nothing about the attempt before it.
#[tokio::test]
async fn a_refusal_after_a_lost_answer_is_unknown() {
    let refused = Fault::AnsweredBefore(StatusCode::FORBIDDEN);
    let tracker = Tracker::start(Faults::first([Fault::LoseAnswer, refused])).await;

    let submission = tracker.submit(KeySource::ToolCall).await;

    assert!(submission.tool_message().starts_with("Result unknown: "), "{}", submission.tool_message());
    assert_eq!(tracker.reports().await, 1);
}

#[tokio::test]
async fn a_refusal_says_what_is_wrong() {
    let tracker = Tracker::start(Faults::none()).await;

    let submission = tracker.harness(KeySource::ToolCall).submit(&titled(" "), &call("toolu_01")).await;

    let says = "Refused with status 400, no report was created. A title has 1 to 80 characters; this one has 0.";
    assert_eq!(told(&submission), an_error(says));
}

#[tokio::test]
async fn a_key_of_another_report_says_to_query_first() {
    let tracker = Tracker::start(Faults::none()).await;
    tracker.submit(KeySource::ToolCall).await;

    let other = tracker.harness(KeySource::ToolCall).submit(&titled("Total is negative"), &call("toolu_01")).await;

    let begin = "Refused with status 422, no report was created: the key run-042:toolu_01 belongs to an earlier submission \
                 that differs from this one. Query the reports before you submit again. (";
    assert!(other.tool_message().starts_with(begin), "{}", other.tool_message());
    assert!(other.is_error());
}

#[tokio::test]
async fn as_json_a_submission_has_its_attempts_and_the_tool_result() {
    let tracker = Tracker::start(Faults::first([UNAVAILABLE])).await;
    let submission = tracker.harness(KeySource::ToolCall).submit(&report(), &call("toolu_01")).await;

    let mut json = serde_json::to_value(submission.with_tool_result()).unwrap();
    for attempt in json["attempts"].as_array_mut().unwrap() {
        assert!(attempt["after_ms"].take().is_f64() && attempt["took_ms"].take().is_f64());
    }

    let attempt = |number: u32, status: u16| {
        json!({
            "number": number, "key": "run-042:toolu_01", "end": "status", "status": status, "replayed": false,
            "after_ms": Value::Null, "took_ms": Value::Null,
        })
    };
    let expected = json!({
        "key_source": "tool_call",
        "key": "run-042:toolu_01",
        "attempts": [attempt(1, 503), attempt(2, 201)],
        "result": "created",
        "report_id": 1,
        "is_error": false,
        "tool_message": "Created: this is report 1.",
    });
    assert_eq!(json, expected);
}
