//! Rule 6: attempts, the time of one, and the time of all.

use std::error::Error;

use lab::{
    body::ScriptedBody,
    clock::until,
    exchange::get,
    scripted::{Scripted, Step, answer},
};
use tokio::time::Instant;
use tower::{Layer, ServiceExt};
use tower_idempotency::retry::{AttemptTimeout, Failure, RetryError, Stopped};

use crate::support::{always, at_once, hours, info, layer, millis, once, secs, send, status, stopped, waiting};

/// Rule 6: three attempts, the first included.
#[tokio::test(start_paused = true)]
async fn by_default_there_are_three_attempts() {
    let client = always(Step::status(503));

    let ended = send(&layer().layer(client.clone()), get("/reports")).await;

    assert_eq!((client.attempts(), stopped(&ended)), (3, Stopped::Attempts));
}

/// Rule 6: the attempts are a setting; none at all is one.
#[tokio::test(start_paused = true)]
async fn as_many_attempts_are_made_as_are_set() {
    for (set, made) in [(0, 1), (1, 1), (2, 2), (7, 7)] {
        let client = always(Step::reset());

        let ended = send(&at_once().max_attempts(set).layer(client.clone()), get("/reports")).await;

        assert_eq!((client.attempts(), info(&ended).attempts()), (made, made as u32));
    }
}

/// Rule 6: the attempt's own time, until the head of its response.
#[tokio::test(start_paused = true)]
async fn an_attempt_that_runs_out_of_time_is_dropped_and_tried_again() {
    let client = once(Step::Never);

    let ended = send(&at_once().attempt_timeout(secs(1)).layer(client.clone()), get("/reports")).await;

    assert_eq!((status(&ended), client.waits(), client.in_flight()), (200, vec![secs(1)], 0));
}

/// Rule 6: the last attempt that runs out of time is the error's source.
#[tokio::test(start_paused = true)]
async fn the_source_of_the_error_says_that_the_attempt_timed_out() {
    let client = always(Step::Never);

    let error = send(&at_once().attempt_timeout(secs(1)).layer(client), get("/reports")).await.expect_err("a timeout");

    assert!(error.source().is_some_and(<dyn Error>::is::<AttemptTimeout>));
}

/// Rule 6: only the head counts: a long download is no slow answer.
#[tokio::test(start_paused = true)]
async fn a_body_may_take_longer_than_the_attempt() {
    let client = always(Step::with_body(200, ScriptedBody::streaming().pause(hours(1)).data("end")));

    let response = send(&layer().attempt_timeout(secs(1)).layer(client), get("/reports")).await.expect("a response");
    let body = http_body_util::BodyExt::collect(response.into_body()).await.expect("a whole body");

    assert_eq!(body.to_bytes(), "end");
}

/// Rule 6: no limit of time unless one is set.
#[tokio::test(start_paused = true)]
async fn by_default_an_answer_is_waited_for_as_long_as_it_takes() {
    let client = always(Step::Late(hours(100), answer(200, &[], "")));

    let response = send(&layer().layer(client.clone()), get("/reports")).await.expect("a response");

    assert_eq!((response.status().as_u16(), client.attempts()), (200, 1));
}

/// Rule 6: no wait begins that would end after the deadline (K13).
#[tokio::test(start_paused = true)]
async fn a_wait_that_would_pass_the_deadline_is_not_begun() {
    let client = always(Step::Late(secs(5), answer(503, &[], "")));

    let ended = send(&waiting(secs(8)).deadline(secs(10)).layer(client.clone()), get("/reports")).await;

    assert_eq!((client.attempts(), status(&ended), stopped(&ended)), (1, 503, Stopped::Deadline));
    assert_eq!(info(&ended).elapsed(), secs(5));
}

/// Rule 6: an attempt that would begin at the deadline has no time left.
#[tokio::test(start_paused = true)]
async fn a_wait_that_would_end_at_the_deadline_is_not_begun() {
    let client = always(Step::status(503));

    let ended = send(&waiting(secs(5)).deadline(secs(10)).max_attempts(9).layer(client.clone()), get("/reports")).await;

    assert_eq!((client.waits(), stopped(&ended)), (vec![secs(5)], Stopped::Deadline));
}

/// Rule 6: jitter is part of the wait that has to fit.
#[tokio::test(start_paused = true)]
async fn jitter_never_carries_an_attempt_past_the_deadline() {
    let deadline = millis(10_500);
    let mut repeated = 0;
    for seed in 0..50 {
        let client = always(Step::with_headers(503, &[("retry-after", "10")]));
        let began = Instant::now();

        send(&at_once().seed(seed).deadline(deadline).layer(client.clone()), get("/reports"))
            .await
            .expect("a response");

        assert!(client.seen().iter().all(|seen| seen.at - began < deadline), "seed {seed}");
        repeated += client.attempts() - 1;
    }
    assert!((10..40).contains(&repeated), "about half of them fit: {repeated}");
}

/// Rule 6: the last attempt gets what is left of the whole, not its own limit (K14).
#[tokio::test(start_paused = true)]
async fn an_attempt_gets_no_more_time_than_is_left() {
    let client = always(Step::Never);
    let layer = waiting(millis(100)).attempt_timeout(secs(1)).deadline(millis(2500));

    let ended = send(&layer.layer(client.clone()), get("/reports")).await;

    assert_eq!((client.attempts(), client.in_flight(), stopped(&ended)), (3, 0, Stopped::Deadline));
    let took: Vec<_> = info(&ended).failures().iter().map(|attempt| attempt.took()).collect();
    assert_eq!(took, [1000, 1000, 300].map(millis));
}

/// Rule 6: an attempt that is under way when the deadline passes is dropped.
#[tokio::test(start_paused = true)]
async fn a_request_that_is_never_answered_ends_at_the_deadline() {
    let client = always(Step::Never);

    let ended = send(&layer().deadline(secs(10)).layer(client.clone()), get("/reports")).await;

    let info = info(&ended);
    assert_eq!((client.in_flight(), info.stopped(), info.elapsed()), (0, Stopped::Deadline, secs(10)));
}

/// Rule 6: the last real failure is what the caller gets, and not only that time is up (K22).
#[tokio::test(start_paused = true)]
async fn the_failure_before_the_deadline_passed_is_what_the_caller_gets() {
    let client = Scripted::new([Step::status(503), Step::Never]);

    let error = send(&waiting(secs(1)).deadline(secs(10)).layer(client), get("/reports")).await.expect_err("no answer");

    let Some(Failure::Response(head)) = error.last_failure() else { panic!("{error:?}") };
    assert_eq!((head.status().as_u16(), error.info().attempts(), error.info().elapsed()), (503, 2, secs(10)));
    let text = "gave up after 2 attempts (last answer 503 Service Unavailable): its deadline leaves no time for another \
                attempt; it may have been applied";
    assert_eq!(error.to_string(), text);
}

/// Rule 6: what is left is counted anew after the wait: the clock may have jumped over the deadline.
#[tokio::test(start_paused = true)]
async fn no_attempt_is_made_if_the_clock_jumps_past_the_deadline_during_the_wait() {
    let client = once(Step::status(503));
    let service = waiting(secs(5)).deadline(secs(10)).layer(client.clone());
    let sending = tokio::spawn(service.oneshot(get("/reports")));
    until(|| client.attempts() == 1).await;

    tokio::time::advance(hours(1)).await;
    let ended: Result<_, RetryError> = sending.await.expect("no panic");

    assert_eq!((client.attempts(), stopped(&ended)), (1, Stopped::Deadline));
    let error = ended.expect_err("its response was read away");
    assert!(matches!(error.last_failure(), Some(Failure::Response(head)) if head.status() == 503));
}

/// Rule 6: a service that is not ready in time for the repeat does not hold the caller.
#[tokio::test(start_paused = true)]
async fn waiting_for_a_ready_service_ends_at_the_deadline() {
    let client = Scripted::new([Step::status(503), Step::ReadyAfter(hours(1)), Step::status(200)]);

    let ended = send(&at_once().deadline(secs(10)).layer(client.clone()), get("/reports")).await;

    let info = info(&ended);
    assert_eq!((client.attempts(), info.stopped(), info.elapsed()), (1, Stopped::Deadline, secs(10)));
}
