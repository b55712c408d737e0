//! Rule 5: what the server asks for. How each field is read is tested beside the reader, to the last form.

use std::{collections::HashSet, time::Duration};

use futures_util::future::join_all;
use lab::{
    exchange::get,
    scripted::{Scripted, Step},
};
use tower::Layer;
use tower_idempotency::{RetryLayer, retry::Stopped};

use crate::support::{at_once, hours, millis, once, secs, send, status, stopped, waiting};

const DATE: (&str, &str) = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");

/// How long a GET waits after a 503 with these lines; `None` if the 503 is handed over.
async fn wait_of(layer: RetryLayer, lines: &[(&'static str, &str)]) -> Option<Duration> {
    let client = once(Step::with_headers(503, lines));
    send(&layer.layer(client.clone()), get("/reports")).await.expect("a response");
    client.waits().first().copied()
}

/// Waits of nothing but what the server asks for, up to an hour.
fn obedient() -> RetryLayer {
    at_once().max_hint(hours(1))
}

fn is_floor(seconds: u64, wait: Option<Duration>) -> bool {
    wait.is_some_and(|wait| wait >= secs(seconds) && wait <= secs(seconds).mul_f64(1.1))
}

/// Rule 5: `Retry-After` in seconds, or as any of the three HTTP dates, relative to `Date` (K4, K5).
#[tokio::test(start_paused = true)]
async fn retry_after_is_waited_for() {
    let soon =
        ["120", " 120 ", "Sun, 06 Nov 1994 08:51:37 GMT", "Sunday, 06-Nov-94 08:51:37 GMT", "Sun Nov  6 08:51:37 1994"];
    for value in soon {
        let wait = wait_of(obedient(), &[("retry-after", value), DATE]).await;
        assert!(is_floor(120, wait), "{value}: {wait:?}");
    }
}

/// Rule 5: the other fields that ask for a wait, the first from the left before the next.
#[tokio::test(start_paused = true)]
async fn the_relatives_of_retry_after_are_waited_for() {
    let (ms, after, limit) = (("retry-after-ms", "3000"), ("retry-after", "20"), ("ratelimit", "\"a\";r=0;t=30"));
    for (seconds, lines) in [(3, vec![ms, after, limit]), (20, vec![after, limit]), (30, vec![limit])] {
        let wait = wait_of(obedient(), &lines).await;
        assert!(is_floor(seconds, wait), "{lines:?}: {wait:?}");
    }
}

/// Rule 5: a quota that has something left did not refuse the request.
#[tokio::test(start_paused = true)]
async fn a_quota_with_something_left_asks_for_nothing() {
    assert_eq!(wait_of(obedient(), &[("ratelimit", "\"a\";r=1;t=30")]).await, Some(Duration::ZERO));
}

/// Rule 5: gRPC's pushback is exact, and the one that may ask for no wait at all.
#[tokio::test(start_paused = true)]
async fn a_pushback_is_waited_for_exactly() {
    for (value, ms) in [("1234", 1234), ("0", 0)] {
        let lines = [("grpc-retry-pushback-ms", value), ("retry-after", "20")];
        assert_eq!(wait_of(waiting(secs(9)), &lines).await, Some(millis(ms)));
    }
}

/// Rule 5: after a pushback the backoff begins with its first delay (gRPC A6).
#[tokio::test(start_paused = true)]
async fn after_a_pushback_the_backoff_starts_again() {
    let pushback = Step::with_headers(503, &[("grpc-retry-pushback-ms", "7000")]);
    let client = Scripted::new([Step::status(503), Step::status(503), pushback, Step::status(503)]);
    let layer = at_once().backoff(tower_idempotency::retry::Backoff::exponential(secs(1), secs(99))).max_attempts(6);

    send(&layer.layer(client.clone()), get("/reports")).await.expect("a response");

    assert_eq!(client.waits(), [1, 2, 7, 1, 2].map(secs));
}

/// Rule 5: a pushback that is no number asks for no retry (gRPC A6).
#[tokio::test(start_paused = true)]
async fn a_pushback_that_is_no_number_ends_the_retries() {
    for value in ["-1", "soon", "2147483648"] {
        let client = once(Step::with_headers(503, &[("grpc-retry-pushback-ms", value)]));

        let ended = send(&at_once().layer(client.clone()), get("/reports")).await;

        assert_eq!((client.attempts(), stopped(&ended)), (1, Stopped::Pushback), "{value}");
    }
}

/// Rule 5: a floor, with the backoff above it.
#[tokio::test(start_paused = true)]
async fn the_backoff_comes_on_top_of_what_the_server_asks_for() {
    let wait = wait_of(waiting(secs(5)), &[("retry-after", "10")]).await.expect("a retry");

    assert!(wait >= secs(15) && wait <= secs(16), "{wait:?}");
}

/// Rule 5: a hundred clients that were told the same time do not come back together (K6).
#[tokio::test(start_paused = true)]
async fn clients_that_were_told_the_same_time_spread_above_it() {
    let layer = at_once();
    let waits = join_all((0..100).map(|_| wait_of(layer.clone(), &[("retry-after", "60")]))).await;

    assert!(waits.iter().all(|wait| is_floor(60, *wait)), "{waits:?}");
    assert!(waits.iter().collect::<HashSet<_>>().len() > 90);
}

/// Rule 5: beyond the maximum, 60 s, the response is returned now; a huge number is beyond any (K4).
#[tokio::test(start_paused = true)]
async fn a_longer_wait_than_is_allowed_returns_the_response_at_once() {
    let lines = [
        ("retry-after", "61"),
        ("retry-after", "9223372037"),
        ("retry-after", "99999999999999999999"),
        ("retry-after-ms", "60001"),
        ("ratelimit", "\"a\";r=0;t=61"),
        ("grpc-retry-pushback-ms", "60001"),
    ];
    for line in lines {
        let client = once(Step::with_headers(503, &[line]));

        let ended = send(&at_once().layer(client.clone()), get("/reports")).await;

        assert_eq!((client.attempts(), status(&ended), stopped(&ended)), (1, 503, Stopped::Hint), "{line:?}");
    }
}

/// Rule 5: the maximum itself is allowed.
#[tokio::test(start_paused = true)]
async fn the_longest_wait_that_is_allowed_is_waited_for() {
    assert!(is_floor(60, wait_of(at_once(), &[("retry-after", "60")]).await));
}

/// Rules 5 and 6: a wait that the deadline has no room for returns the response at once.
#[tokio::test(start_paused = true)]
async fn a_wait_beyond_the_deadline_returns_the_response_at_once() {
    let client = once(Step::with_headers(503, &[("retry-after", "30")]));

    let ended = send(&at_once().deadline(secs(30)).layer(client.clone()), get("/reports")).await;

    assert_eq!((client.attempts(), status(&ended), stopped(&ended)), (1, 503, Stopped::Deadline));
}

/// Rule 5: what cannot be read is ignored, and so is what is past (K4, K5).
#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_is_ignored() {
    let past = "Sun, 06 Nov 1994 08:49:36 GMT";
    for value in ["+120", "1.5", "-1", "", "NaN", "120s", "tomorrow", past] {
        let wait = wait_of(obedient(), &[("retry-after", value), DATE]).await;
        assert_eq!(wait, Some(Duration::ZERO), "{value}");
    }
}

/// Rule 5: a date without `Date` would depend on the client's own clock.
#[tokio::test(start_paused = true)]
async fn a_date_is_ignored_where_the_server_does_not_tell_its_own() {
    let wait = wait_of(obedient(), &[("retry-after", "Fri, 06 Nov 2893 08:49:37 GMT")]).await;

    assert_eq!(wait, Some(Duration::ZERO));
}
