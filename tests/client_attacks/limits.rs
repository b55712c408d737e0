//! Rule 6: limits from nothing up to the longest that there are.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use lab::{
    clock::comes,
    exchange::{get, post},
    scripted::{Scripted, Step},
};
use tokio::time::{Instant, timeout};
use tower::{Layer, Service, ServiceExt};
use tower_idempotency::retry::Backoff;

use crate::support::{Server, answer, at_once, secs, send, tireless};

/// The longest that an instant of now can be set on by.
fn longest() -> Duration {
    let (now, mut low, mut high) = (Instant::now(), 0, Duration::MAX.as_nanos());
    while low + 1 < high {
        let middle = (low + high) / 2;
        match now.checked_add(Duration::from_nanos_u128(middle)) {
            Some(_) => low = middle,
            None => high = middle,
        }
    }
    Duration::from_nanos_u128(low)
}

/// Sends a POST to which this happens, with every limit at each extreme. A minute is enough to see a panic.
async fn at_the_extremes(step: impl Fn() -> Step) {
    for limit in [Duration::ZERO, longest(), secs(u64::MAX / 2), Duration::MAX] {
        let layer = at_once().attempt_timeout(limit).deadline(limit).key_lifetime(limit).max_hint(Duration::MAX);
        let layer = layer.max_drain(u64::MAX, limit).backoff(Backoff::decorrelated(limit, limit));
        drop(timeout(secs(60), layer.layer(Scripted::new([step()])).oneshot(post("k", "42 EUR"))).await);
    }
}

/// Rule 6: an instant that is too far away is none.
#[tokio::test(start_paused = true)]
async fn no_limit_panics_while_an_attempt_hangs() {
    at_the_extremes(|| Step::Never).await;
}

/// Rule 6: as above, where a wait is added to the instant of now.
#[tokio::test(start_paused = true)]
async fn no_limit_panics_after_a_failure() {
    at_the_extremes(|| Step::status(503)).await;
}

/// Rule 5: as above, where the server asks for the wait.
#[tokio::test(start_paused = true)]
async fn no_limit_panics_where_the_server_asks_for_the_longest_wait() {
    at_the_extremes(|| Step::with_headers(503, &[("retry-after", "9223372036854775807")])).await;
}

/// Rule 6: the limit of an attempt begins when it is sent; the time until the service is ready is the deadline's.
#[tokio::test(start_paused = true)]
async fn the_deadline_ends_the_wait_for_a_service_that_is_not_ready_again() {
    let client = Scripted::new([Step::status(503)]).hesitates(secs(1_000_000));
    let mut client = at_once().attempt_timeout(secs(1)).deadline(secs(10)).layer(client);
    let ready = ServiceExt::<http::Request<Full<Bytes>>>::ready(&mut client).await.expect("ready");
    let began = Instant::now();

    let ended = comes(ready.call(get("/reports"))).await;

    assert_eq!((ended.is_err(), began.elapsed()), (true, secs(10)));
}

/// Rule 10: a server that fails at once, and a client that has neither wait nor budget nor end.
#[tokio::test(start_paused = true)]
async fn a_request_without_waits_lets_other_tasks_run() {
    let server = Server::new(|_| answer(503, Full::<Bytes>::default()));
    let request = tokio::spawn(send(tireless().layer(server.client()), get("/reports")));

    for _ in 0..10 {
        tokio::task::yield_now().await;
    }

    assert!(server.served() > 3 && !request.is_finished(), "{}", server.served());
    request.abort();
}
