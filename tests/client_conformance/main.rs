//! The rows C01 to C33 of the conformance table: what the governing documents require of a client that sends requests
//! again, and what the layer decides where they are silent ("own").
//!
//! The sources: **IK** draft-ietf-httpapi-idempotency-key-header-07, which has expired and is no RFC; **9110** HTTP
//! semantics; **9651** structured fields; **9205** BCP 56; **8470** early data; **6585** status 429; **10008** QUERY;
//! **RL** the ratelimit-headers draft; **A6** gRPC retry; **SDKs** those of OpenAI, Anthropic, Stripe and Azure. Where
//! the layer's own contract differs from a row, the test says so and asserts the contract.
//!
//! `cargo test --test client_conformance`

mod attempts;
mod bodies;
mod early_data;
mod gate;
mod hints;
mod keys;
mod overrides;
mod statuses;

use http::{HeaderName, Method, Response};
use lab::{
    clock::{millis, secs},
    exchange::{HeldRequest, post, post_without_key},
    scripted::Step,
};
use tower_idempotency::{
    RetryLayer,
    retry::{Backoff, RetryInfo},
};

/// RFC 9110 §9.2.2, and QUERY of RFC 10008.
const IDEMPOTENT: [&str; 7] = ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "QUERY"];

/// A layer with its defaults that draws the same numbers every time.
fn seeded() -> RetryLayer {
    RetryLayer::new().seed(17)
}

/// One that waits only for what a server asks for.
fn eager() -> RetryLayer {
    seeded().backoff(Backoff::none())
}

/// A request without a key.
fn bare(method: &str) -> HeldRequest {
    with_method(post_without_key("{}"), method)
}

/// The same with a key.
fn keyed(method: &str) -> HeldRequest {
    with_method(post("\"k\"", "{}"), method)
}

fn with_method(mut request: HeldRequest, method: &str) -> HeldRequest {
    *request.method_mut() = Method::from_bytes(method.as_bytes()).expect("a method");
    request
}

/// The request with one more field line.
fn with_field(mut request: HeldRequest, name: &'static str, value: &str) -> HeldRequest {
    request.headers_mut().append(HeaderName::from_static(name), value.parse().expect("a field value"));
    request
}

/// The ends of an attempt after which nobody knows whether it was applied.
fn ambiguous() -> Vec<Step> {
    let answers = [408, 429, 500, 502, 503, 504, 599].map(Step::status);
    answers.into_iter().chain([Step::reset(), Step::Never]).collect()
}

/// What the layer wrote on a response.
fn told<R>(response: &Response<R>) -> &RetryInfo {
    response.extensions().get().expect("a retry was made or refused")
}
