//! What the handler holds.

use std::{fmt, sync::Arc, time::Duration};

use super::{commit::CommitState, guard::Guard, recording::Recorder, rejection::RejectionKind};
use crate::{IdempotencyKey, store::Token};

/// The right to run this request, held by its handler; a request extension and, with the feature `axum`, an extractor.
///
/// A clone is the same claim. Dropping it changes nothing: the layer keeps the lease and closes the key.
pub struct Claim<S> {
    held: Arc<Held<S>>,
}

#[cfg_attr(
    not(any(feature = "sqlite", feature = "postgres")),
    expect(dead_code, reason = "only a store that commits reads all of it")
)]
struct Held<S> {
    store: S,
    key: IdempotencyKey,
    token: Token,
    attempt: u32,
    commit: CommitState,
    recorder: Recorder,
    store_timeout: Duration,
}

impl<S> Claim<S> {
    /// The key that the client sent.
    #[must_use]
    pub fn key(&self) -> &IdempotencyKey {
        &self.held.key
    }

    /// Rises with every claim that the store ever grants. A system that is handed this number and remembers the
    /// highest for a key can refuse a holder that was passed. The life of a `MemoryStore` ends with its process: after a
    /// restart its fences start again.
    #[must_use]
    pub fn fence(&self) -> u64 {
        self.held.token.fence()
    }

    /// 1 for the first run of this record, one more each time that a repeat took over from a holder whose lease had
    /// lapsed. Above 1 an earlier run may have done part of the work outside a commit. At 1 too, if that run failed: a
    /// key that was released starts again at 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.held.attempt
    }

    /// A key for one step of this work, to hand downstream: the same on every attempt at this request, and another in
    /// each scope, since to the next server all our callers are one.
    #[must_use]
    pub fn child_key(&self, step: &str) -> IdempotencyKey {
        IdempotencyKey::child_in(self.held.token.key().as_bytes(), step)
    }

    pub(crate) fn new(
        store: S,
        key: IdempotencyKey,
        token: Token,
        attempt: u32,
        commit: CommitState,
        (recorder, store_timeout): (Recorder, Duration),
    ) -> Self {
        Self { held: Arc::new(Held { store, key, token, attempt, commit, recorder, store_timeout }) }
    }
}

/// What the `impl Claim<SomeStore>` of a concrete store builds its commit on.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
impl<S> Claim<S> {
    pub(crate) fn begin_commit(&self) -> Result<super::Commit, super::CommitError> {
        self.held.commit.begin()
    }

    #[cfg(feature = "postgres")]
    pub(crate) fn commit_state(&self) -> &CommitState {
        &self.held.commit
    }

    pub(crate) fn store(&self) -> &S {
        &self.held.store
    }

    pub(crate) fn token(&self) -> &Token {
        &self.held.token
    }

    /// Turns the handler's response into what the record keeps.
    pub(crate) fn recorder(&self) -> &Recorder {
        &self.held.recorder
    }

    /// How long a call of the store may take.
    pub(crate) fn store_timeout(&self) -> Duration {
        self.held.store_timeout
    }
}

impl<S> Clone for Claim<S> {
    fn clone(&self) -> Self {
        Self { held: Arc::clone(&self.held) }
    }
}

impl<S> fmt::Debug for Claim<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Claim")
            .field("token", &self.held.token)
            .field("attempt", &self.held.attempt)
            .finish_non_exhaustive()
    }
}

/// Why the handler of a guarded request holds no claim; what an extractor answers.
pub(super) struct Unclaimed<S> {
    guard: Arc<Guard<S>>,
    kind: RejectionKind,
}

impl<S> Unclaimed<S> {
    pub(super) fn new(guard: Arc<Guard<S>>, kind: RejectionKind) -> Self {
        Self { guard, kind }
    }

    #[cfg(feature = "axum")]
    pub(super) fn to_response(&self) -> http::Response<bytes::Bytes> {
        self.guard.settings.refuse(self.kind.clone())
    }
}

impl<S> Clone for Unclaimed<S> {
    fn clone(&self) -> Self {
        Self { guard: Arc::clone(&self.guard), kind: self.kind.clone() }
    }
}
