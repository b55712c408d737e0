//! What the promises are made of: requests, answers, and short forms of the verbs.

use std::time::Duration;

use http::{HeaderMap, HeaderValue, StatusCode, header::LINK};

use super::Fixture;
use crate::{
    IdempotencyKey, Store,
    store::{ClaimRequest, Claimed, Fingerprint, Found, Outcome, ScopedKey, StoredResponse, Token},
};

/// A fixture's lengths of time, and requests made of them.
pub trait Words: Fixture {
    const LEASE: Duration = Self::UNIT;
    const RETENTION: Duration = Self::UNIT.saturating_mul(6);
    /// Longer than the fixture's tolerance.
    const MOMENT: Duration = Self::UNIT.checked_div(10).expect("by ten");

    /// A request with this key; the others differ from it in nothing else.
    fn request(key: &str) -> ClaimRequest {
        ClaimRequest {
            key: scoped("shop", key),
            fingerprint: Fingerprint::of(b"POST /orders", b"application/json", b"{\"amount\":1}"),
            lease: Self::LEASE,
            retention: Self::RETENTION,
        }
    }

    /// One whose lease and retention no test outlasts, however slow the store is.
    fn lasting(key: &str) -> ClaimRequest {
        ClaimRequest { lease: 1000 * Self::UNIT, retention: 1000 * Self::UNIT, ..Self::request(key) }
    }

    /// One whose lease has lapsed as soon as it is granted.
    fn lapsing(key: &str) -> ClaimRequest {
        ClaimRequest { lease: Duration::ZERO, ..Self::lasting(key) }
    }

    /// One that is past its retention as soon as it is granted.
    fn expiring(key: &str) -> ClaimRequest {
        ClaimRequest { retention: Duration::ZERO, ..Self::lapsing(key) }
    }
}

impl<F: Fixture> Words for F {}

/// The same key with another body.
pub fn other_body(request: &ClaimRequest) -> ClaimRequest {
    let fingerprint = Fingerprint::of(b"POST /orders", b"application/json", b"{\"amount\":2}");
    ClaimRequest { fingerprint, ..request.clone() }
}

pub fn scoped(scope: &str, key: &str) -> ScopedKey {
    ScopedKey::new(scope, &IdempotencyKey::parse(key).expect("a key"))
}

pub fn response(text: &str) -> StoredResponse {
    let mut headers = HeaderMap::new();
    headers.append(LINK, HeaderValue::from_static("</a>; rel=next"));
    headers.append(LINK, HeaderValue::from_bytes(b"</caf\xE9>; rel=prev").expect("a field value"));
    StoredResponse { status: StatusCode::CREATED, headers, body: text.to_owned().into() }
}

pub fn outcome(text: &str) -> Outcome {
    Outcome::Response(response(text))
}

/// Claims a key that must be free.
pub async fn acquire(store: &impl Store, request: &ClaimRequest) -> Token {
    acquire_attempt(store, request).await.0
}

pub async fn acquire_attempt(store: &impl Store, request: &ClaimRequest) -> (Token, u32) {
    match store.claim(request).await.unwrap() {
        Claimed::Acquired { token, attempt } => (token, attempt),
        other => panic!("the key should be free: {other:?}"),
    }
}

/// What the key's record replays; it must be done.
pub async fn replayed(store: &impl Store, request: &ClaimRequest) -> StoredResponse {
    match store.claim(request).await.unwrap() {
        Claimed::Done(response) => response,
        other => panic!("the key should be done: {other:?}"),
    }
}

/// What is left of the lease on the key; it must be held. Does not claim.
pub async fn lease_left(store: &impl Store, request: &ClaimRequest) -> Duration {
    match store.lookup(request).await.unwrap() {
        Found::InFlight { lease_left } => lease_left,
        other => panic!("the key should be in flight: {other:?}"),
    }
}

/// Asserts that a time is the expected one, within the fixture's tolerance.
#[track_caller]
pub fn assert_near<F: Fixture>(time: Duration, expected: Duration) {
    assert!(time.abs_diff(expected) <= F::TOLERANCE, "{expected:?}, but it is {time:?}");
}
