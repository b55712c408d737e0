//! C11, C12, C14, C24, C26 and C27: what a server asks for.

use std::time::Duration;

use lab::scripted::{Scripted, Step, answer};
use tower_idempotency::retry::{Backoff, Stopped};

use crate::{bare, eager, keyed, millis, secs, seeded, told};

const SENT: &str = "Sun, 06 Nov 1994 08:48:37 GMT";
/// A minute after [`SENT`], in the three forms of RFC 9110 §5.6.7.
const FORMS: [&str; 3] =
    ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"];

/// C11, 9110 10.2.3: from the receipt of the response, not from when the request was sent.
#[tokio::test(start_paused = true)]
async fn c11_a_retry_after_in_seconds_is_a_minimum_from_receipt() {
    let script = Scripted::new([Step::Late(secs(40), answer(503, &[("retry-after", "120")], "")), Step::status(200)]);
    script.send(&eager().max_hint(secs(120)), bare("GET")).await.unwrap();
    assert!(asked_for(script.waits()[0] - secs(40), secs(120)), "{:?}", script.waits());
}

/// C11: none of these is `1*DIGIT`. An option to read a float, which the row allows, the contract's rule 5 does not have.
#[tokio::test(start_paused = true)]
async fn c11_what_is_no_retry_after_is_the_ordinary_backoff() {
    for value in ["1.5", "-1", "+5", "", "5s", "soon"] {
        assert_eq!(waited(503, &[("retry-after", value)]).await, ORDINARY, "{value:?}");
    }
}

/// C12, 9110 5.6.7.
#[tokio::test(start_paused = true)]
async fn c12_each_form_of_a_date_is_waited_for() {
    for at in FORMS {
        let wait = waited(503, &[("date", SENT), ("retry-after", at)]).await;
        assert!(asked_for(wait - ORDINARY, secs(60)), "{at}: {wait:?}");
    }
}

/// C12: a date counts from the response's own `Date`; without one there is nothing to count from.
#[tokio::test(start_paused = true)]
async fn c12_a_date_that_counts_from_nothing_is_the_ordinary_backoff() {
    for at in FORMS {
        assert_eq!(waited(503, &[("retry-after", at)]).await, ORDINARY, "{at}");
    }
}

/// C12: two digits more than 50 years ahead are the past: in 2026 the year 77 is 1977, and 70 is 2070.
#[tokio::test(start_paused = true)]
async fn c12_two_digits_are_a_year_up_to_fifty_ahead() {
    let sent = ("date", "Thu, 01 Jan 2026 00:00:00 GMT");
    assert_eq!(waited(503, &[sent, ("retry-after", "Saturday, 01-Jan-77 00:00:00 GMT")]).await, ORDINARY);
    let script =
        Scripted::new([Step::with_headers(503, &[sent, ("retry-after", "Wednesday, 01-Jan-70 00:00:00 GMT")])]);
    let answer = script.send(&seeded(), bare("GET")).await.unwrap();
    assert_eq!((script.attempts(), told(&answer).stopped()), (1, Stopped::Hint));
}

/// C12.
#[tokio::test(start_paused = true)]
async fn c12_a_date_in_the_past_adds_no_wait() {
    for at in FORMS {
        let sent = ("date", "Mon, 07 Nov 1994 00:00:00 GMT");
        assert_eq!(waited(503, &[sent, ("retry-after", at)]).await, ORDINARY, "{at}");
    }
}

/// C14, 9110 15.6.4 and 15.5.14, 6585 4.
#[tokio::test(start_paused = true)]
async fn c14_a_503_a_429_and_a_413_wait_as_told() {
    for status in [503, 429, 413] {
        let wait = waited(status, &[("retry-after", "30")]).await;
        assert!(asked_for(wait - ORDINARY, secs(30)), "{status}: {wait:?}");
    }
}

/// C14: a body that is too large stays too large.
#[tokio::test(start_paused = true)]
async fn c14_a_plain_413_is_not_retried() {
    let script = Scripted::new([Step::status(413)]);
    assert_eq!(script.send(&seeded(), keyed("POST")).await.unwrap().status(), 413);
    assert_eq!(script.attempts(), 1);
}

/// C24, A6; rule 5: one of the hints. Not a millisecond is added, and the next delay is the first of the backoff again.
#[tokio::test(start_paused = true)]
async fn c24_a_pushback_is_an_exact_wait_and_begins_the_backoff_anew() {
    let pushback = || Step::with_headers(503, &[("grpc-retry-pushback-ms", "1500")]);
    let script = Scripted::new([Step::status(503), Step::status(503), pushback(), Step::status(503)]);
    let layer = seeded().max_attempts(6).backoff(Backoff::exponential(secs(1), secs(60)));
    script.send(&layer, bare("GET")).await.unwrap();
    assert_eq!(script.waits(), [1000, 2000, 1500, 1000, 2000].map(millis));
}

/// C24: zero is at once.
#[tokio::test(start_paused = true)]
async fn c24_a_pushback_of_zero_is_no_wait() {
    assert_eq!(waited(503, &[("grpc-retry-pushback-ms", "0")]).await, Duration::ZERO);
}

/// C24.
#[tokio::test(start_paused = true)]
async fn c24_a_pushback_that_is_negative_or_garbage_ends_the_retries() {
    for value in ["-1", "", "soon", "1.5", "+5", "2147483648"] {
        let script = Scripted::new([Step::with_headers(503, &[("grpc-retry-pushback-ms", value)])]);
        let answer = script.send(&seeded(), bare("GET")).await.unwrap();
        assert_eq!((script.attempts(), told(&answer).stopped()), (1, Stopped::Pushback), "{value:?}");
    }
}

/// C26, SDKs: whichever is longer, and with the pushback of C24 above all.
#[tokio::test(start_paused = true)]
async fn c26_of_several_hints_the_first_of_their_order_counts() {
    let ascending = [("retry-after-ms", "10000"), ("retry-after", "20"), ("ratelimit", r#""default";r=0;t=30"#)];
    let descending = [("retry-after-ms", "30000"), ("retry-after", "20"), ("ratelimit", r#""default";r=0;t=10"#)];
    for (fields, seconds) in [(ascending, [10, 20, 30]), (descending, [30, 20, 10])] {
        for (from, expected) in seconds.into_iter().enumerate() {
            let wait = waited(429, &fields[from..]).await;
            assert!(asked_for(wait - ORDINARY, secs(expected)), "{:?}: {wait:?}", &fields[from..]);
        }
    }
}

/// C26: none of them left, it is the backoff.
#[tokio::test(start_paused = true)]
async fn c26_a_hint_that_cannot_be_read_gives_way_to_the_next() {
    let quota = ("ratelimit", r#""default";r=0;t=30"#);
    let unread = [("retry-after-ms", "soon"), ("retry-after", "-1")];
    assert!(asked_for(waited(429, &[unread[0], unread[1], quota]).await - ORDINARY, secs(30)));
    assert_eq!(waited(429, &unread).await, ORDINARY);
}

/// C27, RL 7 and 7.3.
#[tokio::test(start_paused = true)]
async fn c27_retry_after_beats_a_longer_rate_limit() {
    let wait = waited(429, &[("ratelimit", r#""default";r=0;t=50"#), ("retry-after", "5")]).await;
    assert!(asked_for(wait - ORDINARY, secs(5)), "{wait:?}");
}

/// C27.
#[tokio::test(start_paused = true)]
async fn c27_a_malformed_rate_limit_is_ignored() {
    for value in ["limit=100, remaining=0, reset=30", "default;r=0;t=30", r#""a";r=-1;t=30"#, r#""a";t=30"#, "\"a"] {
        assert_eq!(waited(429, &[("ratelimit", value)]).await, ORDINARY, "{value}");
    }
}

/// C27.
#[tokio::test(start_paused = true)]
async fn c27_a_rate_limit_from_a_cache_is_ignored() {
    let quota = ("ratelimit", r#""default";r=0;t=30"#);
    assert_eq!(waited(429, &[("age", "1"), quota]).await, ORDINARY);
    assert!(asked_for(waited(429, &[("age", "0"), quota]).await - ORDINARY, secs(30)));
}

/// What [`waited`] waits without a hint.
const ORDINARY: Duration = secs(2);

/// How long it is until the second attempt, after a first answer with these fields.
async fn waited(status: u16, fields: &[(&'static str, &str)]) -> Duration {
    let script = Scripted::new([Step::with_headers(status, fields), Step::status(200)]);
    let layer = seeded().backoff(Backoff::exponential(ORDINARY, ORDINARY));
    assert_eq!(script.send(&layer, bare("GET")).await.unwrap().status(), 200, "{fields:?}");
    script.waits()[0]
}

/// Whether a wait is this hint, with the tenth at most that is added at random, and a timer's millisecond.
fn asked_for(wait: Duration, hint: Duration) -> bool {
    (hint..=hint + hint / 10 + millis(1)).contains(&wait)
}
