//! Why a request is refused, and the RFC 9457 response that says so.

use std::{fmt, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Response, StatusCode,
    header::{CACHE_CONTROL, CONTENT_LANGUAGE, CONTENT_TYPE, RETRY_AFTER},
};
use serde_json::{Value, json};

use crate::{key::InvalidKey, store::Differs};

/// Where the `type` of a problem points unless the layer is told otherwise: the page of [`RejectionKind`].
pub(super) const PROBLEM_TYPES: &str =
    "https://docs.rs/tower-idempotency/latest/tower_idempotency/idempotency/enum.RejectionKind.html#variant.";

/// A request that the layer refused. Stands in the extensions of the response, for layers outside.
#[derive(Clone, Debug)]
pub struct Rejection {
    pub(super) kind: RejectionKind,
    pub(super) status: StatusCode,
    pub(super) retry_after: Option<Duration>,
    pub(super) problem_types: Arc<str>,
}

/// Why a request was refused, and what its client does next.
///
/// Each has its own problem `type`: the URI of the layer's problem types, followed by the name of the variant.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum RejectionKind {
    /// 400: the route requires a key. Send one.
    MissingKey,
    /// 400: the key header is malformed. Mend it; nothing was run.
    InvalidKey(Arc<InvalidKey>),
    /// 400: the body could not be read to its end. Nothing was run.
    UnreadableBody,
    /// 408: the body did not arrive in time. Nothing was run; send it again, with the same key.
    BodyTooSlow,
    /// 413: the body is larger than a keyed request's may be. Nothing was run.
    BodyTooLarge {
        /// The limit of the layer, in bytes; `None` where a layer outside has a lower one.
        limit: Option<usize>,
    },
    /// 409 with `Retry-After`: the first request with this key still runs. Send it again later, with the same key.
    InProgress,
    /// 409 with `Retry-After`: while this request ran, another attempt took the key over, and its answer cannot be
    /// given here. Send it again, with the same key.
    TakenOver,
    /// 422, or the status that the layer is set to: the key belongs to another request. Use a new key for a new
    /// operation; the first one stands.
    KeyReused(Differs),
    /// 410: the request has ended with this status, and its response was not kept. It will not run again: look up what
    /// it did.
    NotReplayable {
        /// The status of the response that was not kept.
        original: StatusCode,
    },
    /// 503 with `Retry-After`: the store of keys did not answer. Nothing was run; send it again, with the same key.
    StoreUnavailable,
    /// 503: the handler was ended after the longest time that the layer lets one run. Ask for the key's status, then
    /// send it again, with the same key.
    RunTimedOut,
    /// 503 with `Retry-After`: the work may have been committed. Ask for the key's status, then send it again, with the
    /// same key.
    OutcomeUnknown,
    /// 500: the handler answered success and had left the transaction of its claim uncommitted. Nothing of that transaction
    /// was written, and the key is free again; the handler has to be mended.
    NothingCommitted,
}

impl Rejection {
    /// Why.
    #[must_use]
    pub fn kind(&self) -> &RejectionKind {
        &self.kind
    }

    /// The status of the response.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// When the client may ask again, in whole seconds, where the response says so.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// The `type` of the problem.
    #[must_use]
    pub fn problem_type(&self) -> String {
        format!("{}{}", self.problem_types, self.kind.name())
    }

    /// The response, as `application/problem+json`.
    #[must_use]
    pub fn to_response(&self) -> Response<Bytes> {
        let mut problem = json!({
            "type": self.problem_type(),
            "title": self.kind.title(),
            "status": self.status.as_u16(),
            "detail": self.kind.detail(),
        });
        match &self.kind {
            RejectionKind::KeyReused(differs) => problem["differs"] = differs.names().collect(),
            RejectionKind::NotReplayable { original } => problem["original_status"] = original.as_u16().into(),
            RejectionKind::BodyTooLarge { limit: Some(limit) } => problem["max_bytes"] = Value::from(*limit as u64),
            RejectionKind::BodyTooLarge { limit: None }
            | RejectionKind::BodyTooSlow
            | RejectionKind::MissingKey
            | RejectionKind::InvalidKey(_)
            | RejectionKind::UnreadableBody
            | RejectionKind::InProgress
            | RejectionKind::TakenOver
            | RejectionKind::StoreUnavailable
            | RejectionKind::RunTimedOut
            | RejectionKind::OutcomeUnknown
            | RejectionKind::NothingCommitted => {}
        }
        let mut response = Response::new(Bytes::from(problem.to_string()));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(CONTENT_LANGUAGE, HeaderValue::from_static("en"));
        self.complete(headers);
        response
    }

    /// Whatever renders a refusal, no cache keeps it, and it says when to come again.
    pub(super) fn complete(&self, headers: &mut HeaderMap) {
        headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
        if let Some(wait) = self.retry_after {
            headers.entry(RETRY_AFTER).or_insert(HeaderValue::from(wait.as_secs()));
        }
    }
}

impl RejectionKind {
    pub(super) fn default_status(&self) -> StatusCode {
        match self {
            Self::MissingKey | Self::InvalidKey(_) | Self::UnreadableBody => StatusCode::BAD_REQUEST,
            Self::BodyTooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::BodyTooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::InProgress | Self::TakenOver => StatusCode::CONFLICT,
            Self::KeyReused(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Self::NotReplayable { .. } => StatusCode::GONE,
            Self::StoreUnavailable | Self::RunTimedOut | Self::OutcomeUnknown => StatusCode::SERVICE_UNAVAILABLE,
            Self::NothingCommitted => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// The variant's name, which ends the problem's `type`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::MissingKey => "MissingKey",
            Self::InvalidKey(_) => "InvalidKey",
            Self::UnreadableBody => "UnreadableBody",
            Self::BodyTooSlow => "BodyTooSlow",
            Self::BodyTooLarge { .. } => "BodyTooLarge",
            Self::InProgress => "InProgress",
            Self::TakenOver => "TakenOver",
            Self::KeyReused(_) => "KeyReused",
            Self::NotReplayable { .. } => "NotReplayable",
            Self::StoreUnavailable => "StoreUnavailable",
            Self::RunTimedOut => "RunTimedOut",
            Self::OutcomeUnknown => "OutcomeUnknown",
            Self::NothingCommitted => "NothingCommitted",
        }
    }

    /// The problem's `title`, constant for each kind (RFC 9457 §3.1.3).
    #[must_use]
    pub fn title(&self) -> &'static str {
        match self {
            Self::MissingKey => "Idempotency-Key is missing",
            Self::InvalidKey(_) => "Idempotency-Key is malformed",
            Self::UnreadableBody => "The request body could not be read",
            Self::BodyTooSlow => "The request body did not arrive in time",
            Self::BodyTooLarge { .. } => "The request body is too large",
            Self::InProgress => "A request is outstanding for this Idempotency-Key",
            Self::TakenOver => "Another attempt took this Idempotency-Key over",
            Self::KeyReused(_) => "Idempotency-Key is already used",
            Self::NotReplayable { .. } => "The response for this Idempotency-Key was not kept",
            Self::StoreUnavailable => "The store of idempotency keys is unavailable",
            Self::RunTimedOut => "The request ran for too long",
            Self::OutcomeUnknown => "The outcome of the request is unknown",
            Self::NothingCommitted => "The work was not committed",
        }
    }

    fn detail(&self) -> String {
        match self {
            Self::MissingKey => "This operation requires an idempotency key; send one, and the same one again on each \
                                 retry of the same operation."
                .into(),
            Self::InvalidKey(reason) => format!("The key was not accepted: {reason}. Nothing was run."),
            Self::UnreadableBody => "The body ended early or could not be read. Nothing was run.".into(),
            Self::BodyTooSlow => "The body took too long. Nothing was run. Send it again with the same key.".into(),
            Self::BodyTooLarge { limit: Some(limit) } => {
                format!("A keyed request may carry {limit} bytes. Nothing was run.")
            }
            Self::BodyTooLarge { limit: None } => "The body is larger than the server takes. Nothing was run.".into(),
            Self::InProgress => "The first request with this key is still being processed. Send it again later with \
                                 the same key."
                .into(),
            Self::TakenOver => "While this request ran, another attempt took its key over. Send it again with the \
                                same key."
                .into(),
            Self::KeyReused(_) => "The key belongs to a request that differs from this one. Use a new key for a new \
                                   operation."
                .into(),
            Self::NotReplayable { .. } => "The request has ended and will not run again; its response was not kept. \
                                           Look up what it did."
                .into(),
            Self::StoreUnavailable => "Whether this request has run before cannot be told now, so it was not run. \
                                       Send it again with the same key."
                .into(),
            Self::RunTimedOut => "The request was ended before its outcome was known. Ask for the key's status, then \
                                  send it again with the same key."
                .into(),
            Self::OutcomeUnknown => "The work may have been committed. Ask for the key's status, then send it again \
                                     with the same key."
                .into(),
            Self::NothingCommitted => "The server did not commit the work, and nothing of it was written.".into(),
        }
    }
}

/// The problem's `detail`: what happened, and what the client does next.
impl fmt::Display for RejectionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail())
    }
}
