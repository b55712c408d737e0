//! What the server refuses is not sent again.

use axum::{
    body::{Body, to_bytes},
    extract::Request,
    middleware::{Next, from_fn},
    response::Response,
};
use http::header::CONTENT_LENGTH;
use lab::harness::{FinalResult, KeySource};
use serde_json::Value;

use crate::tracker::{Database, Tracker, call, ends, filed, first_hand, titled};

/// Article: "the same key with another body is 422".
#[tokio::test]
async fn another_body_under_the_same_key_is_422_and_changes_no_row() {
    let tracker = Tracker::start().await;
    tracker.submit().await;

    let other = tracker.harness(KeySource::ToolCall).submit(&titled("Total is negative"), &call("toolu_01")).await;

    assert_eq!(ends(&other), [first_hand("422")]);
    assert!(matches!(other.result, FinalResult::Refused { status: 422, .. }), "{other:?}");
    assert_eq!(tracker.reports().await, [filed(1)]);
}

/// Article: "400 for a missing field is not retried".
#[tokio::test]
async fn a_missing_field_is_400_and_one_attempt() {
    let database = Database::open().await;
    let app = database.app().layer(from_fn(without_steps));
    let tracker = database.serve(app).await;

    let submission = tracker.submit().await;

    assert_eq!(ends(&submission), [first_hand("400")]);
    let FinalResult::Refused { status: 400, detail } = &submission.result else { panic!("{submission:?}") };
    assert!(detail.contains("missing field `steps`"), "{detail}");
    assert_eq!(tracker.faults.requests(), 1);
    assert!(tracker.reports().await.is_empty());
}

/// The rule is the tracker's, and a title of nothing is none.
#[tokio::test]
async fn an_empty_title_is_400_and_one_attempt_and_the_corrected_report_may_come_under_the_same_key() {
    let tracker = Tracker::start().await;
    let harness = tracker.harness(KeySource::ToolCall);

    let refused = harness.submit(&titled("  "), &call("toolu_01")).await;
    let corrected = tracker.submit().await;

    assert_eq!(ends(&refused), [first_hand("400")]);
    assert_eq!(ends(&corrected), [first_hand("201")]);
    assert_eq!(tracker.reports().await, [filed(1)]);
}

/// The harness leaves out no field; something between it and the server does.
async fn without_steps(request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let mut report: Value = serde_json::from_slice(&to_bytes(body, usize::MAX).await.unwrap()).unwrap();
    report.as_object_mut().unwrap().remove("steps");
    parts.headers.remove(CONTENT_LENGTH);
    next.run(Request::from_parts(parts, Body::from(report.to_string()))).await
}
