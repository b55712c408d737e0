//! The rows S01 to S48 of the conformance table: what the governing documents require of a server, and what the layer
//! decides where they are silent ("own").
//!
//! The sources: **IK** draft-ietf-httpapi-idempotency-key-header-07, which has expired and is no RFC; **9110** HTTP
//! semantics; **9111** caching; **9113** HTTP/2; **9651** structured fields; **9457** problem details; **9530** digests;
//! **8785** JCS; **9205** BCP 56; **6585** status 429; **ACP** the Agentic Commerce Protocol. A "≈" marks a rule that was
//! written for caches or proxies and is adopted by analogy. Where the layer's own contract differs from a row, the test
//! says so and asserts the contract.
//!
//! `cargo test --test conformance`

mod errors;
mod exchanges;
mod fields;
mod identity;
mod json;
mod keys;
mod outcomes;
mod replays;
mod requests;
mod vectors;

use http::{HeaderName, HeaderValue, Method, Request};
use http_body_util::Full;
use lab::{
    exchange::{HeldRequest, post, post_without_key},
    gate::GatedStore,
};
use tower_idempotency::{IdempotencyLayer, MemoryStore, Store, idempotency::Scope};

/// A store in memory that counts its calls.
fn spied() -> GatedStore<MemoryStore> {
    GatedStore::new(MemoryStore::new())
}

/// A layer with its defaults, one scope for all.
fn shared<S: Store>(store: S) -> IdempotencyLayer<S> {
    IdempotencyLayer::new(store, Scope::shared())
}

/// The usual request with these bytes as its key's field value.
fn keyed(value: impl AsRef<[u8]>) -> HeldRequest {
    with_field(post_without_key("{}"), "idempotency-key", value)
}

/// The request with one more field line.
fn with_field(mut request: HeldRequest, name: &'static str, value: impl AsRef<[u8]>) -> HeldRequest {
    let value = HeaderValue::from_bytes(value.as_ref()).expect("a field value");
    request.headers_mut().append(HeaderName::from_static(name), value);
    request
}

/// A keyed request of another method and target.
fn send_to(method: Method, target: &str, key: &str, body: &'static str) -> HeldRequest {
    let mut request = post(key, body);
    *request.method_mut() = method;
    *request.uri_mut() = target.parse().expect("a target");
    request
}

/// A keyed request with another content type.
fn of_type(content_type: &'static str, key: &str, body: impl Into<bytes::Bytes>) -> HeldRequest {
    Request::post("/reports")
        .header("idempotency-key", key)
        .header("content-type", content_type)
        .body(Full::new(body.into()))
        .expect("a request")
}
