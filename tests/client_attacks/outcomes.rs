//! Rule 11: what the caller is told, where status and mark alone would tell it wrongly.

use bytes::Bytes;
use http::{HeaderName, Request};
use http_body_util::Full;
use lab::{
    exchange::post,
    scripted::{Scripted, Step},
};
use tower::Layer;
use tower_idempotency::retry::{Attempt, Outcome, Verdict};

use crate::support::{at_once, secs, send};

/// Rule 11: a stored refusal is the end of work that was done, whatever the mark's name.
#[tokio::test(start_paused = true)]
async fn a_replay_that_is_marked_under_another_name_is_applied() {
    let client = Scripted::new([Step::with_headers(402, &[("idempotent-replayed", "true")])]);
    let layer = at_once().replayed_header(HeaderName::from_static("idempotent-replayed"));

    let response = send(layer.layer(client), post("k", "42 EUR")).await.expect("a response");

    assert_eq!(Outcome::of(&response), Outcome::Applied);
}

/// Rule 3: another judgement is told on, at the first answer, too.
#[tokio::test(start_paused = true)]
async fn what_a_classifier_calls_a_success_is_applied() {
    let gone_is_done = |attempt: &Attempt<'_>| match attempt.response() {
        Some(head) if head.status() == 404 => Verdict::Success,
        _ => attempt.verdict(),
    };
    let delete = Request::delete("/charges/1").body(Full::<Bytes>::default()).expect("a request");
    let client = at_once().with_classifier(gone_is_done).layer(Scripted::new([Step::status(404)]));

    let response = send(client, delete).await.expect("a response");

    assert_eq!(Outcome::of(&response), Outcome::Applied);
}

/// Rule 11: where there was no answer, nobody knows.
#[tokio::test(start_paused = true)]
async fn a_classifier_cannot_take_an_error_for_a_success() {
    let layer = at_once().attempt_timeout(secs(1)).with_classifier(|_| Verdict::Success);

    let error = send(layer.layer(Scripted::new([Step::Never])), post("k", "42 EUR")).await.expect_err("a timeout");

    assert_eq!(error.outcome(), Outcome::Unknown, "{error}");
}
