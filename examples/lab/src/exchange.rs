//! Requests, and answers that a test can look at.

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body::Body;
use http_body_util::{BodyExt, Full};
use tokio::task::JoinHandle;
use tower::{Service, ServiceExt};

/// A request with its body in memory.
pub type HeldRequest = Request<Full<Bytes>>;

/// A POST of JSON to `/reports` under this key.
pub fn post(key: &str, body: impl Into<Bytes>) -> HeldRequest {
    let mut request = post_without_key(body);
    request.headers_mut().insert("idempotency-key", key.parse().expect("a header value"));
    request
}

/// A POST of JSON to `/reports` without a key.
pub fn post_without_key(body: impl Into<Bytes>) -> HeldRequest {
    Request::builder()
        .method(Method::POST)
        .uri("/reports")
        .header("content-type", "application/json")
        .body(Full::new(body.into()))
        .expect("a request")
}

/// A GET.
pub fn get(path: &str) -> HeldRequest {
    Request::builder().uri(path).body(Full::default()).expect("a request")
}

/// A response, read to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The header lines.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

impl Answer {
    /// Reads a response to its end.
    pub async fn of<B>(response: Response<B>) -> Self
    where
        B: Body<Data = Bytes>,
        B::Error: std::fmt::Debug,
    {
        let (parts, body) = response.into_parts();
        let body = body.collect().await.expect("a body that does not fail").to_bytes();
        Self { status: parts.status, headers: parts.headers, body }
    }

    /// The value of a header line, if there is one.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().expect("text"))
    }

    /// The replay mark: `"true"`, `"false"`, or none.
    pub fn replayed(&self) -> Option<&str> {
        self.header("idempotency-replayed")
    }

    /// The body as text.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("text")
    }
}

/// Sends a request through a service and reads the answer to its end.
pub async fn send<S, B, R>(service: &S, request: Request<B>) -> Answer
where
    S: Service<Request<B>, Response = Response<R>> + Clone,
    S::Error: std::fmt::Debug,
    R: Body<Data = Bytes>,
    R::Error: std::fmt::Debug,
{
    Answer::of(service.clone().oneshot(request).await.expect("no error of the service")).await
}

/// Sends a request from a task of its own.
pub fn sending<S, B, R>(service: &S, request: Request<B>) -> JoinHandle<Answer>
where
    S: Service<Request<B>, Response = Response<R>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: std::fmt::Debug,
    B: Send + 'static,
    R: Body<Data = Bytes> + Send,
    R::Error: std::fmt::Debug,
{
    let ready = service.clone().oneshot(request);
    tokio::spawn(async move { Answer::of(ready.await.expect("no error of the service")).await })
}
