//! Rule 8: byte for byte or not at all.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{Request, Response, Version};
use http_body::{Body, Frame};
use http_body_util::{BodyExt, Either, Empty, Full, combinators::BoxBody};
use lab::{
    body::ScriptedBody,
    exchange::{get, post},
    scripted::{Scripted, Step},
};
use tower::{Layer, service_fn};
use tower_idempotency::retry::{RepeatBody, RetryInfo, SentOnce, Stopped};

use crate::support::{always, at_once, once, send, status, stopped};

/// What each attempt sent.
fn bodies(client: &Scripted) -> Vec<Bytes> {
    client.seen().into_iter().map(|seen| seen.request.into_body()).collect()
}

fn stream() -> SentOnce<ScriptedBody> {
    SentOnce::new(ScriptedBody::streaming().data("one ").data("two"))
}

/// Rule 8: every attempt sends the same bytes.
#[tokio::test(start_paused = true)]
async fn a_body_is_repeated_byte_for_byte() {
    let client = always(Step::status(503));
    let body: Bytes = (0..=255).collect();

    send(&at_once().layer(client.clone()), post("k", body.clone())).await.expect("a response");

    assert_eq!(bodies(&client), vec![body; 3]);
}

/// Rule 8: with the body the rest of the request is repeated: method, target, version, headers, extensions.
#[tokio::test(start_paused = true)]
async fn a_request_is_repeated_as_it_was() {
    #[derive(Clone, Debug, PartialEq)]
    struct Mine(u8);
    let client = once(Step::reset());
    let request = Request::put("https://example.com/a?b=c").version(Version::HTTP_2).extension(Mine(7));
    let request = request.header("x", "1").header("x", "2").body(Full::<Bytes>::default()).expect("a request");

    send(&at_once().layer(client.clone()), request).await.expect("a response");

    let seen = client.seen();
    let [first, second] = [&seen[0].request, &seen[1].request];
    assert_eq!((first.method(), first.uri(), first.version()), (second.method(), second.uri(), second.version()));
    assert_eq!((first.headers(), second.headers().get_all("x").iter().count()), (second.headers(), 2));
    assert_eq!(second.extensions().get::<Mine>(), Some(&Mine(7)));
}

/// Rule 8: one that cannot be repeated is sent once, unchanged, whatever happens (K8).
#[tokio::test(start_paused = true)]
async fn a_stream_is_sent_once() {
    for step in [Step::status(503), Step::reset(), Step::refused()] {
        let client = always(step);

        let ended = send(&at_once().layer(client.clone()), post("k", "").map(|_| stream())).await;

        assert_eq!((bodies(&client), stopped(&ended)), (vec![Bytes::from("one two")], Stopped::Body));
    }
}

/// Rule 8: that it cannot be repeated is no error: nothing is said where nothing had to be (K8).
#[tokio::test(start_paused = true)]
async fn a_stream_that_succeeds_is_a_success_like_any() {
    let client = always(Step::status(200));

    let response = send(&at_once().layer(client), get("/reports").map(|_| stream())).await.expect("a response");

    assert_eq!((response.status().as_u16(), response.extensions().get::<RetryInfo>().is_none()), (200, true));
}

/// Rule 8: which of the usual bodies can be repeated.
#[tokio::test(start_paused = true)]
async fn a_body_in_memory_can_be_repeated_and_one_in_a_box_cannot() {
    async fn attempts<B>(body: B) -> usize
    where
        B: RepeatBody + Body<Data = Bytes, Error: std::fmt::Debug>,
    {
        let client = once(Step::status(503));
        send(&at_once().layer(client.clone()), get("/reports").map(|_| body)).await.expect("a response");
        client.attempts()
    }
    type Boxed = BoxBody<Bytes, std::convert::Infallible>;

    assert_eq!(attempts(Full::new(Bytes::from("{}"))).await, 2);
    assert_eq!(attempts(Empty::<Bytes>::new()).await, 2);
    assert_eq!(attempts("{}".to_owned()).await, 2);
    assert_eq!(attempts(Either::<Empty<Bytes>, Boxed>::Left(Empty::new())).await, 2);
    assert_eq!(attempts(Either::<Empty<Bytes>, Boxed>::Right(Full::from("{}").boxed())).await, 1);
    assert_eq!(attempts(Full::from("{}").boxed()).await, 1);
    assert_eq!(attempts(Full::from("{}").boxed_unsync()).await, 1);
    assert_eq!(attempts(SentOnce::new(Full::<Bytes>::from("{}"))).await, 1);
}

/// Rule 8: the answer may come before the body was read: no panic, and the repeat sends all of it (K9).
#[tokio::test(start_paused = true)]
async fn an_answer_that_comes_before_the_body_was_read_changes_nothing() {
    let attempts = Arc::new(AtomicUsize::new(0));
    let client = service_fn(|request: Request<Full<Bytes>>| {
        let attempts = Arc::clone(&attempts);
        async move {
            let early = attempts.fetch_add(1, Ordering::Relaxed) == 0;
            let read = if early { Bytes::new() } else { request.into_body().collect().await?.to_bytes() };
            let response = Response::builder().status(if early { 503 } else { 200 });
            Ok::<_, std::convert::Infallible>(response.body(Full::new(read)).expect("a response"))
        }
    });

    let response = send(&at_once().layer(client), post("k", "all of it")).await.expect("a response");

    assert_eq!(response.into_body().collect().await.expect("a body").to_bytes(), "all of it");
}

/// A body that counts its copies.
struct Counted(Arc<AtomicUsize>);

impl RepeatBody for Counted {
    fn try_clone(&self) -> Option<Self> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Some(Self(Arc::clone(&self.0)))
    }
}

impl Body for Counted {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Poll::Ready(None)
    }
}

/// Rule 8: no copy is made where no retry can follow: of the last attempt, or of the only one.
#[tokio::test(start_paused = true)]
async fn one_copy_less_is_made_than_there_may_be_attempts() {
    for attempts in [1, 2, 3] {
        let copies = Arc::new(AtomicUsize::new(0));
        let request = get("/reports").map(|_| Counted(Arc::clone(&copies)));

        let ended = send(&at_once().max_attempts(attempts).layer(always(Step::status(503))), request).await;

        assert_eq!((copies.load(Ordering::Relaxed), status(&ended)), (attempts as usize - 1, 503));
    }
}
