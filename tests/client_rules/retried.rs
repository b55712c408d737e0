//! Rule 3: which failures are tried again.

use std::io;

use http::{HeaderName, StatusCode};
use lab::{
    exchange::{get, post, post_without_key},
    scripted::{Scripted, Step},
};
use tower::Layer;
use tower_idempotency::retry::{Budget, Outcome, RetryInfo, Stopped, Verdict};

use crate::support::{always, at_once, once, secs, send, status, stopped, waiting};

/// How many attempts a GET makes if it gets this first, and 200 then.
async fn attempts_after(step: Step) -> usize {
    let client = once(step);
    send(&at_once().layer(client.clone()), get("/reports")).await.expect("a response");
    client.attempts()
}

/// Rule 3: errors of the transport.
#[tokio::test(start_paused = true)]
async fn an_error_of_the_transport_is_retried() {
    for kind in [io::ErrorKind::ConnectionReset, io::ErrorKind::TimedOut, io::ErrorKind::UnexpectedEof] {
        assert_eq!(attempts_after(Step::Fail(io::Error::from(kind).into())).await, 2, "{kind}");
    }
}

/// Rule 3: the statuses that another attempt may change; a 5xx that is not registered counts as 500 (RFC 9110 §15).
#[tokio::test(start_paused = true)]
async fn these_statuses_are_retried() {
    for status in [408, 421, 425, 429, 500, 502, 503, 504, 509, 520, 599, 999] {
        assert_eq!(attempts_after(Step::status(status)).await, 2, "{status}");
    }
}

/// Rule 3: never 400, 422, 501 and the like: they are as true the next time (K20).
#[tokio::test(start_paused = true)]
async fn these_statuses_are_final() {
    for status in [400, 401, 403, 404, 405, 410, 413, 415, 418, 422, 426, 451, 501, 505, 511] {
        assert_eq!(attempts_after(Step::status(status)).await, 1, "{status}");
    }
}

/// Rule 3: nothing below 400 is a failure, whatever else it says.
#[tokio::test(start_paused = true)]
async fn a_2xx_or_3xx_is_handed_over() {
    for status in [200, 202, 204, 301, 304, 307] {
        let hopeful = Step::with_headers(status, &[("retry-after", "1"), ("x-should-retry", "true")]);
        assert_eq!(attempts_after(hopeful).await, 1, "{status}");
    }
}

/// Rule 3: on another connection, once; more often would be to the same one.
#[tokio::test(start_paused = true)]
async fn a_421_is_retried_once() {
    let client = always(Step::status(421));

    let ended = send(&at_once().max_attempts(9).layer(client.clone()), post_without_key("{}")).await;

    assert_eq!((client.attempts(), stopped(&ended)), (2, Stopped::NotRetryable));
}

/// Rule 3: once for the whole request, whatever came in between.
#[tokio::test(start_paused = true)]
async fn a_421_after_a_421_and_a_503_is_final() {
    let client = Scripted::new([Step::status(421), Step::status(503), Step::status(421), Step::status(200)]);

    let ended = send(&at_once().max_attempts(9).layer(client.clone()), get("/reports")).await;

    assert_eq!((client.attempts(), status(&ended)), (3, 421));
}

/// Rule 3: a 413 says with `Retry-After` that it is for now (RFC 9110 §15.5.14).
#[tokio::test(start_paused = true)]
async fn a_413_is_retried_if_it_says_when() {
    assert_eq!(attempts_after(Step::with_headers(413, &[("retry-after", "1")])).await, 2);
}

/// Rule 3: to a keyed request a 409 says that the first copy still runs; to another it is the answer (K20).
#[tokio::test(start_paused = true)]
async fn a_409_is_retried_with_a_key_only() {
    let (keyed, bare) = (once(Step::status(409)), once(Step::status(409)));

    send(&at_once().layer(keyed.clone()), post("k", "{}")).await.expect("a response");
    send(&at_once().layer(bare.clone()), get("/reports")).await.expect("a response");

    assert_eq!((keyed.attempts(), bare.attempts()), (2, 1));
}

/// Rule 3: the stored answer stays what it is, however often it is asked for.
#[tokio::test(start_paused = true)]
async fn a_marked_replay_is_final() {
    let mark = ("idempotency-replayed", "true");
    for step in [Step::with_headers(503, &[mark]), Step::with_headers(409, &[mark, ("x-should-retry", "true")])] {
        let client = once(step);

        send(&at_once().layer(client.clone()), post("k", "{}")).await.expect("a response");

        assert_eq!(client.attempts(), 1);
    }
}

/// Rule 3: `false` marks a first answer, and only `true` a replay (K26).
#[tokio::test(start_paused = true)]
async fn a_503_that_is_marked_as_no_replay_is_retried() {
    for mark in ["false", "", "1"] {
        assert_eq!(attempts_after(Step::with_headers(503, &[("idempotency-replayed", mark)])).await, 2, "{mark:?}");
    }
}

/// Rule 3: the name of the mark is a setting, as the server's is.
#[tokio::test(start_paused = true)]
async fn the_mark_of_a_replay_can_have_another_name() {
    let client = once(Step::with_headers(503, &[("x-replay", "true")]));
    let layer = at_once().replayed_header(HeaderName::from_static("x-replay"));

    send(&layer.layer(client.clone()), post("k", "{}")).await.expect("a response");

    assert_eq!(client.attempts(), 1);
}

/// Rule 3: the server's word overrides the status, either way.
#[tokio::test(start_paused = true)]
async fn should_retry_overrides_the_status() {
    for field in ["x-should-retry", "stripe-should-retry"] {
        assert_eq!(attempts_after(Step::with_headers(400, &[(field, "true")])).await, 2, "{field}");
        assert_eq!(attempts_after(Step::with_headers(503, &[(field, "false")])).await, 1, "{field}");
        assert_eq!(attempts_after(Step::with_headers(503, &[(field, "maybe")])).await, 2, "{field}");
        assert_eq!(attempts_after(Step::with_headers(400, &[(field, "maybe")])).await, 1, "{field}");
    }
}

/// Rule 3: should-retry overrides none of the other rules; of the gate see there.
#[tokio::test(start_paused = true)]
async fn should_retry_overrides_neither_attempts_nor_deadline_nor_budget() {
    let layers = [
        (at_once().max_attempts(1), Stopped::Attempts),
        (waiting(secs(2)).deadline(secs(1)), Stopped::Deadline),
        (at_once().budget(Budget::new(0)), Stopped::Budget),
    ];
    for (layer, why) in layers {
        let client = always(Step::with_headers(503, &[("x-should-retry", "true")]));

        let ended = send(&layer.layer(client.clone()), get("/reports")).await;

        assert_eq!((client.attempts(), stopped(&ended)), (1, why));
    }
}

/// Rule 3: another judgement can be plugged in, and ask the ordinary one.
#[tokio::test(start_paused = true)]
async fn a_classifier_judges_in_place_of_the_rules() {
    let client = Scripted::new([Step::status(404), Step::status(503)]);
    let layer = at_once().with_classifier(|attempt| match attempt.response().map(http::Response::status) {
        Some(StatusCode::NOT_FOUND) => Verdict::Retry,
        Some(StatusCode::SERVICE_UNAVAILABLE) => Verdict::Stop,
        _ => attempt.verdict(),
    });

    let ended = send(&layer.layer(client.clone()), get("/reports")).await;

    assert_eq!((client.attempts(), stopped(&ended)), (2, Stopped::NotRetryable));
}

/// Rule 3: a classifier stands below the gate; only what it says of the work opens that.
#[tokio::test(start_paused = true)]
async fn a_classifier_opens_the_gate_only_if_it_says_that_nothing_was_applied() {
    for (verdict, attempts) in [(Verdict::Retry, 1), (Verdict::RetryNotApplied, 3)] {
        let client = always(Step::status(503));
        let layer = at_once().with_classifier(move |_| verdict);

        send(&layer.layer(client.clone()), post_without_key("{}")).await.expect("a response");

        assert_eq!(client.attempts(), attempts, "{verdict:?}");
    }
}

/// Rules 3 and 11: a classifier that is content ends the request; what the status does not tell is told.
#[tokio::test(start_paused = true)]
async fn an_answer_that_a_classifier_takes_for_success_is_handed_over() {
    let client = always(Step::status(409));
    let layer = at_once().with_classifier(|_| Verdict::Success);

    let response = send(&layer.layer(client.clone()), post("k", "{}")).await.expect("a response");

    let info = response.extensions().get::<RetryInfo>().expect("409 alone would be unknown");
    assert_eq!((client.attempts(), info.stopped(), info.outcome()), (1, Stopped::Succeeded, Outcome::Applied));
}
