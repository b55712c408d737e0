//! C13, C19, C22, C23 and C33: how many attempts, how far apart, and their end.

use std::time::Duration;

use http::HeaderName;
use lab::scripted::{Scripted, Step};
use tokio::time::Instant;
use tower_idempotency::{
    RetryLayer,
    retry::{Backoff, Budget, Repeat, RetryInfo, Stopped},
};

use crate::{bare, eager, keyed, millis, secs, seeded, told};

/// C13, RL 8.5.1, SDKs: a server that asks for more than the cap gets no wait at all. An option to fall back on the
/// ordinary backoff, which the row allows, the contract's rule 5 does not have.
#[tokio::test(start_paused = true)]
async fn c13_a_hint_above_the_cap_returns_the_response_at_once() {
    for (field, value) in [("retry-after", "61"), ("retry-after-ms", "60001"), ("grpc-retry-pushback-ms", "60001")] {
        let script = Scripted::new([Step::with_headers(503, &[(field, value)])]);
        let answer = script.send(&seeded(), bare("GET")).await.unwrap();
        assert_eq!((answer.status().as_u16(), script.attempts(), told(&answer).stopped()), (503, 1, Stopped::Hint));
        assert_eq!(told(&answer).elapsed(), Duration::ZERO, "{field}");
    }
}

/// C13: the cap itself is still waited for.
#[tokio::test(start_paused = true)]
async fn c13_a_hint_at_the_cap_is_waited_for() {
    let script = Scripted::new([Step::with_headers(503, &[("retry-after", "60")]), Step::status(200)]);
    assert_eq!(script.send(&eager(), bare("GET")).await.unwrap().status(), 200);
    assert!(script.waits()[0] >= secs(60));
}

/// C13: the cap is a setting.
#[tokio::test(start_paused = true)]
async fn c13_the_cap_is_a_setting() {
    let script = Scripted::new([Step::with_headers(503, &[("retry-after", "3")])]);
    let answer = script.send(&seeded().max_hint(secs(2)), bare("GET")).await.unwrap();
    assert_eq!((script.attempts(), told(&answer).stopped()), (1, Stopped::Hint));
}

/// C13: never past the overall deadline.
#[tokio::test(start_paused = true)]
async fn c13_a_hint_past_the_deadline_returns_the_response_at_once() {
    for hint in ["10", "30"] {
        let script = Scripted::new([Step::with_headers(503, &[("retry-after", hint)])]);
        let answer = script.send(&eager().deadline(secs(10)), bare("GET")).await.unwrap();
        assert_eq!((answer.status().as_u16(), script.attempts(), told(&answer).stopped()), (503, 1, Stopped::Deadline));
        assert_eq!(told(&answer).elapsed(), Duration::ZERO, "{hint}");
    }
}

/// C19, 9110 9.2.2.
#[tokio::test(start_paused = true)]
async fn c19_three_attempts_are_made_by_default() {
    let script = Scripted::new([Step::status(503)]);
    let answer = script.send(&seeded(), bare("GET")).await.unwrap();
    assert_eq!((script.attempts(), told(&answer).stopped()), (3, Stopped::Attempts));
}

/// C19: "a client SHOULD NOT automatically retry a failed automatic retry", to the letter.
#[tokio::test(start_paused = true)]
async fn c19_two_attempts_retry_no_retry() {
    let script = Scripted::new([Step::status(503)]);
    script.send(&seeded().max_attempts(2), bare("GET")).await.unwrap();
    assert_eq!(script.attempts(), 2);
}

/// C19: whatever the failures are, and in whatever order.
#[tokio::test(start_paused = true)]
async fn c19_attempts_are_bounded_whatever_the_failures() {
    let failures = || [Step::refused(), Step::status(425), Step::Never, Step::reset(), Step::status(429)];
    for first in 0..5 {
        let mut steps: Vec<_> = failures().into();
        steps.rotate_left(first);
        let script = Scripted::new(steps);
        let _ = script.send(&seeded().attempt_timeout(secs(1)), keyed("POST")).await;
        assert_eq!(script.attempts(), 3, "beginning with {first}");
    }
}

/// C22, A6: each strategy between its bounds, for a thousand seeds.
#[test]
fn c22_delays_stay_in_their_bounds() {
    let (base, cap) = (millis(100), secs(2));
    let value = |n: u32| (base * 2_u32.pow(n)).min(cap);
    for seed in 0..1000 {
        for n in 0..8 {
            let delay = |backoff: Backoff| backoff.delays(seed).nth(n as usize).expect("endless");
            let v = value(n);
            assert_eq!(delay(Backoff::exponential(base, cap)), v);
            assert!(delay(Backoff::full(base, cap)) < v);
            assert!((v / 2..v).contains(&delay(Backoff::equal(base, cap))));
            assert!((v * 3 / 4..=v).contains(&delay(Backoff::downward(base, cap))));
            assert!((v * 9 / 10..=cap.min(v * 11 / 10)).contains(&delay(Backoff::proportional(base, cap))));
            assert!((base..=cap).contains(&delay(Backoff::decorrelated(base, cap))));
        }
    }
}

/// C22: what the layer waits is what the strategy says: exponential, then capped.
#[tokio::test(start_paused = true)]
async fn c22_the_waits_of_a_request_double_up_to_the_cap() {
    let script = Scripted::new([Step::reset()]);
    let layer = seeded().max_attempts(6).backoff(Backoff::exponential(secs(1), secs(5)));
    script.send(&layer, bare("GET")).await.unwrap_err();
    assert_eq!(script.waits(), [1, 2, 4, 5, 5].map(secs));
}

/// C22: the default is jittered, from 0 to 100 and 200 ms.
#[tokio::test(start_paused = true)]
async fn c22_the_default_waits_are_jittered() {
    let mut firsts = Vec::new();
    for seed in 0..100 {
        let script = Scripted::new([Step::reset()]);
        script.send(&RetryLayer::new().seed(seed), bare("GET")).await.unwrap_err();
        let waits = script.waits();
        // tokio's timers end on whole milliseconds.
        assert!(waits[0] <= millis(101) && waits[1] <= millis(201), "{waits:?}");
        firsts.push(waits[0]);
    }
    firsts.sort();
    assert!(firsts[10] < millis(30) && firsts[90] > millis(70), "{firsts:?}");
}

/// C22: seeded, they are the same every time.
#[tokio::test(start_paused = true)]
async fn c22_the_same_seed_waits_the_same() {
    let scripts = [(); 2].map(|()| Scripted::new([Step::reset()]));
    for script in &scripts {
        script.send(&seeded().max_attempts(10), bare("GET")).await.unwrap_err();
    }
    assert_eq!(scripts[0].waits(), scripts[1].waits());
}

/// C23, A6: of ten tokens the fifth failure leaves five, which is not more than half.
#[tokio::test(start_paused = true)]
async fn c23_after_five_failures_nothing_is_retried() {
    let script = Scripted::new([Step::status(503)]);
    let layer = eager().budget(Budget::grpc()).max_attempts(100);
    let answer = script.send(&layer, bare("GET")).await.unwrap();
    assert_eq!((script.attempts(), told(&answer).stopped()), (5, Stopped::Budget));
}

/// C23: a blocked retry is not queued: the failure is returned at once.
#[tokio::test(start_paused = true)]
async fn c23_a_blocked_retry_returns_at_once() {
    let script = Scripted::new([Step::status(503)]);
    let layer = seeded().budget(Budget::grpc()).backoff(Backoff::exponential(secs(60), secs(60)));
    for _ in 0..2 {
        script.send(&layer, bare("GET")).await.unwrap();
    }
    let begun = Instant::now();
    let answer = script.send(&layer, bare("GET")).await.unwrap();
    assert_eq!((told(&answer).stopped(), begun.elapsed()), (Stopped::Budget, Duration::ZERO));
}

/// C23: 10 successes leave 6.0 tokens, of which the next failure takes one: 5.0, which is not more than half. It takes 11.
#[tokio::test(start_paused = true)]
async fn c23_enough_successes_allow_a_retry_again() {
    for (successes, attempts) in [(10, 1), (11, 2)] {
        let budget = Budget::grpc();
        let layer = eager().budget(budget.clone()).max_attempts(100);
        Scripted::new([Step::status(503)]).send(&layer, bare("GET")).await.unwrap();
        for _ in 0..successes {
            Scripted::new([Step::status(200)]).send(&layer, bare("GET")).await.unwrap();
        }
        let script = Scripted::new([Step::status(503)]);
        script.send(&layer, bare("GET")).await.unwrap();
        assert_eq!(script.attempts(), attempts, "after {successes} successes");
    }
}

/// C33, Azure and A6: nothing of the attempt is left.
#[tokio::test(start_paused = true)]
async fn c33_dropping_the_request_drops_the_attempt() {
    let script = Scripted::new([Step::status(503), Step::Never]);
    let layer = eager();
    let sending = script.send(&layer, bare("GET"));
    assert!(tokio::time::timeout(secs(1), sending).await.is_err());
    assert_eq!((script.attempts(), script.in_flight()), (2, 0));
}

/// C33: and no attempt follows.
#[tokio::test(start_paused = true)]
async fn c33_dropping_the_request_ends_the_wait() {
    let script = Scripted::new([Step::status(503), Step::status(200)]);
    let layer = seeded().backoff(Backoff::exponential(secs(10), secs(10)));
    let sending = script.send(&layer, bare("GET"));
    assert!(tokio::time::timeout(secs(9), sending).await.is_err());
    tokio::time::advance(secs(100)).await;
    assert_eq!((script.attempts(), script.in_flight()), (1, 0));
}

/// C33, A6: in the extensions of each repeat, and in what the caller learns.
#[tokio::test(start_paused = true)]
async fn c33_the_number_of_the_attempt_is_available() {
    let script = Scripted::new([Step::status(503)]);
    let answer = script.send(&seeded(), bare("GET")).await.unwrap();
    let seen = script.seen();
    let numbers = seen.iter().map(|seen| seen.request.extensions().get::<Repeat>().map(|repeat| repeat.number()));
    assert_eq!(numbers.collect::<Vec<_>>(), [None, Some(2), Some(3)]);
    assert_eq!(answer.extensions().get::<RetryInfo>().unwrap().attempts(), 3);
}

/// C33: a header of our own only where it is asked for.
#[tokio::test(start_paused = true)]
async fn c33_the_number_stands_in_a_header_only_if_asked_for() {
    let (silent, counting) = (Scripted::new([Step::status(503)]), Scripted::new([Step::status(503)]));
    let name = HeaderName::from_static("x-attempt");
    silent.send(&seeded(), bare("GET")).await.unwrap();
    counting.send(&seeded().with_attempt_header(name), bare("GET")).await.unwrap();
    let request = bare("GET");
    assert!(silent.seen().iter().all(|seen| seen.request.headers() == request.headers()));
    assert_eq!(counting.header("x-attempt"), [1, 2, 3].map(|number| Some(number.to_string())));
}
