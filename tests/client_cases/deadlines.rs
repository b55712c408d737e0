//! K13, K14 and K22: time runs out.

use std::{error::Error, io, pin::pin, sync::Arc};

use lab::{
    exchange::get,
    scripted::{Scripted, Step, answer},
};
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout},
};
use tower::{Layer, ServiceExt, limit::ConcurrencyLimit};
use tower_idempotency::retry::{AttemptTimeout, Backoff, Failure, RetryError, Stopped};

use crate::{Duration, millis, secs, seeded, told, waiting};

/// K13.
#[tokio::test(start_paused = true)]
async fn k13_a_delay_that_would_end_after_the_deadline_is_not_begun() {
    let script = Scripted::new([Step::Late(secs(5), answer(503, &[], "")), Step::status(200)]);
    let begun = Instant::now();
    let answer = script.send(&waiting(secs(8)).deadline(secs(10)), get("/")).await.unwrap();
    assert_eq!((answer.status().as_u16(), script.attempts()), (503, 1));
    assert_eq!((begun.elapsed(), told(&answer).stopped()), (secs(5), Stopped::Deadline));
}

/// K13: with a failure that is an error.
#[tokio::test(start_paused = true)]
async fn k13_the_last_failure_is_returned_at_once() {
    let script = Scripted::new([Step::Never]);
    let layer = waiting(secs(8)).attempt_timeout(secs(5)).deadline(secs(10));
    let begun = Instant::now();
    let error = script.send(&layer, get("/")).await.unwrap_err();
    assert_eq!((begun.elapsed(), error.info().stopped()), (secs(5), Stopped::Deadline));
    assert!(error.source().unwrap().is::<AttemptTimeout>());
}

/// K13: one that ends with the deadline would leave no time for the attempt.
#[tokio::test(start_paused = true)]
async fn k13_a_delay_that_would_end_with_the_deadline_is_not_begun() {
    for (delay, attempts) in [(10_000, 1), (9_999, 2)] {
        let script = Scripted::new([Step::status(503), Step::status(200)]);
        script.send(&waiting(millis(delay)).deadline(secs(10)), get("/")).await.unwrap();
        assert_eq!(script.attempts(), attempts, "a delay of {delay} ms");
    }
}

/// K14: 0 to 1, 1 to 2, 2 to 2.5.
#[tokio::test(start_paused = true)]
async fn k14_the_third_attempt_gets_what_the_deadline_leaves() {
    let (began, error) = three_attempts(Duration::ZERO).await;
    assert_eq!(began, [0, 1000, 2000].map(millis));
    assert_eq!(error.info().elapsed(), millis(2500));
    assert_eq!(error.info().failures().last().unwrap().took(), millis(500));
}

/// K14: less the waits.
#[tokio::test(start_paused = true)]
async fn k14_the_waits_are_taken_from_the_third_attempt() {
    let (began, error) = three_attempts(millis(200)).await;
    assert_eq!(began, [0, 1200, 2400].map(millis));
    assert_eq!(error.info().elapsed(), millis(2500));
    assert_eq!(error.info().failures().last().unwrap().took(), millis(100));
}

/// K14: what was cut by the deadline is not what the caller is told of: that is what the attempts before failed with.
#[tokio::test(start_paused = true)]
async fn k14_the_caller_sees_the_timeout_of_the_attempt() {
    let (_, error) = three_attempts(Duration::ZERO).await;
    assert_eq!((error.info().attempts(), error.info().stopped()), (3, Stopped::Deadline));
    assert!(error.source().unwrap().is::<AttemptTimeout>());
}

/// K22: it passes while the next attempt is under way.
#[tokio::test(start_paused = true)]
async fn k22_the_caller_sees_the_last_failure_and_not_only_the_deadline() {
    let script = Scripted::new([Step::status(503), Step::reset(), Step::Never]);
    let layer = seeded().backoff(Backoff::exponential(secs(1), secs(9))).deadline(secs(10));
    let error = script.send(&layer, get("/")).await.unwrap_err();

    let source = error.source().unwrap().downcast_ref::<io::Error>().unwrap();
    assert_eq!(source.kind(), io::ErrorKind::ConnectionReset);
    assert_eq!((error.info().attempts(), error.info().elapsed()), (3, secs(10)));
    assert_eq!((script.attempts(), script.in_flight(), error.info().stopped()), (3, 0, Stopped::Deadline));
    assert!(matches!(error.info().failures()[2].failure(), Failure::Deadline));
}

/// K22: an answer is no error, and is seen all the same.
#[tokio::test(start_paused = true)]
async fn k22_the_caller_sees_the_last_answer() {
    let script = Scripted::new([Step::status(503), Step::Never]);
    let error = script.send(&waiting(secs(1)).deadline(secs(10)), get("/")).await.unwrap_err();
    assert!(matches!(error.last_failure(), Some(Failure::Response(head)) if head.status() == 503));
    assert_eq!(
        error.to_string(),
        "gave up after 2 attempts (last answer 503 Service Unavailable): its deadline leaves no time for another \
         attempt; it may have been applied"
    );
}

/// K22: it passes while the service is not ready.
#[tokio::test(start_paused = true)]
async fn k22_the_caller_sees_the_last_failure_when_the_service_was_not_ready_in_time() {
    let script = Scripted::new([Step::reset(), Step::status(200)]);
    let permits = Arc::new(Semaphore::new(1));
    let layer = waiting(secs(1)).deadline(secs(10));
    let client = layer.layer(ConcurrencyLimit::with_semaphore(script.clone(), Arc::clone(&permits)));
    let mut sending = pin!(client.oneshot(get("/")));
    assert!(timeout(millis(500), &mut sending).await.is_err());
    let _taken = permits.acquire().await.unwrap();

    let error = sending.await.unwrap_err();

    assert!(error.source().unwrap().is::<io::Error>());
    assert_eq!((error.info().attempts(), error.info().elapsed()), (1, secs(10)));
    assert_eq!((script.attempts(), error.info().stopped()), (1, Stopped::Deadline));
}

/// K22: where there was no other failure the deadline is one.
#[tokio::test(start_paused = true)]
async fn k22_a_first_attempt_that_the_deadline_cuts_failed_by_it() {
    let script = Scripted::new([Step::Never]);
    let error = script.send(&seeded().deadline(secs(10)), get("/")).await.unwrap_err();
    assert!(matches!(error.last_failure(), Some(Failure::Deadline)));
    assert_eq!((error.info().attempts(), error.info().elapsed()), (1, secs(10)));
}

/// When each attempt began, and the end: one second for each, two and a half for all.
async fn three_attempts(wait: Duration) -> (Vec<Duration>, RetryError) {
    let script = Scripted::new([Step::Never]);
    let layer = waiting(wait).attempt_timeout(secs(1)).deadline(millis(2500));
    let begun = Instant::now();
    let error = script.send(&layer, get("/")).await.unwrap_err();
    (script.seen().iter().map(|seen| seen.at - begun).collect(), error)
}
