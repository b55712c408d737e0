//! K7, K19, K20 and K26: what is sent again, and with which key.

use std::{collections::HashSet, time::Duration};

use lab::{
    exchange::{get, post, post_without_key},
    scripted::{Scripted, Step},
};
use tower_idempotency::retry::{Outcome, RetryInfo, Stopped};

use crate::{secs, seeded, told, waiting};

/// K7.
#[tokio::test(start_paused = true)]
async fn k7_a_post_without_a_key_is_sent_once_to_a_busy_server() {
    let script = Scripted::new([Step::status(503), Step::status(201)]);
    let answer = script.send(&seeded(), post_without_key("{}")).await.unwrap();
    assert_eq!((answer.status().as_u16(), script.attempts()), (503, 1));
    assert_eq!((told(&answer).stopped(), told(&answer).outcome()), (Stopped::NotRepeatable, Outcome::Unknown));
}

/// K7.
#[tokio::test(start_paused = true)]
async fn k7_a_post_without_a_key_that_timed_out_is_sent_once() {
    let script = Scripted::new([Step::Never]);
    let error = script.send(&seeded().attempt_timeout(secs(1)), post_without_key("{}")).await.unwrap_err();
    assert_eq!((script.attempts(), script.in_flight()), (1, 0));
    assert_eq!((error.info().stopped(), error.outcome()), (Stopped::NotRepeatable, Outcome::Unknown));
}

/// K7.
#[tokio::test(start_paused = true)]
async fn k7_a_post_without_a_key_whose_connection_is_refused_is_repeated() {
    let script = Scripted::new([Step::refused(), Step::refused(), Step::status(201)]);
    let answer = script.send(&seeded(), post_without_key("{}")).await.unwrap();
    assert_eq!((answer.status().as_u16(), script.attempts()), (201, 3));
}

/// K7: until an attempt may have been applied.
#[tokio::test(start_paused = true)]
async fn k7_after_a_refused_connection_the_gate_is_still_closed() {
    let script = Scripted::new([Step::refused(), Step::reset(), Step::status(201)]);
    let error = script.send(&seeded(), post_without_key("{}")).await.unwrap_err();
    assert_eq!((script.attempts(), error.info().stopped()), (2, Stopped::NotRepeatable));
    assert_eq!(error.outcome(), Outcome::Unknown);
}

/// K19.
#[tokio::test(start_paused = true)]
async fn k19_a_key_that_the_caller_set_stays_for_three_attempts() {
    let script = Scripted::new([Step::status(503), Step::status(503), Step::status(201)]);
    let answer = script.send(&seeded().with_idempotency_keys(), post("order-17", "{}")).await.unwrap();
    assert_eq!(script.header("idempotency-key"), [(); 3].map(|()| Some("order-17".into())));
    assert_eq!(told(&answer).key().unwrap().as_str(), "order-17");
}

/// K19.
#[tokio::test(start_paused = true)]
async fn k19_a_key_of_ours_is_the_same_on_three_attempts_and_another_for_each_request() {
    let layer = seeded().with_idempotency_keys();
    let mut keys = HashSet::new();
    for _ in 0..10 {
        let script = Scripted::new([Step::status(503), Step::reset(), Step::status(201)]);
        let answer = script.send(&layer, post_without_key("{}")).await.unwrap();
        let sent = script.header("idempotency-key");
        assert!(sent.len() == 3 && sent.iter().all(|key| *key == sent[0]), "{sent:?}");
        assert_eq!(sent[0].as_deref(), told(&answer).key().unwrap().to_header_value().to_str().ok());
        keys.insert(sent[0].clone());
    }
    assert_eq!(keys.len(), 10);
}

/// K19: a request that needs none has none.
#[tokio::test(start_paused = true)]
async fn k19_a_get_is_given_no_key() {
    let script = Scripted::new([Step::status(503)]);
    script.send(&seeded().with_idempotency_keys(), get("/")).await.unwrap();
    assert_eq!(script.header("idempotency-key"), [None, None, None]);
}

/// K20.
#[tokio::test(start_paused = true)]
async fn k20_a_422_a_400_and_a_409_without_a_key_are_returned_at_once() {
    for status in [422, 400, 409] {
        for request in [post_without_key("{}"), get("/")] {
            let script = Scripted::new([Step::status(status)]);
            let begun = tokio::time::Instant::now();
            let answer = script.send(&waiting(secs(60)), request).await.unwrap();
            assert_eq!((answer.status().as_u16(), script.attempts(), begun.elapsed()), (status, 1, Duration::ZERO));
            assert!(answer.extensions().get::<RetryInfo>().is_none(), "{status}");
        }
    }
}

/// K26: a first answer of a layer of ours says `false`.
#[tokio::test(start_paused = true)]
async fn k26_a_503_that_is_marked_as_no_replay_is_retried() {
    for mark in ["false", "", "TRUE", "1", "?1"] {
        let script = Scripted::new([Step::with_headers(503, &[("idempotency-replayed", mark)]), Step::status(201)]);
        let answer = script.send(&seeded(), post("k", "{}")).await.unwrap();
        assert_eq!((answer.status().as_u16(), script.attempts()), (201, 2), "{mark:?}");
    }
}

/// K26: so does the 410 of a first answer settle nothing.
#[tokio::test(start_paused = true)]
async fn k26_a_410_that_is_marked_as_no_replay_leaves_it_unknown() {
    let script = Scripted::new([Step::reset(), Step::with_headers(410, &[("idempotency-replayed", "false")])]);
    let answer = script.send(&seeded(), post("k", "{}")).await.unwrap();
    assert_eq!((told(&answer).stopped(), told(&answer).outcome()), (Stopped::NotRetryable, Outcome::Unknown));
}
