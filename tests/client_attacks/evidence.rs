//! Rule 1: proofs that are those of another exchange.

use std::{
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
};

use bytes::Bytes;
use http::Request;
use http_body::{Body, Frame};
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use lab::{
    exchange::{get, post, post_without_key},
    scripted::{Scripted, Step},
};
use tokio::{io::AsyncReadExt, net::TcpListener};
use tower::{BoxError, Layer, ServiceBuilder, load_shed::error::Overloaded};
use tower_idempotency::retry::{HoldResponses, Outcome, RetryError, SentOnce, Verdict};

use crate::support::{Cut, Server, answer, at_once, send};

/// What another client of the same process failed with, which was refused.
async fn refused_elsewhere() -> RetryError {
    let error = send(at_once().layer(Scripted::new([Step::refused()])), get("/source")).await.expect_err("refused");
    assert_eq!(error.outcome(), Outcome::NotApplied);
    error
}

/// Rule 1: a handler that streams from an upstream which sheds load has begun its 201.
#[tokio::test(start_paused = true)]
async fn a_post_without_a_key_is_sent_once_where_overload_elsewhere_cut_its_answer() {
    let server = Server::new(|_| answer(201, Cut::by(Overloaded::new())));
    let client = ServiceBuilder::new().layer(at_once()).layer(HoldResponses::up_to(1 << 10)).service(server.client());

    let error = send(client, post_without_key("42 EUR")).await.expect_err("cut");

    assert_eq!((server.served(), error.outcome()), (1, Outcome::Unknown), "{error}");
}

/// Rule 1: the head had come, whatever the body was cut by.
#[tokio::test(start_paused = true)]
async fn a_retry_error_below_a_cut_answer_proves_nothing() {
    let cut_by = Arc::new(Mutex::new(Some(refused_elsewhere().await)));
    let server = Server::new(move |_| answer(201, Cut::by(cut_by.lock().expect("a lock").take().expect("sent once"))));
    let client = ServiceBuilder::new().layer(at_once()).layer(HoldResponses::up_to(1 << 10)).service(server.client());

    let error = send(client, post_without_key("42 EUR")).await.expect_err("cut");

    assert_eq!((server.served(), error.outcome()), (1, Outcome::Unknown), "{error}");
}

/// A request's body that is read from elsewhere, and fails with this when a half of it is on its way.
struct FailsHalfWay {
    polls: usize,
    with: Option<BoxError>,
}

impl Body for FailsHalfWay {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        self.polls += 1;
        match self.polls {
            1 => Poll::Ready(Some(Ok(Frame::data(Bytes::from("first half"))))),
            // What was given is written in between.
            2..20 => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            _ => Poll::Ready(self.with.take().map(Err)),
        }
    }
}

/// What a POST over a real connection ends with whose body fails with this.
async fn sent_with_a_body_that_fails(with: BoxError) -> RetryError {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let mut read = [0; 1 << 10];
        while let Ok(1..) = stream.read(&mut read).await {}
    });
    let client = Client::builder(TokioExecutor::new()).build_http();
    let body = SentOnce::new(FailsHalfWay { polls: 0, with: Some(with) });
    let request = Request::post(format!("http://{address}/charges")).body(body).expect("a request");
    send(at_once().layer(client), request).await.expect_err("the body fails")
}

/// Rule 1: half of the request is written, and the server may act on that.
#[tokio::test]
async fn a_retry_error_of_the_requests_body_proves_nothing() {
    let error = sent_with_a_body_that_fails(refused_elsewhere().await.into()).await;

    assert_eq!(error.outcome(), Outcome::Unknown, "{error}");
}

/// Rule 1: as above, by what tower's own middleware fails with.
#[tokio::test]
async fn overload_where_the_requests_body_comes_from_proves_nothing() {
    let error = sent_with_a_body_that_fails(Overloaded::new().into()).await;

    assert_eq!(error.outcome(), Outcome::Unknown, "{error}");
}

/// Rule 1: an attempt that was maybe applied is not forgotten over one that surely was not.
#[tokio::test(start_paused = true)]
async fn a_refused_attempt_after_one_that_was_accepted_does_not_make_it_not_applied() {
    let client = Scripted::new([Step::status(202), Step::refused()]);
    let layer = at_once().with_classifier(|attempt| match attempt.response() {
        Some(_) => Verdict::Retry,
        None => attempt.verdict(),
    });

    let error = send(layer.layer(client), post("k", "42 EUR")).await.expect_err("refused");

    assert_ne!(error.outcome(), Outcome::NotApplied);
}
