//! Rule 11: what the caller learns.

use std::{error::Error, io};

use lab::{
    body::ScriptedBody,
    exchange::{get, post, post_without_key},
    scripted::{Scripted, Step},
};
use tokio::time::Instant;
use tower::{Layer, ServiceBuilder};
use tower_idempotency::retry::{Failure, HoldResponses, Outcome, RetryInfo, Stopped};

use crate::support::{always, at_once, info, once, secs, send, status, waiting};

/// The outcome of a keyed POST to which this happens, one attempt after another; two seconds are a timeout.
async fn outcome(steps: impl IntoIterator<Item = Step>) -> Outcome {
    let service = at_once().attempt_timeout(secs(2)).layer(Scripted::new(steps));
    info(&send(&service, post("k", "{}")).await).outcome()
}

/// As [`Step::with_headers`], marked as a replay.
fn replay(status: u16) -> Step {
    Step::with_headers(status, &[("idempotency-replayed", "true")])
}

/// Rule 11: key, first sent, attempts, elapsed, why it stopped, and each failure.
#[tokio::test(start_paused = true)]
async fn an_error_tells_the_whole_course_of_the_request() {
    let (began, client) = (Instant::now(), Scripted::new([Step::status(503), Step::Never, Step::reset()]));
    let service = waiting(secs(5)).attempt_timeout(secs(2)).layer(client);

    let error = send(&service, post("order-17", "{}")).await.expect_err("no answer");

    let info = error.info();
    assert_eq!(info.key().map(AsRef::as_ref), Some("order-17"));
    assert_eq!((info.first_sent(), info.attempts(), info.elapsed()), (Some(began), 3, secs(12)));
    assert_eq!((info.stopped(), info.outcome()), (Stopped::Attempts, Outcome::Unknown));
    let course: Vec<_> = info.failures().iter().map(|attempt| (attempt.after(), attempt.took())).collect();
    assert_eq!(course, [(secs(0), secs(0)), (secs(5), secs(2)), (secs(12), secs(0))]);
}

/// Rule 11: the last attempt's error is the source, as the client made it.
#[tokio::test(start_paused = true)]
async fn the_source_of_an_error_is_that_of_the_client() {
    let error = send(&at_once().layer(always(Step::reset())), get("/reports")).await.expect_err("a reset");

    let source = error.source().and_then(|source| source.downcast_ref::<io::Error>());
    assert_eq!(source.map(io::Error::kind), Some(io::ErrorKind::ConnectionReset));
}

/// Rule 11: a response that came after a retry tells of it.
#[tokio::test(start_paused = true)]
async fn a_response_after_a_retry_tells_of_it() {
    let response = send(&waiting(secs(5)).layer(once(Step::status(503))), get("/reports")).await.expect("a response");

    let info = response.extensions().get::<RetryInfo>().expect("a retry was made");
    assert_eq!((info.key(), info.attempts(), info.elapsed()), (None, 2, secs(5)));
    assert_eq!((info.stopped(), info.outcome()), (Stopped::Succeeded, Outcome::Applied));
    assert!(
        matches!(info.failures(), [failed] if matches!(failed.failure(), Failure::Response(head) if head.status() == 503))
    );
}

/// Rule 11: so does one whose retry was refused.
#[tokio::test(start_paused = true)]
async fn a_response_whose_retry_was_refused_tells_why() {
    let response = send(&at_once().layer(always(Step::status(503))), post_without_key("{}")).await.expect("a response");

    let info = response.extensions().get::<RetryInfo>().expect("a retry was refused");
    assert_eq!((info.attempts(), info.stopped(), info.failures().len()), (1, Stopped::NotRepeatable, 0));
}

/// Rule 11: one that came at the first try and needed no other carries nothing.
#[tokio::test(start_paused = true)]
async fn a_response_at_the_first_try_carries_nothing() {
    for step in [Step::status(200), Step::status(404), Step::status(422), replay(201)] {
        let response = send(&at_once().layer(always(step)), post("k", "{}")).await.expect("a response");
        assert!(response.extensions().get::<RetryInfo>().is_none(), "{}", response.status());
    }
}

/// Rule 11: a 2xx, a 3xx or a marked replay settles it, whatever the attempts before may have done.
#[tokio::test(start_paused = true)]
async fn an_answer_that_says_so_settles_that_it_was_applied() {
    for last in [Step::status(201), Step::status(303), replay(201), replay(422), replay(410)] {
        let name = format!("{last:?}");
        assert_eq!(outcome([Step::Never, last]).await, Outcome::Applied, "{name}");
    }
}

/// Rule 11: once an attempt was maybe applied, no refusal of a later one tells what the first has done.
#[tokio::test(start_paused = true)]
async fn a_refusal_after_an_attempt_that_was_maybe_applied_settles_nothing() {
    for first in [|| Step::Never, Step::reset, || Step::status(503)] {
        for last in [Step::refused(), Step::status(400), Step::status(404), Step::status(422), Step::status(409)] {
            let name = format!("{:?}, {last:?}", first());
            assert_eq!(outcome([first(), last]).await, Outcome::Unknown, "{name}");
        }
    }
}

/// Rule 11: not applied only when every attempt was surely not.
#[tokio::test(start_paused = true)]
async fn what_was_refused_every_time_was_not_applied() {
    assert_eq!(outcome([Step::refused()]).await, Outcome::NotApplied);
    assert_eq!(outcome([Step::refused(), Step::status(425), Step::status(421)]).await, Outcome::NotApplied);
    assert_eq!(outcome([Step::status(421), Step::status(421)]).await, Outcome::NotApplied);
    assert_eq!(outcome([Step::refused(), Step::status(400)]).await, Outcome::NotApplied);
}

/// Rule 11: these answers do not say whether the work was done, even to the only attempt that reached the server.
#[tokio::test(start_paused = true)]
async fn a_408_a_409_a_422_and_a_5xx_leave_it_open() {
    for last in [408, 409, 422, 500, 501, 503] {
        assert_eq!(outcome([Step::refused(), Step::status(last)]).await, Outcome::Unknown, "{last}");
    }
}

/// Rule 11: an attempt that the deadline cut may have been applied.
#[tokio::test(start_paused = true)]
async fn a_request_that_the_deadline_cut_is_unknown() {
    let ended = send(&at_once().deadline(secs(1)).layer(always(Step::Never)), post("k", "{}")).await;

    assert_eq!(info(&ended).outcome(), Outcome::Unknown);
}

/// Rule 11: a timeout, then a refused connection: unknown, with the key to ask and to repeat with (K24).
#[tokio::test(start_paused = true)]
async fn a_timeout_and_a_refused_connection_leave_the_key_and_the_time_of_the_first_attempt() {
    let began = Instant::now();
    let service = at_once().with_idempotency_keys().attempt_timeout(secs(1)).max_attempts(2);
    let client = Scripted::new([Step::Never, Step::refused()]);

    let error = send(&service.layer(client.clone()), post_without_key("{}")).await.expect_err("no answer");

    let info = error.info();
    assert_eq!((info.outcome(), info.first_sent(), info.attempts()), (Outcome::Unknown, Some(began), 2));
    let key = info.key().map(|key| format!("\"{key}\""));
    assert_eq!(client.header("idempotency-key"), [key.clone(), key]);
    let text = "gave up after 2 attempts; it may have been applied";
    assert_eq!(error.to_string(), text);
}

/// Rule 11: an answer that is cut, then the mark of one that is not kept: it was applied (K25).
#[tokio::test(start_paused = true)]
async fn a_cut_answer_and_a_marked_410_are_an_applied_request() {
    let cut = Step::with_body(201, ScriptedBody::streaming().data("one").fails());
    let client = Scripted::new([cut, replay(410)]);
    let service = ServiceBuilder::new().layer(at_once()).layer(HoldResponses::up_to(1024)).service(client);

    let ended = send(&service, post("k", "{}")).await;

    assert_eq!((status(&ended), info(&ended).outcome()), (410, Outcome::Applied));
}

/// Rule 11: the key is told as it is, whatever quotes it was sent in.
#[tokio::test(start_paused = true)]
async fn the_key_is_told_without_its_quotes() {
    let ended = send(&at_once().layer(always(Step::status(503))), post("\"order-17\"", "{}")).await;

    assert_eq!(info(&ended).key().map(ToString::to_string).as_deref(), Some("order-17"));
}
