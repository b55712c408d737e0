//! `IdempotencyLayer`: every setting and its default.

use std::{fmt, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderName, Method, Response, StatusCode, request, response};
use tokio::sync::Semaphore;

use super::{
    guard::Background,
    recording::{OnFailure, Recording},
    rejection::Rejection,
    scope::Scope,
    settings::Settings,
};
use crate::{key::KeySyntax, store::Fingerprint};

/// Runs each keyed request once, around any HTTP service.
///
/// # Whose keys
///
/// The first thing to decide is the [`Scope`]: two callers who must not see each other's answers need different
/// scopes, told from what the *server* has authenticated. It has no default.
///
/// # Where it stands in a stack
///
/// From the outside in: tracing, CORS (allow the key header, expose the marker), compression, authentication,
/// **idempotency**, limits on concurrency and time, the handler. A replay does not pass through what is inside. A
/// caller that leaves does not end its request, so limits on concurrency and on time must be inside to count it.
#[cfg_attr(all(feature = "axum", feature = "sqlite"), doc = include_str!("stack.md"))]
pub struct IdempotencyLayer<S> {
    pub(super) store: S,
    pub(super) settings: Settings,
    pub(super) background: Arc<Background>,
}

impl<S> IdempotencyLayer<S> {
    /// A layer with the defaults that its setters name.
    #[must_use]
    pub fn new(store: S, scope: Scope) -> Self {
        Self { store, settings: Settings::new(scope), background: Arc::default() }
    }

    /// What it is set to: what a server has to publish, the lifetime of a key above all.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Waits for the exchanges whose callers have left, and for what they owe the store; `max_run` is the longest that
    /// can take. Call it on shutdown, after the server's own future has ended: an exchange whose caller is still
    /// connected is the server's to wait for.
    pub async fn drained(&self) {
        self.background.tasks.close();
        self.background.tasks.wait().await;
    }

    fn set(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.settings);
        self
    }
}

/// Which requests, and which key.
impl<S> IdempotencyLayer<S> {
    /// The methods whose requests are guarded. Default: POST and PATCH.
    #[must_use]
    pub fn methods(self, methods: impl IntoIterator<Item = Method>) -> Self {
        self.set(|settings| settings.methods = methods.into_iter().collect())
    }

    /// Refuses a guarded request without a key: 400. Default: it passes through untouched.
    #[must_use]
    pub fn require_key(self) -> Self {
        self.set(|settings| settings.key_required = true)
    }

    /// The header that carries the key. Default: `Idempotency-Key`.
    #[must_use]
    pub fn key_header(self, name: HeaderName) -> Self {
        self.set(|settings| settings.key_header = name)
    }

    /// How the header is read. Default: [`KeySyntax::Lenient`].
    #[must_use]
    pub fn key_syntax(self, syntax: KeySyntax) -> Self {
        self.set(|settings| settings.key_syntax = syntax)
    }

    /// The longest key, in characters. Default: 255, as at Stripe.
    #[must_use]
    pub fn max_key_length(self, characters: usize) -> Self {
        self.set(|settings| settings.max_key_length = characters)
    }

    /// The largest body of a keyed request, in bytes; above it, 413. Default: 2 MiB, as axum's extractors.
    #[must_use]
    pub fn max_request_body(self, bytes: usize) -> Self {
        self.set(|settings| settings.max_request_body = bytes)
    }

    /// How long the body of a keyed request may take to arrive; after it, 408. A slow sender holds a place of the limits
    /// inside the layer meanwhile, and so does a repeat that [waits](Self::wait_for). Default: 30 s.
    #[must_use]
    pub fn max_read(self, time: Duration) -> Self {
        self.set(|settings| settings.max_read = time)
    }

    /// Leaves `Accept-Encoding` on keyed requests: the stored response may then be compressed, and a repeat that does
    /// not accept that encoding cannot read it. Default: taken off.
    #[must_use]
    pub fn keep_accept_encoding(self) -> Self {
        self.set(|settings| settings.keep_accept_encoding = true)
    }

    /// What tells whether two requests are the same. Default: [`Fingerprint::exact`].
    #[must_use]
    pub fn with_fingerprint<F>(self, fingerprint: F) -> Self
    where
        F: Fn(&request::Parts, &[u8]) -> Fingerprint + Send + Sync + 'static,
    {
        self.set(|settings| settings.fingerprint = Arc::new(fingerprint))
    }
}

/// How long.
impl<S> IdempotencyLayer<S> {
    /// How long a claim lasts unless it is renewed, which it is while the handler runs: after a crash a repeat waits
    /// this long. Default: 10 s.
    ///
    /// # Panics
    ///
    /// If it is shorter than 3 ms, so that it cannot be renewed on a clock of milliseconds, or longer than a day.
    #[must_use]
    pub fn lease(self, lease: Duration) -> Self {
        let allowed = Duration::from_millis(3)..=Duration::from_secs(24 * 60 * 60);
        assert!(allowed.contains(&lease), "a lease is 3 ms at least and a day at most");
        self.set(|settings| settings.lease = lease)
    }

    /// The longest time that a handler may run; after it the handler is dropped and the answer is 503. Default:
    /// 15 minutes.
    #[must_use]
    pub fn max_run(self, time: Duration) -> Self {
        self.set(|settings| settings.max_run = time)
    }

    /// How long a key is remembered after its request has ended. After that it is new. Default: 24 hours. Publish it.
    ///
    /// # Panics
    ///
    /// If it is zero: no repeat would find a record.
    #[must_use]
    pub fn retention(self, time: Duration) -> Self {
        assert!(!time.is_zero(), "a retention is more than nothing");
        self.set(|settings| settings.retention = time)
    }

    /// How often keys past their retention are deleted, in small batches. Default: each minute.
    ///
    /// # Panics
    ///
    /// If it is zero.
    #[must_use]
    pub fn purge_interval(self, interval: Duration) -> Self {
        assert!(!interval.is_zero(), "a purge has to rest");
        self.set(|settings| settings.purge_interval = Some(interval))
    }

    /// Leaves it to you to call [`Store::purge`](crate::Store::purge).
    #[must_use]
    pub fn without_purge(self) -> Self {
        self.set(|settings| settings.purge_interval = None)
    }

    /// How long a call of the store may take. Default: 5 s.
    #[must_use]
    pub fn store_timeout(self, limit: Duration) -> Self {
        self.set(|settings| settings.store_timeout = limit)
    }

    /// Lets a repeat wait this long for the one that runs, before it is answered 409. Default: it does not wait.
    #[must_use]
    pub fn wait_for(self, limit: Duration) -> Self {
        self.set(|settings| settings.wait = Some(limit))
    }

    /// How many repeats wait at once; one more is answered 409 immediately. Each holds its body in memory. Default:
    /// 1,000.
    #[must_use]
    pub fn max_waiters(self, waiters: usize) -> Self {
        self.set(|settings| settings.waiters = Arc::new(Semaphore::new(waiters.min(Semaphore::MAX_PERMITS))))
    }
}

/// What is recorded.
impl<S> IdempotencyLayer<S> {
    /// What becomes of the key after a failure. Default: [`OnFailure::Release`].
    #[must_use]
    pub fn on_failure(self, policy: OnFailure) -> Self {
        self.set(|settings| settings.on_failure = policy)
    }

    /// Decides which responses are recorded; `None` leaves a response to the default rule, which heeds a [`Recording`]
    /// in the response's extensions. Of a committed response only [`Recording::CloseWithoutKeeping`] counts: its key is
    /// closed in any case.
    #[must_use]
    pub fn with_recording<F>(self, rule: F) -> Self
    where
        F: Fn(&response::Parts) -> Option<Recording> + Send + Sync + 'static,
    {
        self.set(|settings| settings.recorder.rule = Some(Arc::new(rule)))
    }

    /// The largest body that is replayed, in bytes; the key of a larger one is closed as not replayable. Default: 1 MiB.
    #[must_use]
    pub fn max_recorded_body(self, bytes: usize) -> Self {
        self.set(|settings| settings.recorder.limit = bytes)
    }

    /// How long a body of unknown length may stall before it is streamed, and its key closed as not replayable.
    /// Default: 1 s.
    #[must_use]
    pub fn max_stall(self, time: Duration) -> Self {
        self.set(|settings| settings.max_stall = time)
    }

    /// Records `Set-Cookie` too: whoever repeats the request gets the cookies. Default: not recorded.
    #[must_use]
    pub fn keep_set_cookie(self) -> Self {
        self.set(|settings| settings.recorder.keep_set_cookie = true)
    }
}

/// What is answered.
impl<S> IdempotencyLayer<S> {
    /// The header that says whether an answer is a replay. Default: `Idempotency-Replayed`.
    #[must_use]
    pub fn replay_marker(self, name: HeaderName) -> Self {
        self.set(|settings| settings.recorder.marker = Some(name))
    }

    /// Answers do not say whether they are replays.
    #[must_use]
    pub fn without_replay_marker(self) -> Self {
        self.set(|settings| settings.recorder.marker = None)
    }

    /// The `Retry-After` of a 409 and a 503, rounded up to whole seconds. Default: 1 s; on a 409 never more than what
    /// is left of the lease.
    #[must_use]
    pub fn retry_after(self, wait: Duration) -> Self {
        self.set(|settings| settings.retry_after = wait)
    }

    /// The status of a key that is reused with another request. Default: 422.
    #[must_use]
    pub fn mismatch_status(self, status: StatusCode) -> Self {
        self.set(|settings| settings.mismatch_status = status)
    }

    /// The URI that begins each problem's `type`; the name of the
    /// [`RejectionKind`](super::RejectionKind) ends it. Default: that type's page.
    #[must_use]
    pub fn problem_types(self, base: &str) -> Self {
        self.set(|settings| settings.problem_types = base.into())
    }

    /// Replaces the rendering of refusals. `Cache-Control: no-store` and `Retry-After` are added where it has none of its
    /// own. Default: [`Rejection::to_response`].
    #[must_use]
    pub fn with_rejection_response<F>(self, render: F) -> Self
    where
        F: Fn(&Rejection) -> Response<Bytes> + Send + Sync + 'static,
    {
        self.set(|settings| settings.render = Arc::new(render))
    }

    /// When the store fails at the claim, **the request runs although it may have run before**. Default: 503.
    #[must_use]
    pub fn serve_unprotected_when_the_store_fails(self) -> Self {
        self.set(|settings| settings.serve_unprotected = true)
    }
}

impl<S: Clone> Clone for IdempotencyLayer<S> {
    fn clone(&self) -> Self {
        let (store, settings) = (self.store.clone(), self.settings.clone());
        Self { store, settings, background: Arc::clone(&self.background) }
    }
}

impl<S> fmt::Debug for IdempotencyLayer<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdempotencyLayer").field("settings", &self.settings).finish_non_exhaustive()
    }
}
