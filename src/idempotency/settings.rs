//! What a layer is set to.

use std::{fmt, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderName, Method, Response, StatusCode, request, response};
use tokio::{sync::Semaphore, time::Instant};

use super::{
    recording::{self, OnFailure, Recorder, Verdict},
    rejection::{PROBLEM_TYPES, Rejection, RejectionKind},
    scope::Scope,
};
use crate::{
    IdempotencyKey,
    key::{IDEMPOTENCY_KEY, KeySyntax},
    store::Fingerprint,
};

pub(super) type FingerprintFn = dyn Fn(&request::Parts, &[u8]) -> Fingerprint + Send + Sync;
pub(super) type RenderFn = dyn Fn(&Rejection) -> Response<Bytes> + Send + Sync;

/// What a layer is set to: what a server must publish is read here, and the setters of
/// [`IdempotencyLayer`](super::IdempotencyLayer) say what each means.
#[derive(Clone)]
pub struct Settings {
    pub(super) scope: Scope,
    pub(super) methods: Arc<[Method]>,
    pub(super) key_header: HeaderName,
    pub(super) key_syntax: KeySyntax,
    pub(super) max_key_length: usize,
    pub(super) key_required: bool,
    pub(super) max_request_body: usize,
    pub(super) max_read: Duration,
    pub(super) keep_accept_encoding: bool,
    pub(super) fingerprint: Arc<FingerprintFn>,
    pub(super) lease: Duration,
    pub(super) max_run: Duration,
    pub(super) retention: Duration,
    pub(super) purge_interval: Option<Duration>,
    pub(super) retry_after: Duration,
    pub(super) wait: Option<Duration>,
    pub(super) waiters: Arc<Semaphore>,
    pub(super) max_stall: Duration,
    pub(super) on_failure: OnFailure,
    pub(super) recorder: Recorder,
    pub(super) store_timeout: Duration,
    pub(super) serve_unprotected: bool,
    pub(super) mismatch_status: StatusCode,
    pub(super) problem_types: Arc<str>,
    pub(super) render: Arc<RenderFn>,
}

impl Settings {
    pub(super) fn new(scope: Scope) -> Self {
        Self {
            scope,
            methods: [Method::POST, Method::PATCH].into(),
            key_header: IDEMPOTENCY_KEY,
            key_syntax: KeySyntax::Lenient,
            max_key_length: IdempotencyKey::DEFAULT_MAX_LEN,
            key_required: false,
            max_request_body: 2 << 20,
            max_read: Duration::from_secs(30),
            keep_accept_encoding: false,
            fingerprint: Arc::new(Fingerprint::exact),
            lease: Duration::from_secs(10),
            max_run: Duration::from_secs(15 * 60),
            retention: Duration::from_secs(24 * 60 * 60),
            purge_interval: Some(Duration::from_secs(60)),
            retry_after: Duration::from_secs(1),
            wait: None,
            waiters: Arc::new(Semaphore::new(1_000)),
            max_stall: Duration::from_secs(1),
            on_failure: OnFailure::Release,
            recorder: Recorder::default(),
            store_timeout: Duration::from_secs(5),
            serve_unprotected: false,
            mismatch_status: StatusCode::UNPROCESSABLE_ENTITY,
            problem_types: PROBLEM_TYPES.into(),
            render: Arc::new(Rejection::to_response),
        }
    }

    /// The methods whose requests are guarded.
    #[must_use]
    pub fn methods(&self) -> &[Method] {
        &self.methods
    }

    /// The header that carries the key.
    #[must_use]
    pub fn key_header(&self) -> &HeaderName {
        &self.key_header
    }

    /// The longest key, in characters.
    #[must_use]
    pub fn max_key_length(&self) -> usize {
        self.max_key_length
    }

    /// Whether a guarded request without a key is refused.
    #[must_use]
    pub fn key_required(&self) -> bool {
        self.key_required
    }

    /// The largest body of a keyed request, in bytes.
    #[must_use]
    pub fn max_request_body(&self) -> usize {
        self.max_request_body
    }

    /// How the header is read.
    #[must_use]
    pub fn key_syntax(&self) -> KeySyntax {
        self.key_syntax
    }

    /// How long the body of a keyed request may take to arrive.
    #[must_use]
    pub fn max_read(&self) -> Duration {
        self.max_read
    }

    /// How long a repeat waits for the one that runs; `None` where it does not.
    #[must_use]
    pub fn wait_for(&self) -> Option<Duration> {
        self.wait
    }

    /// The longest `Retry-After` of a 409.
    #[must_use]
    pub fn retry_after(&self) -> Duration {
        self.retry_after
    }

    /// What becomes of the key after a failure.
    #[must_use]
    pub fn on_failure(&self) -> OnFailure {
        self.on_failure
    }

    /// The largest body that is replayed, in bytes.
    #[must_use]
    pub fn max_recorded_body(&self) -> usize {
        self.recorder.limit
    }

    /// How long a claim lasts unless it is renewed: how long a client may have to wait after a crash.
    #[must_use]
    pub fn lease(&self) -> Duration {
        self.lease
    }

    /// The longest time that a handler may run.
    #[must_use]
    pub fn max_run(&self) -> Duration {
        self.max_run
    }

    /// How long a key is remembered after its request has ended; the lifetime to publish.
    #[must_use]
    pub fn retention(&self) -> Duration {
        self.retention
    }

    /// The header that marks a replay.
    #[must_use]
    pub fn replay_marker(&self) -> Option<&HeaderName> {
        self.recorder.marker.as_ref()
    }

    /// The status of a reused key.
    #[must_use]
    pub fn mismatch_status(&self) -> StatusCode {
        self.mismatch_status
    }

    /// What becomes of the key of this response: what was decided about it, else rule 13.
    pub(super) fn judge(&self, response: &response::Parts) -> Verdict {
        match self.recorder.decided(response) {
            Some(recording) => Verdict::from(recording),
            None => recording::judge(response, self.on_failure),
        }
    }

    /// A rejection of this layer.
    pub(super) fn rejection(&self, kind: RejectionKind) -> Rejection {
        let status = match kind {
            RejectionKind::KeyReused(_) => self.mismatch_status,
            _ => kind.default_status(),
        };
        let waits = matches!(
            kind,
            RejectionKind::InProgress
                | RejectionKind::TakenOver
                | RejectionKind::StoreUnavailable
                | RejectionKind::OutcomeUnknown
        );
        let retry_after = waits.then(|| whole_seconds(self.retry_after));
        Rejection { kind, status, retry_after, problem_types: Arc::clone(&self.problem_types) }
    }

    /// The response of a rejection, which stands in its extensions.
    pub(super) fn render(&self, rejection: Rejection) -> Response<Bytes> {
        let mut response = (self.render)(&rejection);
        rejection.complete(response.headers_mut());
        response.extensions_mut().insert(rejection);
        response
    }

    pub(super) fn refuse(&self, kind: RejectionKind) -> Response<Bytes> {
        self.render(self.rejection(kind))
    }
}

/// When a limit that begins now ends. One that no clock can hold, such as `Duration::MAX`, ends in a century.
pub(super) fn ends_at(limit: Duration) -> Instant {
    const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);
    let now = Instant::now();
    now.checked_add(limit).unwrap_or_else(|| now + CENTURY)
}

/// Rounded up, at least one: what `Retry-After` can say (RFC 9110 §10.2.3).
pub(super) fn whole_seconds(time: Duration) -> Duration {
    let begun = u64::from(time.subsec_nanos() > 0);
    Duration::from_secs(time.as_secs().saturating_add(begun).max(1))
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("scope", &self.scope)
            .field("methods", &self.methods)
            .field("key_header", &self.key_header)
            .field("key_required", &self.key_required)
            .field("lease", &self.lease)
            .field("max_run", &self.max_run)
            .field("retention", &self.retention)
            .field("on_failure", &self.on_failure)
            .finish_non_exhaustive()
    }
}
