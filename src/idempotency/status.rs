//! What has become of a key: asked by a client that lost the answer, or by whoever operates the server.

use std::sync::Arc;

use bytes::Bytes;
use http::{
    HeaderValue, Response,
    header::{CACHE_CONTROL, CONTENT_TYPE},
    request::Parts,
};
use serde_json::{Value, json};

use super::{
    IdempotencyLayer, holder::answer_within, metrics, rejection::RejectionKind, scope::ScopeFailure, settings::Settings,
};
use crate::{
    IdempotencyKey,
    key::{InvalidKey, InvalidKeyKind},
    store::{Held, ScopedKey, Status, Store, StoreError},
};

/// What has become of a key.
///
/// A client that lost an answer asks, and then repeats the request with the **same** key: a new key would be a new
/// operation. *In progress* and *lapsed* mean that the outcome is not known yet, *unknown* that nothing stands in the
/// way of a run.
impl<S: Store> IdempotencyLayer<S> {
    /// The key as this layer files it, in the scope of the one who asks.
    ///
    /// # Errors
    ///
    /// When the [`Scope`](super::Scope) fails.
    pub fn scoped_key(&self, parts: &Parts, key: &IdempotencyKey) -> Result<ScopedKey, ScopeFailure> {
        self.settings.scope.of(parts, key)
    }

    /// What has become of a key.
    ///
    /// # Errors
    ///
    /// When the store fails.
    pub async fn status(&self, key: &ScopedKey) -> Result<Status, StoreError> {
        answer_within(self.settings.store_timeout, self.store.status(key)).await
    }

    /// Frees an unfinished key, whoever holds it: a repeat runs at once, and the holder can complete nothing any more.
    /// **What the holder did outside a commit may happen twice.** [`Held::No`] if the key was finished or absent.
    ///
    /// # Errors
    ///
    /// When the store fails.
    pub async fn force_release(&self, key: &ScopedKey) -> Result<Held, StoreError> {
        let held = answer_within(self.settings.store_timeout, self.store.force_release(key)).await?;
        if held == Held::Yes {
            tracing::warn!(?key, "a key was released by force");
        }
        Ok(held)
    }

    /// Erases the record of a key. **The next request with this key runs, whether it has run before or not.**
    /// [`Held::No`] if there was no record.
    ///
    /// # Errors
    ///
    /// When the store fails.
    pub async fn forget(&self, key: &ScopedKey) -> Result<Held, StoreError> {
        let held = answer_within(self.settings.store_timeout, self.store.forget(key)).await?;
        if held == Held::Yes {
            tracing::warn!(?key, "a key was forgotten");
        }
        Ok(held)
    }

    /// Answers a request for the status of a key, which stands in the query (`?key=…`) or in the key header, in the
    /// scope of the one who asks. With the feature `axum`, `status_route` makes a route of it.
    ///
    /// ```json
    /// { "state": "in_progress", "since": "2026-10-20T09:00:00Z" }
    /// { "state": "lapsed", "since": "2026-10-20T09:00:00Z" }
    /// { "state": "done", "status": 201, "at": "2026-10-20T09:00:02Z", "replayable": true }
    /// { "state": "unknown" }
    /// ```
    pub async fn answer_status(&self, request: &Parts) -> Response<Bytes> {
        let key = match asked_for(request, &self.settings) {
            Ok(Some(key)) => key,
            Ok(None) => return self.settings.refuse(RejectionKind::MissingKey),
            Err(invalid) => return self.settings.refuse(RejectionKind::InvalidKey(Arc::new(invalid))),
        };
        let key = match self.scoped_key(request, &key) {
            Ok(key) => key,
            Err(refusal) => return refusal.into_response(),
        };
        match self.status(&key).await {
            Ok(status) => to_response(status),
            Err(error) => {
                metrics::store_failed("status", &key, &error);
                self.settings.refuse(RejectionKind::StoreUnavailable)
            }
        }
    }
}

/// The key in the query, else the one in the header.
fn asked_for(request: &Parts, settings: &Settings) -> Result<Option<IdempotencyKey>, InvalidKey> {
    let (syntax, max_len) = (settings.key_syntax, settings.max_key_length);
    let query = request.uri.query().unwrap_or_default();
    let mut keys = form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == "key");
    let Some((_, key)) = keys.next() else {
        return IdempotencyKey::from_headers(&request.headers, &settings.key_header, syntax, max_len);
    };
    if keys.next().is_some() {
        return Err(InvalidKeyKind::SeveralLines.into());
    }
    IdempotencyKey::parse_as(key.as_bytes(), syntax, max_len).map(Some)
}

fn to_response(status: Status) -> Response<Bytes> {
    let time = |time| Value::from(humantime::format_rfc3339_seconds(time).to_string());
    let body = match status {
        Status::Unknown => json!({ "state": "unknown" }),
        Status::InProgress { since } => json!({ "state": "in_progress", "since": time(since) }),
        Status::Lapsed { since } => json!({ "state": "lapsed", "since": time(since) }),
        Status::Done { status, at, replayable } => {
            json!({ "state": "done", "status": status.as_u16(), "at": time(at), "replayable": replayable })
        }
    };
    let mut response = Response::new(Bytes::from(body.to_string()));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
