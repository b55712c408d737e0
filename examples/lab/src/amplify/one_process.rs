//! A layer around another in one process, as a harness around an SDK.

use std::{error::Error, fmt};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use tower::{BoxError, Layer, ServiceExt};
use tower_idempotency::{RetryLayer, retry::RetryError};

use super::{
    client::{Client, client},
    database::DeadDatabase,
};

/// Calls at the bottom for one keyed POST through two layers, whose outer one gets the inner one's responses as they are:
/// it sees their mark.
///
/// # Errors
///
/// Those of the connection.
pub async fn mark_seen(outer: RetryLayer, inner: RetryLayer) -> Result<u64, BoxError> {
    let database = DeadDatabase::start().await;
    outer.with_idempotency_keys().layer(inner.layer(client())).oneshot(report(&database)).await?;
    Ok(database.calls())
}

/// The same through a library of its own types between the two: the mark is lost there, as over HTTP. So stand harness
/// and SDK to each other, in one process.
///
/// # Errors
///
/// Those of the connection.
pub async fn mark_hidden(outer: RetryLayer, inner: RetryLayer) -> Result<u64, BoxError> {
    let database = DeadDatabase::start().await;
    let sdk = Sdk { retry: inner, client: client() };
    let tool = tower::service_fn(move |request| {
        let sdk = sdk.clone();
        async move { sdk.send(request).await.map(|answer| response(answer.status)) }
    });
    outer.with_idempotency_keys().layer(tool).oneshot(report(&database)).await?;
    Ok(database.calls())
}

/// A client library that tries again by itself, and hands out neither the responses nor the errors below it.
#[derive(Clone)]
struct Sdk {
    retry: RetryLayer,
    client: Client,
}

struct Answer {
    status: StatusCode,
}

#[derive(Debug)]
struct SdkError(String);

impl Sdk {
    async fn send(&self, request: Request<Full<Bytes>>) -> Result<Answer, SdkError> {
        let answer = self.retry.layer(self.client.clone()).oneshot(request).await?;
        Ok(Answer { status: answer.status() })
    }
}

impl From<RetryError> for SdkError {
    fn from(error: RetryError) -> Self {
        Self(error.to_string())
    }
}

impl fmt::Display for SdkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for SdkError {}

fn response(status: StatusCode) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = status;
    response
}

fn report(database: &DeadDatabase) -> Request<Full<Bytes>> {
    Request::post(format!("http://{}/reports", database.address())).body(Full::from("{}")).expect("a request")
}
