//! Services one behind the other, each of which tries the next.

use std::{convert::Infallible, net::SocketAddr};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use tower::{BoxError, Layer, ServiceExt};
use tower_idempotency::{RetryLayer, retry::Retry};

use super::{
    client::{Client, client},
    database::DeadDatabase,
};
use crate::{causes::with_causes, wire::Server};

/// A chain of services above a dead database.
///
/// Each has a listener, connections and a [`RetryLayer`] of its own and is reached over HTTP only, as a process of its own
/// is: what a layer writes into the extensions of a response does not travel.
#[derive(Debug)]
pub struct Chain {
    database: DeadDatabase,
    /// The one above the database first.
    services: Vec<Server>,
    client: Client,
}

impl Chain {
    /// A service for each of these layers; the first is the one that callers ask.
    pub async fn start(retries: impl IntoIterator<Item = RetryLayer, IntoIter: DoubleEndedIterator>) -> Self {
        let database = DeadDatabase::start().await;
        let mut next = database.address();
        let mut services = Vec::new();
        for retry in retries.into_iter().rev() {
            let service = service(retry, next).await;
            next = service.address;
            services.push(service);
        }
        Self { database, services, client: client() }
    }

    /// Sends one request to the first service, once.
    ///
    /// # Errors
    ///
    /// Those of the connection.
    pub async fn request(&self) -> Result<StatusCode, BoxError> {
        let first = self.services.last().map_or(self.database.address(), |service| service.address);
        Ok(self.client.request(question(first)).await?.status())
    }

    /// The calls that have arrived at the bottom.
    pub fn calls(&self) -> u64 {
        self.database.calls()
    }
}

/// Asks the next one for each request that it gets, and passes the answer's status on.
async fn service(retry: RetryLayer, next: SocketAddr) -> Server {
    let client = retry.layer(client());
    Server::start(tower::service_fn(move |_: Request<Incoming>| {
        let client = client.clone();
        async move { Ok::<_, Infallible>(pass_on(client, next).await) }
    }))
    .await
}

async fn pass_on(client: Retry<Client>, next: SocketAddr) -> Response<Full<Bytes>> {
    let (status, body) = match client.oneshot(question(next)).await {
        Ok(answer) => (answer.status(), String::new()),
        Err(error) => (StatusCode::BAD_GATEWAY, with_causes(&error)),
    };
    let mut answer = Response::new(Full::from(body));
    *answer.status_mut() = status;
    answer
}

/// A read, which may be repeated without a key.
fn question(of: SocketAddr) -> Request<Full<Bytes>> {
    Request::get(format!("http://{of}/")).body(Full::default()).expect("a request")
}
