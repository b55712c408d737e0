//! The client at the end of each stack, and the retries around it.

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::{
    client::legacy::{self, connect::HttpConnector},
    rt::TokioExecutor,
};
use tower::{Layer, ServiceExt};
use tower_idempotency::{
    RetryLayer,
    retry::{Backoff, RetryError},
};

/// Sends each request once.
pub type Client = legacy::Client<HttpConnector, Full<Bytes>>;

/// A client with connections of its own, as each process has.
pub fn client() -> Client {
    legacy::Client::builder(TokioExecutor::new()).retry_canceled_requests(false).build_http()
}

/// So many attempts, one right after the other, and no budget: what multiplies.
pub fn attempts(attempts: u32) -> RetryLayer {
    RetryLayer::new().max_attempts(attempts).backoff(Backoff::none()).without_budget()
}

/// Sends one logical request through a layer, on connections of its own.
///
/// # Errors
///
/// Those of the layer.
pub async fn send(retry: &RetryLayer, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, RetryError> {
    retry.layer(client()).oneshot(request).await
}
