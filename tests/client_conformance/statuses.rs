//! C08, C15, C16, C20, C21 and C32: which answers are asked for again.

use lab::scripted::{Scripted, Step};
use tower_idempotency::retry::{Outcome, RetryInfo, SentOnce, Stopped};

use crate::{bare, keyed, seeded, told, with_field};

/// C08, IK 2.7: the request is wrong, and a repeat unchanged would be as wrong.
#[tokio::test(start_paused = true)]
async fn c08_a_400_and_a_422_are_not_retried() {
    for status in [400, 422] {
        let script = Scripted::new([Step::status(status)]);
        let answer = script.send(&seeded(), keyed("POST")).await.unwrap();
        assert_eq!((answer.status().as_u16(), script.attempts()), (status, 1));
    }
}

/// C08: the first run was still under way. Unchanged is what C09 asserts.
#[tokio::test(start_paused = true)]
async fn c08_a_409_is_retried_with_its_key() {
    let script = Scripted::new([Step::status(409), Step::status(201)]);
    let answer = script.send(&seeded(), keyed("POST")).await.unwrap();
    assert_eq!((answer.status().as_u16(), told(&answer).outcome()), (201, Outcome::Applied));
    assert_eq!(script.header("idempotency-key"), [Some("\"k\"".into()), Some("\"k\"".into())]);
}

/// C15, 9110 15.5.9.
#[tokio::test(start_paused = true)]
async fn c15_a_408_is_retried_where_a_second_copy_does_no_harm() {
    for request in [bare("GET"), keyed("POST")] {
        let script = Scripted::new([Step::status(408), Step::status(200)]);
        assert_eq!(script.send(&seeded(), request).await.unwrap().status(), 200);
    }
}

/// C15: not if C01 forbids it.
#[tokio::test(start_paused = true)]
async fn c15_a_408_of_a_post_without_a_key_is_returned() {
    let script = Scripted::new([Step::status(408)]);
    let answer = script.send(&seeded(), bare("POST")).await.unwrap();
    assert_eq!((script.attempts(), told(&answer).stopped()), (1, Stopped::NotRepeatable));
}

/// C15: nor if the body is gone.
#[tokio::test(start_paused = true)]
async fn c15_a_408_of_a_body_that_is_had_once_is_returned() {
    let script = Scripted::new([Step::status(408)]);
    let answer = script.send(&seeded(), bare("PUT").map(SentOnce::new)).await.unwrap();
    assert_eq!((script.attempts(), told(&answer).stopped()), (1, Stopped::Body));
}

/// C16, 9110 15.5.20.
#[tokio::test(start_paused = true)]
async fn c16_a_421_is_retried_for_any_method() {
    for method in ["GET", "POST", "PATCH", "CHARGE"] {
        let script = Scripted::new([Step::status(421), Step::status(200)]);
        assert_eq!(script.send(&seeded(), bare(method)).await.unwrap().status(), 200, "{method}");
    }
}

/// C16: the pool may give the same connection for ever.
#[tokio::test(start_paused = true)]
async fn c16_a_421_is_retried_once() {
    for request in [bare("POST"), keyed("POST")] {
        let script = Scripted::new([Step::status(421)]);
        let answer = script.send(&seeded().max_attempts(10), request).await.unwrap();
        assert_eq!((answer.status().as_u16(), script.attempts()), (421, 2));
        assert_eq!(told(&answer).outcome(), Outcome::NotApplied);
    }
}

/// C16: with other failures in between too.
#[tokio::test(start_paused = true)]
async fn c16_a_421_after_other_failures_is_not_retried_again() {
    let script = Scripted::new([Step::status(421), Step::status(503), Step::status(421), Step::status(200)]);
    let answer = script.send(&seeded().max_attempts(10), keyed("POST")).await.unwrap();
    assert_eq!((answer.status().as_u16(), script.attempts()), (421, 3));
}

/// C20, 9110 15.
#[tokio::test(start_paused = true)]
async fn c20_an_unknown_status_is_the_first_of_its_class() {
    for (unknown, attempts) in [(599, 3), (509, 3), (471, 1), (499, 1), (399, 1)] {
        let script = Scripted::new([Step::status(unknown)]);
        assert_eq!(script.send(&seeded(), keyed("POST")).await.unwrap().status(), unknown);
        assert_eq!(script.attempts(), attempts, "{unknown}");
    }
}

/// C20: what is above 599 is a server's error.
#[tokio::test(start_paused = true)]
async fn c20_a_status_above_599_is_a_5xx() {
    for invalid in [600, 777, 999] {
        let script = Scripted::new([Step::status(invalid)]);
        let answer = script.send(&seeded(), keyed("POST")).await.unwrap();
        assert_eq!((script.attempts(), told(&answer).outcome()), (3, Outcome::Unknown), "{invalid}");
    }
}

/// C21, A6 and Azure: with 421 (C16), and what has no meaning of its own above 500 (C20).
#[tokio::test(start_paused = true)]
async fn c21_these_and_no_others_are_retried_by_default() {
    let unregistered = |status| status == 509 || status >= 512;
    for status in 200..=999 {
        let listed = [408, 421, 425, 429, 500, 502, 503, 504].contains(&status) || unregistered(status);
        for (request, expected) in [(bare("GET"), listed), (keyed("POST"), listed || status == 409)] {
            let script = Scripted::new([Step::status(status), Step::status(200)]);
            let method = request.method().clone();
            script.send(&seeded(), request).await.unwrap();
            assert_eq!(script.attempts() == 2, expected, "{method} {status}");
        }
    }
}

/// C32, 9205 4.6.1, 9110 15.4: the layer hands every redirect to its caller and follows none, so a key goes where its
/// caller sends it. What a client inside does with redirects is that client's: how reqwest's are switched off stands on
/// the page of its adapter, and a test there shows it.
#[tokio::test(start_paused = true)]
async fn c32_a_redirect_is_handed_over_and_never_followed() {
    for status in [301, 302, 303, 307, 308] {
        for target in ["/elsewhere", "https://elsewhere.example/"] {
            let script = Scripted::new([Step::with_headers(status, &[("location", target)])]);
            let answer = script.send(&seeded().with_idempotency_keys(), bare("POST")).await.unwrap();
            assert_eq!((answer.status().as_u16(), script.attempts()), (status, 1));
            assert_eq!(answer.headers()["location"], target);
            assert!(answer.extensions().get::<RetryInfo>().is_none());
        }
    }
}

/// C32: nor does a `Retry-After` on it, the least wait before it is followed (9110 10.2.3), make a retry.
#[tokio::test(start_paused = true)]
async fn c32_a_redirect_that_asks_to_wait_is_handed_over_at_once() {
    let script = Scripted::new([Step::with_headers(307, &[("location", "/busy"), ("retry-after", "30")])]);
    let answer = script.send(&seeded(), with_field(bare("GET"), "idempotency-key", "k")).await.unwrap();
    assert_eq!((answer.status().as_u16(), script.attempts()), (307, 1));
}
