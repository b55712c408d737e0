//! Rule 9 on HTTP/1.1: a client that has one connection and opens no other (K10).

use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::{
    FutureExt,
    future::{BoxFuture, join},
};
use http::{Request, Response};
use http_body_util::Full;
use hyper::{
    body::Incoming,
    client::conn::http1::{SendRequest, handshake},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use lab::{
    clock::until,
    exchange::{HeldRequest, get},
};
use tokio::time::{sleep, timeout};
use tower::{Layer, Service};
use tower_idempotency::RetryLayer;

use crate::support::{at_once, millis, secs, send, waiting};

/// A client with one connection to a server.
#[derive(Clone)]
struct OneConnection {
    sender: Arc<Mutex<SendRequest<Full<Bytes>>>>,
    /// How many requests the server got.
    served: Arc<Mutex<usize>>,
}

impl OneConnection {
    /// To a server that answers `/busy` with 503 and 32 KiB, and all else with 200.
    async fn open() -> Self {
        // Smaller than a body: it is under way until somebody reads it.
        let (ours, theirs) = tokio::io::duplex(1 << 10);
        let served = Arc::new(Mutex::new(0));
        let count = Arc::clone(&served);
        let answer = service_fn(move |request: Request<Incoming>| {
            *count.lock().expect("a lock") += 1;
            let busy = request.uri().path() == "/busy";
            let (status, size) = if busy { (503, 32 << 10) } else { (200, 0) };
            let response = Response::builder().status(status).body(Full::new(Bytes::from(vec![0; size])));
            async { Ok::<_, Infallible>(response.expect("a response")) }
        });
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(theirs), answer));
        let (sender, connection) = handshake(TokioIo::new(ours)).await.expect("a connection");
        tokio::spawn(connection);
        Self { sender: Arc::new(Mutex::new(sender)), served }
    }

    fn served(&self) -> usize {
        *self.served.lock().expect("a lock")
    }
}

impl Service<HeldRequest> for OneConnection {
    type Response = Response<Incoming>;
    type Error = hyper::Error;
    type Future = BoxFuture<'static, hyper::Result<Response<Incoming>>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<hyper::Result<()>> {
        self.sender.lock().expect("a lock").poll_ready(cx)
    }

    fn call(&mut self, request: HeldRequest) -> Self::Future {
        self.sender.lock().expect("a lock").send_request(request).boxed()
    }
}

/// How many of a hundred requests, of which all fail twice, went over the one connection.
async fn requests_before_the_connection_broke(layer: RetryLayer) -> usize {
    let client = OneConnection::open().await;
    let service = layer.without_budget().max_attempts(2).layer(client.clone());
    for _ in 0..100 {
        // The response that the caller gets is the caller's to read.
        let Ok(response) = send(&service, get("/busy")).await else { break };
        http_body_util::BodyExt::collect(response.into_body()).await.expect("a body");
    }
    client.served()
}

/// Rule 9: read away, a failed response leaves its connection to the next attempt (K10).
#[tokio::test(start_paused = true)]
async fn a_hundred_failures_use_one_connection() {
    assert_eq!(requests_before_the_connection_broke(at_once()).await, 200);
}

/// Rule 9: what is not read away costs the connection: seen red.
#[tokio::test(start_paused = true)]
async fn without_reading_away_the_first_failure_breaks_the_connection() {
    assert_eq!(requests_before_the_connection_broke(at_once().max_drain(0, millis(250))).await, 1);
}

/// Whether another request is answered while one that failed waits for a minute.
async fn another_request_gets_through(waits: impl AsyncFn(OneConnection)) -> bool {
    let client = OneConnection::open().await;
    let other = async {
        until(|| client.served() == 1).await;
        timeout(secs(1), send(&client, get("/other"))).await.is_ok()
    };
    join(timeout(secs(30), waits(client.clone())), other).await.1
}

/// Rule 9: the connection is free during the wait (K10); to a client that holds its response until after it, it is not.
#[tokio::test(start_paused = true)]
async fn another_request_goes_over_the_connection_during_a_wait() {
    let ours = async |client| drop(send(&waiting(secs(60)).layer(client), get("/busy")).await);
    let holds_its_response = async |client| {
        let busy = send(&client, get("/busy")).await.expect("a response");
        sleep(secs(60)).await;
        drop(busy);
    };

    assert!(another_request_gets_through(ours).await);
    assert!(!another_request_gets_through(holds_its_response).await);
}
