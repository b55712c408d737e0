//! The client layer in tower's stacks: over and under its middlewares, with every kind of body, and what is held of the
//! service during a wait. Run with `cargo test --test client_stacks`.

#![cfg(all(feature = "axum", feature = "retry"))]

mod bodies;
mod bounds;
mod held;
mod inside;
mod outside;

use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use lab::scripted::{Scripted, ScriptedBody, Step};
use tower::{BoxError, Service, ServiceExt};
use tower_idempotency::{RetryLayer, retry::Backoff};

const SECOND: Duration = Duration::from_secs(1);

fn layer() -> RetryLayer {
    RetryLayer::new().backoff(Backoff::exponential(SECOND, SECOND))
}

/// Fails once, then answers.
fn busy_once() -> Scripted {
    Scripted::new([Step::status(503), Step::status(201)])
}

fn keyed() -> Request<Full<Bytes>> {
    Request::post("/charges").header("Idempotency-Key", "\"k\"").body("42 EUR".into()).expect("a request")
}

fn unkeyed() -> Request<Full<Bytes>> {
    Request::post("/charges").body("42 EUR".into()).expect("a request")
}

/// The status that a request comes to.
async fn status<S, B>(service: S, request: Request<B>) -> u16
where
    S: Service<Request<B>, Response = Response<ScriptedBody>, Error: Into<BoxError>>,
{
    let answer = service.oneshot(request).await.map_err(Into::into).expect("an answer");
    let status = answer.status().as_u16();
    answer.into_body().collect().await.expect("a body");
    status
}
