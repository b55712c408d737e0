//! Rule 9: failed responses that could keep the request, or be kept by it.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use http::{Request, Response};
use http_body_util::Full;
use lab::{
    body::ScriptedBody,
    clock::comes,
    exchange::get,
    scripted::{Scripted, Step},
};
use tokio::{
    sync::Semaphore,
    time::{advance, timeout},
};
use tower::{Layer, ServiceExt, service_fn};
use tower_idempotency::{RetryLayer, retry::Backoff};

use crate::support::{Server, answer, at_once, endless, millis, secs, send};

/// Rule 9: the bytes are bounded; a frame counts though it has none.
#[tokio::test(start_paused = true)]
async fn a_failed_response_of_frames_without_data_is_read_no_further_than_the_limit() {
    let server = Server::new(|_| answer(503, endless("", || {})));

    let ended = send(at_once().max_attempts(2).layer(server.client()), get("/reports")).await;

    assert_eq!((server.served(), ended.expect("the last answer").status().as_u16()), (2, 503));
}

/// Rule 9: the time is bounded; a body that is always ready never lets a timer be asked.
#[tokio::test(start_paused = true)]
async fn a_failed_response_that_always_has_a_frame_is_read_no_longer_than_the_limit() {
    // The clock is set on within the first poll; to yield is all that is left of it.
    let takes_a_millisecond = || assert!(advance(millis(1)).now_or_never().is_none());
    let server = Server::new(move |_| answer(503, endless("x", takes_a_millisecond)));
    let layer = at_once().max_attempts(2).max_drain(u64::MAX, millis(20));

    let ended = send(layer.layer(server.client()), get("/reports")).await;

    assert_eq!((server.served(), ended.expect("the last answer").status().as_u16()), (2, 503));
}

/// Rule 9: a permit that stands in a response's extensions, as some clients of pools do it.
#[tokio::test(start_paused = true)]
async fn nothing_of_a_failed_response_is_held_during_the_wait() {
    let permits = Arc::new(Semaphore::new(1));
    let client = service_fn(move |_: Request<Full<Bytes>>| {
        let permits = Arc::clone(&permits);
        async move {
            let permit = Arc::new(permits.acquire_owned().await?);
            Ok::<_, tower::BoxError>(Response::builder().status(503).extension(permit).body(Full::<Bytes>::default())?)
        }
    });

    let ended = send(at_once().layer(client), get("/reports")).await;

    assert_eq!(ended.expect("the last answer").status(), 503);
}

/// Rule 10: a request goes from one task to another at any instant of its attempts, drains and waits.
#[tokio::test(start_paused = true)]
async fn no_wakeup_is_lost_when_a_request_changes_its_task() {
    for after in (0..200).step_by(5) {
        let stalls = ScriptedBody::streaming().data("x").never_ends();
        let client = Scripted::new([Step::with_body(503, stalls), Step::Never, Step::status(200)]);
        let layer = RetryLayer::new().seed(after).attempt_timeout(millis(70)).max_drain(10, millis(40));
        let layer = layer.backoff(Backoff::exponential(millis(30), secs(1)));
        let mut call = Box::pin(layer.layer(client).oneshot(get("/reports")));

        let ended = match timeout(millis(after), &mut call).await {
            Ok(ended) => ended,
            Err(_) => comes(tokio::spawn(call)).await.expect("no panic"),
        };

        assert_eq!(ended.expect("a response").status(), 200, "moved after {after} ms");
    }
}

/// Rule 9: an answer that is no failure is not read.
#[tokio::test(start_paused = true)]
async fn a_switch_of_protocols_is_handed_over() {
    let client = Scripted::new([Step::status(101)]);

    let ended = send(at_once().layer(client.clone()), get("/socket")).await;

    assert_eq!((client.attempts(), ended.expect("a response").status().as_u16()), (1, 101));
}
