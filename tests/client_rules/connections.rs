//! Rule 9: what becomes of a failed response.

use std::{
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use http_body::{Body, Frame};
use lab::{
    body::{Broken, ScriptedBody},
    clock::until,
    exchange::{get, post, post_without_key},
    scripted::{Scripted, Step, answer},
};
use tokio::time::Instant;
use tower::{Layer, ServiceBuilder, ServiceExt};
use tower_idempotency::{
    RetryLayer,
    retry::{CutResponse, HoldResponses, Outcome, RetryError, Stopped},
};

use crate::support::{always, at_once, millis, secs, send, status, waiting};

/// What became of a body.
#[derive(Clone, Debug, Default)]
struct Fate(Arc<Mutex<(usize, Option<Instant>)>>);

impl Fate {
    fn read(&self) -> usize {
        self.0.lock().expect("a lock").0
    }

    /// When it was dropped.
    fn dropped(&self) -> Option<Instant> {
        self.0.lock().expect("a lock").1
    }
}

/// A body whose fate can be seen.
struct Watched(ScriptedBody, Fate);

impl Body for Watched {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let frame = ready!(Pin::new(&mut self.0).poll_frame(cx));
        let data = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref());
        self.1.0.lock().expect("a lock").0 += data.map_or(0, Bytes::len);
        Poll::Ready(frame)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.1.0.lock().expect("a lock").1 = Some(Instant::now());
    }
}

/// What is read of this body of a 503 and when it is dropped, from the 503 on, by a client that waits a minute. And when
/// the next attempt is made.
async fn fate_of(layer: &RetryLayer, body: ScriptedBody) -> (usize, Duration, Duration) {
    let fate = Fate::default();
    let client = Scripted::new([Step::with_body(503, Watched(body, fate.clone())), Step::status(200)]);
    send(&layer.layer(client.clone()), get("/reports")).await.expect("a response");
    let began = client.seen()[0].at;
    (fate.read(), fate.dropped().expect("dropped") - began, client.waits()[0])
}

fn minute() -> RetryLayer {
    waiting(secs(60))
}

/// Rule 9: a failed response is read away and dropped, before the wait.
#[tokio::test(start_paused = true)]
async fn a_failed_response_is_read_to_its_end_before_the_wait() {
    let body = ScriptedBody::streaming().data("one").pause(millis(100)).data("two");

    assert_eq!(fate_of(&minute(), body).await, (6, millis(100), secs(60)));
}

/// Rule 9: up to 64 KiB; a longer one is dropped with its connection.
#[tokio::test(start_paused = true)]
async fn no_more_than_64_kib_is_read_away() {
    let body = (0..100).fold(ScriptedBody::streaming(), |body, _| body.data(vec![0; 1 << 10]));

    assert_eq!(fate_of(&minute(), body).await, (65 << 10, secs(0), secs(60)));
}

/// Rule 9: for 250 ms; one that never ends is dropped then (K27).
#[tokio::test(start_paused = true)]
async fn a_body_that_never_ends_is_read_for_250_milliseconds() {
    let body = ScriptedBody::streaming().data("one").never_ends();

    assert_eq!(fate_of(&minute(), body).await, (3, millis(250), secs(60)));
}

/// Rule 9: a body that fails is dropped, and its failure is of no interest.
#[tokio::test(start_paused = true)]
async fn a_failed_response_that_is_cut_itself_is_dropped() {
    let body = ScriptedBody::streaming().data("one").fails();

    assert_eq!(fate_of(&minute(), body).await, (3, secs(0), secs(60)));
}

/// Rule 9: both bounds are settings.
#[tokio::test(start_paused = true)]
async fn how_much_is_read_away_and_for_how_long_can_be_set() {
    let layer = minute().max_drain(2, secs(5));
    let slow = || ScriptedBody::streaming().data("1").pause(secs(2)).data("2");

    assert_eq!(fate_of(&layer, slow().never_ends()).await, (2, secs(5), secs(60)));
    assert_eq!(fate_of(&layer, slow().data("3").never_ends()).await, (3, secs(2), secs(60)));
}

/// Rule 9: a wait that is shorter than the reading is over when that is.
#[tokio::test(start_paused = true)]
async fn the_next_attempt_is_made_after_the_reading() {
    let body = ScriptedBody::streaming().never_ends();

    assert_eq!(fate_of(&waiting(millis(10)), body).await, (0, millis(250), millis(250)));
}

/// Rules 6 and 9: the deadline ends the reading too.
#[tokio::test(start_paused = true)]
async fn reading_away_ends_at_the_deadline() {
    let client = always(Step::with_body(503, ScriptedBody::streaming().never_ends()));
    let layer = waiting(millis(10)).deadline(millis(100));

    let error = send(&layer.layer(client.clone()), get("/reports")).await.expect_err("no time for another attempt");

    let info = error.info();
    assert_eq!((client.attempts(), info.stopped(), info.elapsed()), (1, Stopped::Deadline, millis(100)));
}

/// Rule 9: what was under way is dropped before the wait, with the connection or the permit that it holds.
#[tokio::test(start_paused = true)]
async fn an_attempt_is_dropped_before_the_wait() {
    for step in [Step::status(503), Step::reset(), Step::Never] {
        let client = Scripted::new([step, Step::status(200)]);
        let service = minute().attempt_timeout(secs(1)).layer(client.clone());
        let sending = tokio::spawn(service.oneshot(get("/reports")));

        until(|| client.attempts() == 1).await;
        tokio::time::sleep(secs(2)).await;

        assert_eq!((client.attempts(), client.in_flight()), (1, 0));
        sending.abort();
    }
}

fn cut() -> Step {
    Step::with_body(201, ScriptedBody::streaming().data("one").fails())
}

/// Rule 9: the caller has the head and reads the body itself: too late for a retry.
#[tokio::test(start_paused = true)]
async fn an_answer_that_is_cut_is_not_repeated_by_itself() {
    let client = Scripted::new([cut(), Step::status(200)]);

    let response = send(&at_once().layer(client.clone()), post("k", "{}")).await.expect("a head");

    assert_eq!((client.attempts(), response.status().as_u16()), (1, 201));
    assert!(http_body_util::BodyExt::collect(response.into_body()).await.is_err());
}

/// Rule 9: `HoldResponses` reads it first, and a key gets the stored answer.
#[tokio::test(start_paused = true)]
async fn an_answer_that_is_cut_while_it_is_held_is_repeated() {
    let replay = Step::Answer(answer(201, &[("idempotency-replayed", "true")], "one two"));
    let client = Scripted::new([cut(), replay]);
    let service = ServiceBuilder::new().layer(at_once()).layer(HoldResponses::up_to(1024)).service(client.clone());

    let response = send(&service, post("k", "{}")).await.expect("a response");

    assert_eq!((client.attempts(), response.status().as_u16()), (2, 201));
    let body = http_body_util::BodyExt::collect(response.into_body()).await.expect("a whole body");
    assert_eq!(body.to_bytes(), "one two");
}

/// Rules 1 and 9: a head has come, so the work was done: without a key there is no second copy.
#[tokio::test(start_paused = true)]
async fn a_post_without_a_key_whose_answer_is_cut_is_sent_once() {
    let client = Scripted::new([cut(), Step::status(200)]);
    let service = ServiceBuilder::new().layer(at_once()).layer(HoldResponses::up_to(1024)).service(client.clone());

    let error: RetryError = send(&service, post_without_key("{}")).await.expect_err("a cut response");

    let info = error.info();
    assert_eq!((client.attempts(), info.stopped(), info.outcome()), (1, Stopped::NotRepeatable, Outcome::Unknown));
    let cut = std::error::Error::source(&error).and_then(|source| source.downcast_ref::<CutResponse>());
    assert_eq!(cut.map(|cut| cut.status().as_u16()), Some(201));
}

/// Rule 9: one that says that it is larger is not waited for at all.
#[tokio::test(start_paused = true)]
async fn an_answer_that_says_that_it_is_over_the_limit_is_handed_over_at_once() {
    let large = Step::with_body(200, ScriptedBody::streaming().sized(3).pause(secs(60)).data("one"));
    let service = ServiceBuilder::new().layer(at_once()).layer(HoldResponses::up_to(2)).service(always(large));
    let began = Instant::now();

    send(&service, get("/reports")).await.expect("a head");

    assert_eq!(began.elapsed(), secs(0));
}

/// Rule 9: held up to the limit; a larger one streams, and is the caller's when it is cut.
#[tokio::test(start_paused = true)]
async fn an_answer_over_the_limit_is_handed_over_before_its_end() {
    let client = Scripted::new([cut(), Step::status(200)]);
    let service = ServiceBuilder::new().layer(at_once()).layer(HoldResponses::up_to(2)).service(client.clone());

    let ended = send(&service, post("k", "{}")).await;

    assert_eq!((client.attempts(), status(&ended)), (1, 201));
}
