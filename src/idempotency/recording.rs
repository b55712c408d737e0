//! Which responses are kept, and what of them.

use std::sync::Arc;

use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, StatusCode,
    header::{
        AGE, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, DATE, SET_COOKIE, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
    },
    response::Parts,
};

use crate::{
    key::IDEMPOTENCY_REPLAYED,
    store::{Outcome, StoredResponse},
};

/// What is recorded of a failure that left no response.
pub(super) const NO_RESPONSE: Outcome = Outcome::NotReplayable(StatusCode::INTERNAL_SERVER_ERROR);

/// What becomes of the key of one response. A handler overrides the rule of the layer by setting it as a response
/// extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Recording {
    /// Each repeat gets this response.
    Keep,
    /// A repeat runs again, at once. Of a committed response this means nothing: its key is closed with the commit.
    DoNotKeep,
    /// The key is closed and the response is not stored: a repeat gets 410 and never runs. For answers that hold
    /// secrets.
    CloseWithoutKeeping,
}

/// What becomes of the key after a failure: a panic, an error of the inner service, a 5xx response, or a handler that
/// was dropped at `max_run`.
///
/// Whatever is chosen, writes inside a commit happen at most once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnFailure {
    /// A repeat runs again, at once. **What the handler did before it failed, outside a commit, can happen twice.**
    #[default]
    Release,
    /// A repeat runs again once the lease has lapsed; until then it gets 409. **What the handler did before it failed,
    /// outside a commit, can happen twice.**
    HoldUntilLapse,
    /// The failure is an outcome like any other: each repeat gets the same 5xx, as at Stripe, and the handler does not
    /// run again. A panic, an error of the inner service and a handler that was dropped leave no response; a repeat gets
    /// 410.
    Record,
}

/// What the exchange does with the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Complete with the response.
    Keep,
    /// Complete as not replayable.
    Close,
    /// Release.
    GiveBack,
    /// Let the lease lapse.
    Hold,
}

impl From<Recording> for Verdict {
    fn from(recording: Recording) -> Self {
        match recording {
            Recording::Keep => Self::Keep,
            Recording::DoNotKeep => Self::GiveBack,
            Recording::CloseWithoutKeeping => Self::Close,
        }
    }
}

/// Judges a response by rule 13, where nobody has [decided](Recorder::decided) about it.
pub(super) fn judge(response: &Parts, on_failure: OnFailure) -> Verdict {
    match response.status.as_u16() {
        // RFC 9110 §15.2: interim, so never the answer; what switches protocols cannot be replayed.
        100..=199 => Verdict::Close,
        // The request was refused before the work began: the corrected one may come under the same key.
        400 | 401 | 403 | 405 | 406 | 408 | 409 | 411 | 413..=415 | 417 | 421 | 422 | 425 | 426 | 428 | 429 | 431 => {
            Verdict::GiveBack
        }
        200..=499 => Verdict::Keep,
        // RFC 9110 §15: a status outside 100..=599 counts as a server error.
        _ => judge_failure(on_failure, Verdict::Keep),
    }
}

/// Server-sent events never end: their key is closed before the first of them leaves.
pub(super) fn streams_events(response: &Parts) -> bool {
    const EVENTS: &[u8] = b"text/event-stream";
    let media_type = response.headers.get(CONTENT_TYPE).map_or(&b""[..], |value| value.as_bytes());
    media_type.get(..EVENTS.len()).is_some_and(|start| start.eq_ignore_ascii_case(EVENTS))
}

/// Judges a failure; `recorded` is what recording it means.
pub(super) fn judge_failure(on_failure: OnFailure, recorded: Verdict) -> Verdict {
    match on_failure {
        OnFailure::Release => Verdict::GiveBack,
        OnFailure::HoldUntilLapse => Verdict::Hold,
        OnFailure::Record => recorded,
    }
}

/// Plugged into the layer; decides about the responses that it knows.
pub(crate) type Rule = dyn Fn(&Parts) -> Option<Recording> + Send + Sync;

/// Turns a response into what its record keeps.
#[derive(Clone)]
pub(crate) struct Recorder {
    /// Bytes of a body.
    pub(crate) limit: usize,
    pub(crate) keep_set_cookie: bool,
    /// The layer's own mark, which is no part of the response.
    pub(crate) marker: Option<HeaderName>,
    pub(crate) rule: Option<Arc<Rule>>,
}

impl Default for Recorder {
    fn default() -> Self {
        let marker = Some(IDEMPOTENCY_REPLAYED);
        Self { limit: 1 << 20, keep_set_cookie: false, marker, rule: None }
    }
}

impl Recorder {
    /// What was decided about a response: by the layer's own rule first, then by the handler.
    pub(super) fn decided(&self, response: &Parts) -> Option<Recording> {
        let ruled = self.rule.as_ref().and_then(|rule| rule(response));
        ruled.or_else(|| response.extensions.get().copied())
    }

    /// What the record keeps of a committed response.
    #[cfg(any(feature = "sqlite", feature = "postgres"))]
    pub(crate) fn outcome(&self, response: &http::Response<Bytes>) -> Outcome {
        let (parts, _) = response.clone().into_parts();
        let closed = self.decided(&parts) == Some(Recording::CloseWithoutKeeping);
        // RFC 9110 §15.2, as in `judge`.
        let interim = response.status().is_informational();
        if closed || interim || response.body().len() > self.limit {
            return Outcome::NotReplayable(response.status());
        }
        Outcome::Response(self.stored(response.status(), response.headers(), response.body().clone()))
    }

    /// What is stored of a response (rule 16).
    pub(super) fn stored(&self, status: StatusCode, headers: &HeaderMap, body: Bytes) -> StoredResponse {
        let named = named_by_connection(headers);
        let mut kept = HeaderMap::with_capacity(headers.len());
        for (name, value) in headers {
            if !self.never_stores(name) && !named.contains(name) {
                kept.append(name, value.clone());
            }
        }
        // RFC 9110 §8.6: none on 204; elsewhere each line equals the bytes that are sent.
        let sent = body.len().to_string();
        let honest = kept.get_all(CONTENT_LENGTH).iter().all(|length| length.as_bytes() == sent.as_bytes());
        if !honest || status == StatusCode::NO_CONTENT {
            kept.remove(CONTENT_LENGTH);
        }
        StoredResponse { status, headers: kept, body }
    }

    fn never_stores(&self, name: &HeaderName) -> bool {
        // RFC 9110 §7.6.1 and RFC 9111 §3.1: fields of this connection. Trailers are dropped, so is their announcement.
        const OF_THIS_CONNECTION: [HeaderName; 5] = [CONNECTION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE];
        // RFC 9110 §6.6.1, RFC 9111 §5.1: the time and the age of *that* message.
        const OF_THAT_MESSAGE: [HeaderName; 2] = [DATE, AGE];
        const WITHOUT_CONSTANT: [&str; 5] = [
            "keep-alive",
            "proxy-connection",
            "proxy-authenticate",
            "proxy-authentication-info",
            "proxy-authorization",
        ];
        OF_THIS_CONNECTION.contains(name)
            || OF_THAT_MESSAGE.contains(name)
            || WITHOUT_CONSTANT.contains(&name.as_str())
            || (name == SET_COOKIE && !self.keep_set_cookie)
            || self.marker.as_ref() == Some(name)
    }
}

fn named_by_connection(headers: &HeaderMap) -> Vec<HeaderName> {
    headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect()
}
