//! C25, C30 and C31: who overrides the status.

use std::time::Duration;

use http::{HeaderName, StatusCode};
use lab::{
    exchange::HeldRequest,
    scripted::{Scripted, Step},
};
use tower_idempotency::{
    RetryLayer,
    retry::{Backoff, Budget, Outcome, SentOnce, Stopped, Verdict},
};

use crate::{bare, keyed, secs, seeded, told};

const FIELDS: [&str; 2] = ["x-should-retry", "stripe-should-retry"];

/// C25, SDKs.
#[tokio::test(start_paused = true)]
async fn c25_a_server_can_ask_for_a_retry_that_its_status_would_not_get() {
    for field in FIELDS {
        for status in [400, 404, 422, 501] {
            let script = Scripted::new([Step::with_headers(status, &[(field, "true")]), Step::status(200)]);
            assert_eq!(script.send(&seeded(), keyed("POST")).await.unwrap().status(), 200, "{field} {status}");
        }
    }
}

/// C25.
#[tokio::test(start_paused = true)]
async fn c25_a_server_can_refuse_a_retry_that_its_status_would_get() {
    for field in FIELDS {
        for status in [408, 409, 421, 425, 429, 500, 503] {
            let script = Scripted::new([Step::with_headers(status, &[(field, "false")])]);
            let answer = script.send(&seeded(), keyed("POST")).await.unwrap();
            assert_eq!((answer.status().as_u16(), script.attempts()), (status, 1), "{field} {status}");
        }
    }
}

/// C25: but never C01.
#[tokio::test(start_paused = true)]
async fn c25_no_server_opens_the_gate() {
    assert_eq!(once(&seeded(), bare("POST")).await, Stopped::NotRepeatable);
}

/// C25: nor C10.
#[tokio::test(start_paused = true)]
async fn c25_no_server_has_a_body_sent_twice_that_is_had_once() {
    let script = asking();
    let answer = script.send(&seeded(), keyed("POST").map(SentOnce::new)).await.unwrap();
    assert_eq!((script.attempts(), told(&answer).stopped()), (1, Stopped::Body));
}

/// C25: nor the number of attempts.
#[tokio::test(start_paused = true)]
async fn c25_no_server_gets_more_attempts() {
    let script = asking();
    let answer = script.send(&seeded(), keyed("POST")).await.unwrap();
    assert_eq!((script.attempts(), told(&answer).stopped()), (3, Stopped::Attempts));
}

/// C25: nor the budget.
#[tokio::test(start_paused = true)]
async fn c25_no_server_overdraws_the_budget() {
    assert_eq!(once(&seeded().budget(Budget::new(0)), keyed("POST")).await, Stopped::Budget);
}

/// C25: nor the deadline.
#[tokio::test(start_paused = true)]
async fn c25_no_server_gets_past_the_deadline() {
    let layer = seeded().backoff(Backoff::exponential(secs(2), secs(2))).deadline(secs(1));
    assert_eq!(once(&layer, keyed("POST")).await, Stopped::Deadline);
}

/// C30, Stripe: the stored answer stays what it is, however often it is asked for.
#[tokio::test(start_paused = true)]
async fn c30_a_marked_replay_is_returned_whatever_its_status() {
    for status in [400, 408, 409, 410, 429, 500, 503] {
        let script = Scripted::new([Step::with_headers(status, &[("idempotency-replayed", "true")])]);
        let answer = script.send(&seeded(), keyed("POST")).await.unwrap();
        assert_eq!((answer.status().as_u16(), script.attempts()), (status, 1));
    }
}

/// C30: the marker stays on the response.
#[tokio::test(start_paused = true)]
async fn c30_the_caller_sees_the_marker() {
    let replay = || Step::with_headers(500, &[("idempotency-replayed", "true")]);
    for steps in [vec![replay()], vec![Step::status(503), replay()]] {
        let answer = Scripted::new(steps).send(&seeded(), keyed("POST")).await.unwrap();
        assert_eq!(answer.headers()["idempotency-replayed"], "true");
    }
}

/// C30: not even a hint has a replay asked for again.
#[tokio::test(start_paused = true)]
async fn c30_no_hint_retries_a_replay() {
    let fields = [("idempotency-replayed", "true"), ("x-should-retry", "true"), ("retry-after", "1")];
    let script = Scripted::new([Step::with_headers(503, &fields)]);
    script.send(&seeded(), keyed("POST")).await.unwrap();
    assert_eq!(script.attempts(), 1);
}

/// C30: Stripe's name can be had.
#[tokio::test(start_paused = true)]
async fn c30_the_name_of_the_marker_is_a_setting() {
    let script = Scripted::new([Step::with_headers(500, &[("idempotent-replayed", "true")])]);
    let layer = seeded().replayed_header(HeaderName::from_static("idempotent-replayed"));
    script.send(&layer, keyed("POST")).await.unwrap();
    assert_eq!(script.attempts(), 1);
}

/// C31, GoCardless and Checkout: the 409 that means "already done" is what was asked for.
#[tokio::test(start_paused = true)]
async fn c31_a_classifier_makes_a_409_a_success() {
    let script = Scripted::new([Step::status(503), Step::status(409)]);
    let answer = script.send(&judging_409(Verdict::Success), keyed("POST")).await.unwrap();
    assert_eq!((answer.status().as_u16(), script.attempts()), (409, 2));
    assert_eq!((told(&answer).stopped(), told(&answer).outcome()), (Stopped::Succeeded, Outcome::Applied));
}

/// C31: without a key too, as the gate lets a GET pass.
#[tokio::test(start_paused = true)]
async fn c31_a_classifier_has_a_409_retried() {
    let script = Scripted::new([Step::status(409), Step::status(200)]);
    let answer = script.send(&judging_409(Verdict::Retry), bare("GET")).await.unwrap();
    assert_eq!((answer.status().as_u16(), script.attempts()), (200, 2));
}

/// C31.
#[tokio::test(start_paused = true)]
async fn c31_a_classifier_stops_at_a_409() {
    let script = Scripted::new([Step::status(409), Step::status(200)]);
    let answer = script.send(&judging_409(Verdict::Stop), keyed("POST")).await.unwrap();
    assert_eq!((answer.status().as_u16(), script.attempts()), (409, 1));
}

/// C31: it judges, and the gate stands above it.
#[tokio::test(start_paused = true)]
async fn c31_a_classifier_opens_no_gate() {
    let script = Scripted::new([Step::status(409)]);
    let answer = script.send(&judging_409(Verdict::Retry), bare("POST")).await.unwrap();
    assert_eq!((script.attempts(), told(&answer).stopped()), (1, Stopped::NotRepeatable));
}

fn judging_409(verdict: Verdict) -> RetryLayer {
    seeded().with_classifier(move |attempt| match attempt.response() {
        Some(head) if head.status() == StatusCode::CONFLICT => verdict,
        _ => attempt.verdict(),
    })
}

/// A server that is busy for ever and asks for a retry.
fn asking() -> Scripted {
    Scripted::new([Step::with_headers(503, &FIELDS.map(|field| (field, "true")))])
}

/// Why there was no second attempt, at once.
async fn once(layer: &RetryLayer, request: HeldRequest) -> Stopped {
    let script = asking();
    let answer = script.send(layer, request).await.unwrap();
    assert_eq!((script.attempts(), told(&answer).elapsed()), (1, Duration::ZERO));
    told(&answer).stopped()
}
