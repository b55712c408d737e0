//! K24 and K25: was it applied?

use std::error::Error;

use http_body_util::BodyExt;
use lab::{
    body::{Broken, ScriptedBody},
    exchange::{HeldRequest, post, post_without_key},
    scripted::{Scripted, Step},
};
use tokio::time::Instant;
use tower::{Layer, ServiceExt};
use tower_idempotency::{
    RetryLayer,
    retry::{CutResponse, Failure, HoldResponses, Outcome, Stopped},
};

use crate::{millis, secs, seeded, told, waiting};

/// K24: that nobody listens now tells nothing of what the first attempt did.
#[tokio::test(start_paused = true)]
async fn k24_a_timeout_and_then_a_refused_connection_are_unknown() {
    let script = Scripted::new([Step::Never, Step::refused()]);
    let layer = waiting(millis(200)).with_idempotency_keys().attempt_timeout(secs(1)).max_attempts(2);
    let begun = Instant::now();
    tokio::time::advance(secs(5)).await;

    let error = script.send(&layer, post_without_key("{}")).await.unwrap_err();

    assert_eq!((error.outcome(), error.info().stopped()), (Outcome::Unknown, Stopped::Attempts));
    let key = error.info().key().expect("the key to ask and to repeat with").to_header_value();
    assert_eq!(script.header("idempotency-key"), [(); 2].map(|()| key.to_str().ok().map(str::to_owned)));
    assert_eq!(error.info().first_sent(), Some(begun + secs(5)));
    assert_eq!((error.info().attempts(), error.info().elapsed()), (2, millis(1200)));
}

/// K24: the other way round too: the timeout is the last.
#[tokio::test(start_paused = true)]
async fn k24_a_refused_connection_and_then_a_timeout_are_unknown() {
    let script = Scripted::new([Step::refused(), Step::Never]);
    let layer = seeded().attempt_timeout(secs(1)).max_attempts(2);
    assert_eq!(script.send(&layer, post("k", "{}")).await.unwrap_err().outcome(), Outcome::Unknown);
}

/// K24: only where every attempt was refused it was surely not applied.
#[tokio::test(start_paused = true)]
async fn k24_refused_connections_alone_are_not_applied() {
    let script = Scripted::new([Step::refused()]);
    let error = script.send(&seeded(), post("k", "{}")).await.unwrap_err();
    assert_eq!((error.info().attempts(), error.outcome()), (3, Outcome::NotApplied));
}

/// K25: the server did it once, cannot say again what it answered, and says that it did.
#[tokio::test(start_paused = true)]
async fn k25_a_cut_answer_and_then_a_marked_410_are_applied() {
    let gone = Step::with_headers(410, &[("idempotency-replayed", "true")]);
    let script = Scripted::new([cut(), gone]);

    let answer = held(&seeded(), &script, post("k", "{}")).await.unwrap();

    assert_eq!((answer.status().as_u16(), script.attempts()), (410, 2));
    assert_eq!((told(&answer).outcome(), told(&answer).stopped()), (Outcome::Applied, Stopped::NotRetryable));
    let [first] = told(&answer).failures() else { panic!("{:?}", told(&answer)) };
    let Failure::Error(error) = first.failure() else { panic!("{first:?}") };
    assert_eq!(error.downcast_ref::<CutResponse>().unwrap().status(), 201);
    assert!(error.source().unwrap().is::<Broken>());
}

/// K25: without the mark the 410 is about something else.
#[tokio::test(start_paused = true)]
async fn k25_a_cut_answer_and_then_an_unmarked_410_are_unknown() {
    let script = Scripted::new([cut(), Step::status(410)]);
    let answer = held(&seeded(), &script, post("k", "{}")).await.unwrap();
    assert_eq!((answer.status().as_u16(), told(&answer).outcome()), (410, Outcome::Unknown));
}

/// K25: a replay of the whole answer is what the caller wanted in the first place.
#[tokio::test(start_paused = true)]
async fn k25_a_cut_answer_is_read_whole_from_the_replay() {
    let replay = lab::scripted::answer(201, &[("idempotency-replayed", "true")], "report 17");
    let script = Scripted::new([cut(), Step::Answer(replay)]);
    let answer = held(&seeded(), &script, post("k", "{}")).await.unwrap();
    assert_eq!(told(&answer).outcome(), Outcome::Applied);
    assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), "report 17");
}

/// K25: a cut answer to a POST without a key is not asked for again.
#[tokio::test(start_paused = true)]
async fn k25_without_a_key_a_cut_answer_is_the_end() {
    let script = Scripted::new([cut()]);
    let error = held(&seeded(), &script, post_without_key("{}")).await.unwrap_err();
    assert_eq!((script.attempts(), error.info().stopped()), (1, Stopped::NotRepeatable));
    assert!(error.source().unwrap().is::<CutResponse>());
}

/// A 201 whose body breaks off.
fn cut() -> Step {
    Step::with_body(201, ScriptedBody::streaming().data("report").fails())
}

async fn held(
    layer: &RetryLayer,
    script: &Scripted,
    request: HeldRequest,
) -> Result<
    http::Response<tower_idempotency::retry::HeldBody<lab::scripted::ScriptedBody>>,
    tower_idempotency::retry::RetryError,
> {
    layer.layer(HoldResponses::up_to(1 << 20).layer(script.clone())).oneshot(request).await
}
