//! HTTP/2.

use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use h2::Reason;
use http::{Request, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use hyper_util::{
    client::legacy::Client,
    rt::{TokioExecutor, TokioTimer},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::oneshot,
};
use tower::BoxError;

use super::{
    client, http2_client,
    peer::{GOAWAY, HEADERS, RST_STREAM, answer, frame, peer, read_head, read_http2_head},
    post, post_body,
};
use crate::retry::{
    evidence::{is_timeout, surely_not_applied},
    hyper::is_refusal,
};

/// The field block of `:status: 200`, RFC 7541 appendix A.
const STATUS_200: [u8; 1] = [0x88];
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

#[tokio::test]
async fn a_refused_stream_proves_it() {
    let url = resetting(Reason::REFUSED_STREAM).await;

    let failed = post(&http2_client(), &url).await.unwrap_err();

    assert!(surely_not_applied(&failed), "{failed:?}");
}

#[tokio::test]
async fn a_stream_that_was_reset_for_any_other_reason_proves_nothing() {
    // All of RFC 9113 §7, and one that it does not know.
    for reason in (0..=14).map(Reason::from).filter(|reason| *reason != Reason::REFUSED_STREAM) {
        let url = resetting(reason).await;

        let failed = post(&http2_client(), &url).await.unwrap_err();

        assert!(!surely_not_applied(&failed), "{failed:?}");
    }
}

#[tokio::test]
async fn a_refusal_in_the_middle_of_a_response_proves_nothing() {
    let url = peer(async |mut connection| {
        read_http2_head(&mut connection).await;
        connection.write_all(&frame(HEADERS, END_HEADERS, 1, &STATUS_200)).await.unwrap();
        reset(&mut connection, Reason::REFUSED_STREAM).await;
    })
    .await;

    let response = post(&http2_client(), &url).await.unwrap();
    let cut = response.into_body().collect().await.unwrap_err();

    assert!(!surely_not_applied(&cut), "{cut:?}");
}

/// For the reason in the next test.
#[tokio::test]
async fn a_goaway_proves_nothing_though_the_stream_is_above_the_last() {
    let url = peer(async |mut connection| {
        read_http2_head(&mut connection).await;
        let above_stream_0 = [0; 8];
        answer(&mut connection, &frame(GOAWAY, 0, 0, &above_stream_0)).await;
    })
    .await;

    let failed = post(&http2_client(), &url).await.unwrap_err();

    assert!(!surely_not_applied(&failed), "{failed:?}");
}

/// hyper's client asks `poll_ready` again once it has handed a request over, and answers that request with what it says.
#[tokio::test]
async fn h2_says_goaway_of_a_connection_whose_stream_is_answered() {
    let (go_on, told) = oneshot::channel();
    let (mut requests, connection) = handshake(async |mut connection| {
        read_http2_head(&mut connection).await;
        let not_above_any_stream = [0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0];
        connection.write_all(&frame(GOAWAY, 0, 0, &not_above_any_stream)).await.unwrap();
        told.await.unwrap();
        answer(&mut connection, &frame(HEADERS, END_HEADERS | END_STREAM, 1, &STATUS_200)).await;
    })
    .await;
    let (response, _) = requests.send_request(Request::new(()), true).unwrap();
    let connection = tokio::spawn(connection);

    let closed = loop {
        match requests.ready().await {
            Ok(ready) => requests = ready,
            Err(closed) => break closed,
        }
        tokio::task::yield_now().await;
    };
    go_on.send(()).unwrap();

    assert!(closed.is_go_away() && closed.is_remote());
    assert_eq!(response.await.unwrap().status(), StatusCode::OK);
    connection.abort();
}

#[tokio::test]
async fn the_failure_that_a_body_ended_with_proves_nothing_though_it_was_a_refused_stream() {
    let (mut requests, connection) = handshake(async |mut connection| {
        read_http2_head(&mut connection).await;
        reset(&mut connection, Reason::REFUSED_STREAM).await;
    })
    .await;
    let connection = tokio::spawn(connection);
    let upstream = requests.send_request(Request::new(()), true).unwrap().0.await.unwrap_err();
    assert!(is_refusal(&upstream));
    connection.abort();
    let url = peer(async |mut connection| read_head(&mut connection).await).await;
    let copied = stream::iter([Ok(Frame::data(Bytes::from("amount="))), Err(BoxError::from(upstream))]);

    let failed = post_body(&client(), &url, BodyExt::boxed(StreamBody::new(copied))).await.unwrap_err();

    assert!(!surely_not_applied(&failed), "{failed:?}");
}

#[tokio::test]
async fn a_refusal_of_our_own_is_none() {
    let (mut requests, connection) = handshake(async |mut connection| {
        connection.read_to_end(&mut Vec::new()).await.ok();
    })
    .await;
    let (response, mut body) = requests.send_request(Request::new(()), false).unwrap();
    let connection = tokio::spawn(connection);

    body.send_reset(Reason::REFUSED_STREAM);
    let failed = response.await.unwrap_err();

    assert_eq!(failed.reason(), Some(Reason::REFUSED_STREAM));
    assert!(!is_refusal(&failed));
    assert!(!is_refusal(&Reason::REFUSED_STREAM.into()));
    connection.abort();
}

#[tokio::test(start_paused = true)]
async fn a_ping_that_is_not_answered_is_a_timeout() {
    let url = peer(async |mut connection| {
        read_http2_head(&mut connection).await;
        connection.read_to_end(&mut Vec::new()).await.ok();
    })
    .await;
    let client = Client::builder(TokioExecutor::new())
        .http2_only(true)
        .http2_keep_alive_interval(Duration::from_secs(5))
        .timer(TokioTimer::new())
        .build_http();

    let failed = post(&client, &url).await.unwrap_err();

    assert!(is_timeout(&failed), "{failed:?}");
    assert!(!surely_not_applied(&failed));
}

async fn resetting(reason: Reason) -> String {
    peer(async move |mut connection| {
        read_http2_head(&mut connection).await;
        reset(&mut connection, reason).await;
    })
    .await
}

async fn reset(connection: &mut TcpStream, reason: Reason) {
    answer(connection, &frame(RST_STREAM, 0, 1, &u32::from(reason).to_be_bytes())).await;
}

type Handshake = (h2::client::SendRequest<Bytes>, h2::client::Connection<TcpStream>);

async fn handshake<F>(serve: impl FnOnce(TcpStream) -> F + Send + 'static) -> Handshake
where
    F: Future<Output = ()> + Send,
{
    let url = peer(serve).await;
    let address = url.trim_start_matches("http://").trim_end_matches('/');
    h2::client::handshake(TcpStream::connect(address).await.unwrap()).await.unwrap()
}
