//! K4 to K6: `Retry-After`.

use std::{collections::HashSet, time::Duration};

use futures_util::future::join_all;
use lab::{
    exchange::get,
    scripted::{Scripted, Step},
};
use tower_idempotency::{
    RetryLayer,
    retry::{Backoff, Stopped},
};

use crate::{millis, secs, seeded, told, waiting};

/// What is waited without a hint.
const ORDINARY: Duration = secs(2);

/// K4.
#[tokio::test(start_paused = true)]
async fn k4_a_number_of_seconds_is_waited_for_with_or_without_spaces() {
    for value in ["120", " 120 "] {
        let wait = waited(&[("retry-after", value)]).await;
        assert!((secs(120)..=secs(132) + millis(1)).contains(&(wait - ORDINARY)), "{value:?}: {wait:?}");
    }
}

/// K4.
#[tokio::test(start_paused = true)]
async fn k4_a_huge_number_of_seconds_returns_now() {
    for value in ["9223372037", "99999999999999999999"] {
        let script = Scripted::new([Step::with_headers(503, &[("retry-after", value)])]);
        let answer = script.send(&waiting(ORDINARY), get("/")).await.unwrap();
        assert_eq!((answer.status().as_u16(), script.attempts(), told(&answer).stopped()), (503, 1, Stopped::Hint));
        assert_eq!(told(&answer).elapsed(), Duration::ZERO, "{value}");
    }
}

/// K4: with no maximum at all it is no panic.
#[tokio::test(start_paused = true)]
async fn k4_a_huge_number_of_seconds_is_no_overflow() {
    for value in ["9223372037", "99999999999999999999"] {
        let script = Scripted::new([Step::with_headers(503, &[("retry-after", value)])]);
        let layer = waiting(Duration::MAX).max_hint(Duration::MAX).deadline(secs(10));
        let answer = script.send(&layer, get("/")).await.unwrap();
        assert_eq!((script.attempts(), told(&answer).stopped()), (1, Stopped::Deadline), "{value}");
    }
}

/// K4.
#[tokio::test(start_paused = true)]
async fn k4_what_is_no_number_of_seconds_is_ignored() {
    for value in ["+120", "1.5", "-1", "", "NaN"] {
        assert_eq!(waited(&[("retry-after", value)]).await, ORDINARY, "{value:?}");
    }
}

/// K5: three servers, whose clocks are right, ten minutes slow and ten minutes fast, ask for the same minute.
#[tokio::test(start_paused = true)]
async fn k5_a_date_is_relative_to_the_date_field() {
    let clocks = [
        ["Sun, 06 Nov 1994 08:48:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT"],
        ["Sun, 06 Nov 1994 08:38:37 GMT", "Sunday, 06-Nov-94 08:39:37 GMT"],
        ["Sun, 06 Nov 1994 08:58:37 GMT", "Sun Nov  6 08:59:37 1994"],
    ];
    for [sent, at] in clocks {
        let wait = waited(&[("date", sent), ("retry-after", at)]).await;
        assert!((secs(60)..=secs(66) + millis(1)).contains(&(wait - ORDINARY)), "{at}: {wait:?}");
    }
}

/// K5: past for the server, whatever the client's clock says.
#[tokio::test(start_paused = true)]
async fn k5_a_date_in_the_past_is_ordinary_backoff() {
    for at in ["Fri, 01 Jan 2100 00:00:00 GMT", "Sun Nov  6 08:59:37 1994", "Sunday, 06-Nov-94 08:49:37 GMT"] {
        let sent = ("date", "Sat, 02 Jan 2100 00:00:00 GMT");
        assert_eq!(waited(&[sent, ("retry-after", at)]).await, ORDINARY, "{at}");
    }
}

/// K6: a hundred clients of their own, and no backoff that could part them.
#[tokio::test(start_paused = true)]
async fn k6_those_that_were_told_the_same_do_not_return_together() {
    let waits = join_all((0..100).map(|client| async move {
        let script = Scripted::new([Step::with_headers(503, &[("retry-after", "60")]), Step::status(200)]);
        let layer = RetryLayer::new().seed(client).backoff(Backoff::none());
        script.send(&layer, get("/")).await.unwrap();
        script.waits()[0]
    }))
    .await;
    assert!(waits.iter().all(|wait| (secs(60)..=secs(66) + millis(1)).contains(wait)), "{waits:?}");
    assert!(waits.iter().collect::<HashSet<_>>().len() > 90, "{waits:?}");
    assert_eq!(waits.iter().map(Duration::as_secs).collect::<HashSet<_>>().len(), 6, "{waits:?}");
}

/// How long it is until the second attempt, after a 503 with these fields.
async fn waited(fields: &[(&'static str, &str)]) -> Duration {
    let script = Scripted::new([Step::with_headers(503, fields), Step::status(200)]);
    let layer = seeded().backoff(Backoff::exponential(ORDINARY, ORDINARY)).max_hint(secs(120));
    script.send(&layer, get("/")).await.unwrap();
    script.waits()[0]
}
