//! Sends one row to the second service, again where it may.

use std::time::Duration;

use bytes::Bytes;
use clap::ValueEnum;
use http::{Request, Response, StatusCode, Uri, header, uri::Scheme};
use http_body::Body;
use http_body_util::Full;
use hyper_util::{client::legacy, rt::TokioExecutor};
use tower::{BoxError, Service, ServiceBuilder, ServiceExt, util::BoxCloneSyncService};
use tower_idempotency::{
    RetryLayer,
    key::IDEMPOTENCY_KEY,
    retry::{Backoff, Budget, HoldResponses, Outcome, RetryError},
};

use super::table::Row;
use crate::causes::with_causes;

/// An answer is a few lines; one that is longer is not read.
const LONGEST_ANSWER: u64 = 64 << 10;

/// The client of the second service. A clone shares its budget of retries.
#[derive(Clone, Debug)]
pub struct Sender {
    client: BoxCloneSyncService<Request<Full<Bytes>>, Response<()>, RetryError>,
    url: Uri,
    row_key: RowKey,
}

/// Whether a row is sent under its key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum RowKey {
    /// The second service recognises a row that is sent again
    #[default]
    Sent,
    /// The wrong way: a row that is sent again is done again
    Withheld,
}

/// What became of sending a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// It was done, now or before: record it.
    Delivered(StatusCode),
    /// It will never be done, for what it says: record it, and go on with the next.
    Refused(StatusCode),
    /// It was not done, or nobody knows: send it again later, under the same key.
    Waits(String),
}

impl Sender {
    /// Over hyper's client.
    pub fn new(url: Uri, row_key: RowKey) -> Self {
        // hyper tries nothing again: that is the retry layer's.
        let http = legacy::Client::builder(TokioExecutor::new()).retry_canceled_requests(false).build_http();
        Self::over(http, retry(), url, row_key)
    }

    /// Over a client of your own.
    pub fn over<S, R>(http: S, retry: RetryLayer, url: Uri, row_key: RowKey) -> Self
    where
        S: Service<Request<Full<Bytes>>, Response = Response<R>, Error: Into<BoxError>, Future: Send + 'static>
            + Clone
            + Send
            + Sync
            + 'static,
        R: Body<Data: Send, Error: Into<BoxError>> + Send + 'static,
    {
        let client = ServiceBuilder::new()
            .map_response(|answer: Response<_>| answer.map(drop))
            .layer(retry)
            .layer(HoldResponses::up_to(LONGEST_ANSWER))
            .service(http);
        Self { client: BoxCloneSyncService::new(client), url, row_key }
    }

    /// Sends a row: one logical request, a few attempts at most.
    pub async fn send(&self, row: &Row) -> Delivery {
        let mut request = Request::post(&self.url)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::from(row.body.clone()))
            .expect("a request");
        if self.row_key == RowKey::Sent {
            request.headers_mut().insert(IDEMPOTENCY_KEY, row.key.to_header_value());
        }
        judge(self.client.clone().oneshot(request).await)
    }
}

/// Three attempts, 5 s each; ten retries in all while nothing succeeds, then one attempt a row.
pub fn retry() -> RetryLayer {
    RetryLayer::new()
        .attempt_timeout(Duration::from_secs(5))
        .backoff(Backoff::full(Duration::from_millis(100), Duration::from_secs(2)))
        .budget(Budget::new(50).timeout_cost(5))
}

/// An address of the second service: `http`, a host and a path.
pub fn notify_url(text: &str) -> Result<Uri, String> {
    let uri: Uri = text.parse().map_err(|error: http::uri::InvalidUri| error.to_string())?;
    // The client has no TLS, and hyper reports an address without a host as a failure of the transport.
    match (uri.scheme() == Some(&Scheme::HTTP), uri.authority()) {
        (true, Some(_)) => Ok(uri),
        _ => Err("not an address like http://127.0.0.1:3001/notifications".into()),
    }
}

fn judge(ended: Result<Response<()>, RetryError>) -> Delivery {
    let answer = match ended {
        Ok(answer) => answer,
        Err(error) => return Delivery::Waits(with_causes(&error)),
    };
    let status = answer.status();
    match status.as_u16() {
        200..300 => Delivery::Delivered(status),
        // Done before, and its answer was not kept.
        410 if Outcome::of(&answer) == Outcome::Applied => Delivery::Delivered(status),
        400 | 413 | 415 | 422 => Delivery::Refused(status),
        // A 401 or 404 too says nothing of this row: somebody has to mend the address or the service.
        _ => Delivery::Waits(format!("answered {status}")),
    }
}
