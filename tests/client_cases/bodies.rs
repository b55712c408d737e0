//! K8, K9 and K27: bodies that are sent once, that are not read, and that never end.

use std::{
    collections::VecDeque,
    convert::Infallible,
    pin::{Pin, pin},
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body, Frame};
use http_body_util::{BodyExt, Empty};
use lab::{
    body::ScriptedBody,
    exchange::{get, post},
    scripted::{Scripted, Step},
};
use tokio::time::timeout;
use tower::{BoxError, Layer, ServiceExt, service_fn};
use tower_idempotency::retry::{Backoff, RepeatBody, SentOnce, Stopped};

use crate::{millis, secs, seeded, told, waiting};

/// K8: whatever happens to it, and with a key too: once, each chunk of it, and never an empty body after it.
#[tokio::test(start_paused = true)]
async fn k8_a_streamed_post_is_sent_once_and_unchanged() {
    let failures = || [Step::status(503), Step::status(421), Step::reset(), Step::refused(), Step::Never];
    for key in [None, Some("\"k\"")] {
        for failure in failures() {
            let name = format!("{failure:?} {key:?}");
            let script = Scripted::new([failure]);
            let mut request = post("k", "").map(|_| SentOnce::new(stream(&["one ", "two ", "three"])));
            match key {
                Some(key) => request.headers_mut().insert("idempotency-key", key.parse().unwrap()),
                None => request.headers_mut().remove("idempotency-key"),
            };
            let _ = script.send(&seeded().attempt_timeout(secs(1)), request).await;
            let bodies: Vec<_> = script.seen().into_iter().map(|seen| seen.request.into_body()).collect();
            assert_eq!(bodies, ["one two three"], "{name}");
        }
    }
}

/// K8: that it cannot be had twice is no failure of its own: the caller gets what the attempt ended with.
#[tokio::test(start_paused = true)]
async fn k8_the_failure_of_a_streamed_post_is_that_of_its_attempt() {
    let body = || SentOnce::new(stream(&["one"]));
    let busy = Scripted::new([Step::status(503)]);
    let answer = busy.send(&seeded(), post("k", "").map(|_| body())).await.unwrap();
    assert_eq!((answer.status().as_u16(), told(&answer).stopped()), (503, Stopped::Body));

    let refused = Scripted::new([Step::refused()]);
    let error = refused.send(&seeded(), post("k", "").map(|_| body())).await.unwrap_err();
    assert_eq!(error.info().stopped(), Stopped::Body);
    let source = std::error::Error::source(&error).unwrap().downcast_ref::<std::io::Error>().unwrap();
    assert_eq!(source.kind(), std::io::ErrorKind::ConnectionRefused);
}

/// K9: the server answers after the first chunk of three, and reads on while the repeat is under way.
#[tokio::test(start_paused = true)]
async fn k9_a_body_that_was_half_read_is_repeated_from_its_start() {
    let unread = Arc::new(Mutex::new(Vec::new()));
    let bodies = Arc::clone(&unread);
    let server = service_fn(move |request: Request<Chunks>| {
        let bodies = Arc::clone(&bodies);
        async move {
            let mut body = request.into_body();
            let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
            assert_eq!(first, "one ");
            let repeated = {
                let mut bodies = bodies.lock().unwrap();
                bodies.push(body);
                bodies.len() > 1
            };
            answered(if repeated { 201 } else { 503 })
        }
    });

    let answer = seeded().layer(server).oneshot(post("k", "").map(|_| stream(&["one ", "two ", "three"]))).await;

    assert_eq!(answer.unwrap().status(), 201);
    let unread = std::mem::take(&mut *unread.lock().unwrap());
    assert_eq!(unread.len(), 2);
    for body in unread {
        assert_eq!(body.collect().await.unwrap().to_bytes(), "two three");
    }
}

/// K9: a body of which not a byte was read, and which is dropped.
#[tokio::test(start_paused = true)]
async fn k9_a_body_that_was_not_read_at_all_is_repeated_whole() {
    let attempts = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&attempts);
    let server = service_fn(move |request: Request<Chunks>| {
        let attempt = count.fetch_add(1, Ordering::Relaxed);
        async move {
            if attempt == 0 {
                return answered(503);
            }
            assert_eq!(request.into_body().collect().await.unwrap().to_bytes(), "one two three");
            answered(201)
        }
    });
    let answer = seeded().layer(server).oneshot(post("k", "").map(|_| stream(&["one ", "two ", "three"]))).await;
    assert_eq!((answer.unwrap().status().as_u16(), attempts.load(Ordering::Relaxed)), (201, 2));
}

/// K27: with nothing else to wait for, the bound is the wait.
#[tokio::test(start_paused = true)]
async fn k27_a_body_that_never_ends_is_drained_up_to_the_time_bound() {
    let endless = ScriptedBody::streaming().data("a beginning").never_ends();
    let script = Scripted::new([Step::with_body(503, endless), Step::status(200)]);
    script.send(&seeded().backoff(Backoff::none()), get("/")).await.unwrap();
    assert_eq!(script.waits(), [millis(250)]);
}

/// K27: then the sleep, which is counted from the answer as a hint is: for the rest of it the body is gone.
#[tokio::test(start_paused = true)]
async fn k27_a_body_that_never_ends_is_dropped_before_the_sleep() {
    let (body, alive) = Watched::new(ScriptedBody::streaming().data("a beginning").never_ends());
    let script = Scripted::new([Step::with_body(503, body), Step::status(200)]);
    let layer = waiting(secs(1));
    let mut sending = pin!(script.send(&layer, get("/")));

    assert!(timeout(millis(249), &mut sending).await.is_err());
    assert!(alive.upgrade().is_some());
    assert!(timeout(millis(2), &mut sending).await.is_err());
    assert!(alive.upgrade().is_none());
    sending.await.unwrap();

    assert_eq!(script.waits(), [secs(1)]);
}

/// K27: one that does not pause is read up to the bound in bytes.
#[tokio::test(start_paused = true)]
async fn k27_a_body_that_pours_for_ever_is_drained_up_to_the_byte_bound() {
    let poured = Arc::new(AtomicUsize::new(0));
    let script = Scripted::new([Step::with_body(503, Pouring(Arc::clone(&poured))), Step::status(200)]);
    script.send(&waiting(secs(1)), get("/")).await.unwrap();
    assert_eq!((poured.load(Ordering::Relaxed), script.waits()), (65, vec![secs(1)]));
}

/// K27: the deadline is sooner than the bound.
#[tokio::test(start_paused = true)]
async fn k27_no_body_is_drained_past_the_deadline() {
    let endless = ScriptedBody::streaming().never_ends();
    let script = Scripted::new([Step::with_body(503, endless), Step::status(200)]);
    let layer = seeded().backoff(Backoff::none()).deadline(millis(100));
    let error = script.send(&layer, get("/")).await.unwrap_err();
    assert_eq!((script.attempts(), error.info().stopped()), (1, Stopped::Deadline));
    assert_eq!(error.info().elapsed(), millis(100));
}

fn answered(status: u16) -> Result<Response<Empty<Bytes>>, Infallible> {
    Ok(Response::builder().status(status).body(Empty::new()).expect("a response"))
}

fn stream(chunks: &[&'static str]) -> Chunks {
    Chunks(chunks.iter().map(|chunk| Bytes::from_static(chunk.as_bytes())).collect())
}

/// A body in several frames, which can be had again.
#[derive(Clone, Debug)]
struct Chunks(VecDeque<Bytes>);

impl RepeatBody for Chunks {
    fn try_clone(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl Body for Chunks {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.pop_front().map(|chunk| Ok(Frame::data(chunk))))
    }
}

/// A body that shows when it is dropped.
struct Watched {
    body: ScriptedBody,
    _alive: Arc<()>,
}

impl Watched {
    fn new(body: ScriptedBody) -> (Self, Weak<()>) {
        let alive = Arc::new(());
        let weak = Arc::downgrade(&alive);
        (Self { body, _alive: alive }, weak)
    }
}

impl Body for Watched {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        Pin::new(&mut self.body).poll_frame(cx).map_err(Into::into)
    }
}

/// A KiB at a time, without end; counts them.
struct Pouring(Arc<AtomicUsize>);

impl Body for Pouring {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(&[0; 1024])))))
    }
}
