//! K10: over HTTP/1.1, in real time, on the loopback interface.

use std::{
    convert::Infallible,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioIo},
};
use lab::exchange::HeldRequest;
use tokio::net::TcpListener;
use tower::{Layer, ServiceExt};
use tower_idempotency::{
    RetryLayer,
    retry::{Backoff, RetryInfo},
};

use crate::{Duration, millis};

/// K10: each failed response is read away, and its connection is free again when the wait ends.
#[tokio::test]
async fn k10_a_hundred_failures_use_one_connection() {
    let server = FailingServer::start().await;
    server.fail_a_hundred_times(RetryLayer::new()).await;
    assert_eq!((server.requests(), server.connections()), (101, 1));
}

/// K10: seen red: with nothing read away each failure costs its connection.
#[tokio::test]
async fn k10_without_draining_a_hundred_failures_use_a_hundred_connections() {
    let server = FailingServer::start().await;
    server.fail_a_hundred_times(RetryLayer::new().max_drain(0, Duration::ZERO)).await;
    assert_eq!((server.requests(), server.connections()), (101, 101));
}

/// Answers 503 a hundred times, then 200, always with more than arrives with the head.
struct FailingServer {
    address: SocketAddr,
    requests: Arc<AtomicUsize>,
    connections: Arc<AtomicUsize>,
}

impl FailingServer {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (requests, connections) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let server = Self { address, requests: Arc::clone(&requests), connections: Arc::clone(&connections) };
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                connections.fetch_add(1, Ordering::Relaxed);
                let requests = Arc::clone(&requests);
                let service = service_fn(move |request: Request<Incoming>| {
                    let status = if requests.fetch_add(1, Ordering::Relaxed) < 100 { 503 } else { 200 };
                    async move {
                        request.into_body().collect().await.expect("a whole request");
                        let body = Full::new(Bytes::from_static(&[b'x'; 48 << 10]));
                        Ok::<_, Infallible>(Response::builder().status(status).body(body).expect("a response"))
                    }
                });
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(connection), service));
            }
        });
        server
    }

    /// From a pool of one connection.
    async fn fail_a_hundred_times(&self, layer: RetryLayer) {
        let pool: Client<HttpConnector, Full<Bytes>> =
            Client::builder(TokioExecutor::new()).pool_max_idle_per_host(1).build_http();
        let layer = layer.max_attempts(101).without_budget().backoff(Backoff::exponential(millis(1), millis(1)));
        let request: HeldRequest =
            Request::put(format!("http://{}/", self.address)).body(Full::from("{}")).expect("a request");

        let answer = layer.layer(pool).oneshot(request).await.expect("an answer");

        assert_eq!(answer.status(), 200);
        assert_eq!(answer.extensions().get::<RetryInfo>().expect("retries").failures().len(), 100);
    }

    fn requests(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}
