//! What the tests of the rules share.

use std::time::Duration;

use http::{Method, Request, Response};
use http_body_util::Full;
pub(crate) use lab::clock::{hours, millis, pass, secs};
use lab::{
    clock::comes,
    exchange::HeldRequest,
    scripted::{Scripted, Step},
};
use tower::{Service, ServiceExt};
use tower_idempotency::{
    RetryLayer,
    retry::{Backoff, RetryError, RetryInfo, Stopped},
};

/// The defaults, and the same waits in each run.
pub(crate) fn layer() -> RetryLayer {
    RetryLayer::new().seed(1)
}

/// As [`layer`], without any wait between attempts.
pub(crate) fn at_once() -> RetryLayer {
    layer().backoff(Backoff::none())
}

/// As [`layer`], with this wait before each retry.
pub(crate) fn waiting(wait: Duration) -> RetryLayer {
    layer().backoff(Backoff::exponential(wait, wait))
}

/// A client to which this happens every time.
pub(crate) fn always(step: Step) -> Scripted {
    Scripted::new([step])
}

/// Fails once in this way and then works.
pub(crate) fn once(step: Step) -> Scripted {
    Scripted::new([step, Step::status(200)])
}

/// A request of this method, without a key.
pub(crate) fn of_method(method: &str) -> HeldRequest {
    let method = Method::from_bytes(method.as_bytes()).expect("a method");
    Request::builder().method(method).uri("/reports").body(Full::from("{}")).expect("a request")
}

/// What the caller of a client gets; a month is taken for never.
pub(crate) async fn send<S, B, R>(client: &S, request: Request<B>) -> Result<Response<R>, S::Error>
where
    S: Service<Request<B>, Response = Response<R>> + Clone,
{
    comes(client.clone().oneshot(request)).await
}

/// What the caller learned, from the response or the error.
pub(crate) fn info<R>(ended: &Result<Response<R>, RetryError>) -> RetryInfo {
    match ended {
        Ok(response) => response.extensions().get().cloned().expect("a response that tells of retries"),
        Err(error) => error.info().clone(),
    }
}

/// Why there was no further attempt.
pub(crate) fn stopped<R>(ended: &Result<Response<R>, RetryError>) -> Stopped {
    info(ended).stopped()
}

/// The status of the response; 0 if there is none.
pub(crate) fn status<R, E>(ended: &Result<Response<R>, E>) -> u16 {
    ended.as_ref().map_or(0, |response| response.status().as_u16())
}
