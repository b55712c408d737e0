//! Point 7: the failed response during the wait, and requests that may not be repeated.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::{
    client::legacy::{self, Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware};
use reqwest_retry::{Jitter, RetryTransientMiddleware, policies::ExponentialBackoff};
use tokio::time::sleep;
use tower::{Layer, ServiceExt};
use tower_idempotency::{RetryLayer, retry::Backoff};
use tower_resilience::retry::RetryLayer as ResilienceLayer;

use super::{Ours, Peer, Row};
use crate::{clock, server::Server};

const WAIT: Duration = Duration::from_millis(1000);
const CASE: &str = "a 503 with 48 KiB, then a wait of 1 s: is its connection free half-way through?";

type Hyper = Client<HttpConnector, Full<Bytes>>;

/// Connections half-way through the wait, once another request was sent there, and the attempts at the end.
struct Seen {
    connections: usize,
    attempts: usize,
}

impl Seen {
    fn held(&self) -> bool {
        self.connections == 2
    }

    fn told(&self) -> String {
        let connection = if self.held() { "held" } else { "free" };
        let Self { connections, attempts } = self;
        format!("{connection}: with another request, connections: {connections}; attempts at the end: {attempts}")
    }
}

pub(crate) fn reqwest_retry_during_the_wait() -> Row {
    clock::real(async {
        let client = reqwest_retry();
        let theirs = watch(async |url| _ = client.get(url).send().await.expect("a response")).await;
        let peer = Peer { name: "reqwest-retry", did: theirs.told(), fault_seen: theirs.held() };
        Row { point: "7a", case: CASE, peer, ours: ours_during_the_wait().await }
    })
}

pub(crate) fn tower_resilience_during_the_wait() -> Row {
    clock::real(async {
        let client = hyper();
        let layer = ResilienceLayer::<Request<Full<Bytes>>, Response<Incoming>, legacy::Error>::builder()
            .max_attempts(2)
            .fixed_backoff(WAIT)
            .retry_on_response(|response: &Response<Incoming>| response.status().is_server_error())
            .build();
        let theirs = watch(async |url| {
            _ = layer.layer(client.clone()).oneshot(request(Method::GET, &url)).await.expect("a response");
        })
        .await;
        let peer = Peer { name: "tower-resilience", did: theirs.told(), fault_seen: theirs.held() };
        Row { point: "7b", case: CASE, peer, ours: ours_during_the_wait().await }
    })
}

async fn ours_during_the_wait() -> Ours {
    let client = hyper();
    let layer = our_layer();
    let ours = watch(async |url| {
        _ = layer.layer(client.clone()).oneshot(request(Method::GET, &url)).await.expect("a response");
    })
    .await;
    Ours { did: ours.told(), passed: !ours.held() && ours.attempts == 2 }
}

/// Sends a request that is answered with 503 first, and another one half-way through the wait.
async fn watch(send: impl AsyncFn(String)) -> Seen {
    let server = Server::start().await;
    let half_way = async {
        server.first_busy().await;
        sleep(WAIT / 2).await;
        send(server.url("/other")).await;
        server.connections()
    };
    let (connections, ()) = tokio::join!(half_way, send(server.url("/jobs")));
    Seen { connections, attempts: server.jobs().len() }
}

pub(crate) fn post_without_a_key() -> Row {
    clock::real(async {
        let (their_server, our_server) = (Server::start().await, Server::start().await);
        let theirs = reqwest_retry().post(their_server.url("/jobs")).send().await.expect("a response");
        let ours = our_layer().layer(hyper()).oneshot(request(Method::POST, &our_server.url("/jobs")));
        let ours = ours.await.expect("a response");
        let (their_jobs, our_jobs) = (their_server.jobs(), our_server.jobs());
        Row {
            point: "7c",
            case: "a POST without a key that is answered 503: how often is it sent?",
            peer: Peer {
                name: "reqwest-retry",
                did: format!("attempts: {}; the caller sees {}", their_jobs.len(), theirs.status().as_u16()),
                fault_seen: their_jobs.len() > 1,
            },
            ours: Ours {
                did: format!("attempts: {}; the caller sees {}", our_jobs.len(), ours.status().as_u16()),
                passed: our_jobs == ["POST"],
            },
        }
    })
}

fn reqwest_retry() -> ClientWithMiddleware {
    let policy = ExponentialBackoff::builder().retry_bounds(WAIT, WAIT).jitter(Jitter::None).build_with_max_retries(1);
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    ClientBuilder::new(client).with(RetryTransientMiddleware::new_with_policy(policy)).build()
}

fn our_layer() -> RetryLayer {
    RetryLayer::new().max_attempts(2).backoff(Backoff::exponential(WAIT, WAIT))
}

/// The client that reqwest is built on.
fn hyper() -> Hyper {
    Client::builder(TokioExecutor::new()).build_http()
}

fn request(method: Method, url: &str) -> Request<Full<Bytes>> {
    Request::builder().method(method).uri(url).body(Full::default()).expect("a request")
}
