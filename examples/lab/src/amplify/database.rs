//! What stands at the bottom and answers nobody.

use std::{
    convert::Infallible,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Empty;
use hyper::body::Incoming;

use crate::wire::Server;

/// A database that is down: it counts each call, and answers 503.
#[derive(Debug)]
pub struct DeadDatabase {
    server: Server,
    calls: Arc<AtomicU64>,
}

impl DeadDatabase {
    /// Listens on a free port of this host.
    pub async fn start() -> Self {
        let calls = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&calls);
        let service = tower::service_fn(move |_: Request<Incoming>| {
            counter.fetch_add(1, Ordering::Relaxed);
            async { Ok::<_, Infallible>(unavailable()) }
        });
        Self { server: Server::start(service).await, calls }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.server.address
    }

    /// The calls so far.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }
}

fn unavailable() -> Response<Empty<Bytes>> {
    let mut answer = Response::new(Empty::new());
    *answer.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    answer
}
