//! To be seen: a tracing event for each outcome and, with the feature `metrics`, a counter and two histograms.
//!
//! | metric | kind | labels |
//! |---|---|---|
//! | `tower_idempotency_outcomes_total` | counter | `outcome`: one of [`Seen`] |
//! | `tower_idempotency_claim_seconds` | histogram | |
//! | `tower_idempotency_complete_seconds` | histogram | |

use std::time::Duration;

use crate::store::{ScopedKey, StoreError, Token};

/// What is counted. A request can be seen more than once: taken over, then executed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Seen {
    /// The handler ran and the key was closed.
    Executed,
    /// A repeat got the stored response.
    Replayed,
    /// A repeat was refused while the first still runs.
    InFlight,
    /// A key was reused with another request.
    Mismatch,
    /// A repeat was refused since the response was not kept.
    NotReplayable,
    /// A claim was granted over a holder whose lease had lapsed.
    TakenOver,
    /// A holder found that it was passed.
    FencedOut,
    /// A key was given back.
    Released,
    /// A failure keeps its key until the lease lapses.
    LeftToLapse,
    /// A handler was dropped after the longest time that one may run.
    TimedOut,
    /// The store failed, or did not answer in time.
    StoreError,
}

impl Seen {
    fn name(self) -> &'static str {
        match self {
            Self::Executed => "executed",
            Self::Replayed => "replayed",
            Self::InFlight => "in_flight",
            Self::Mismatch => "mismatch",
            Self::NotReplayable => "not_replayable",
            Self::TakenOver => "taken_over",
            Self::FencedOut => "fenced_out",
            Self::Released => "released",
            Self::LeftToLapse => "left_to_lapse",
            Self::TimedOut => "timed_out",
            Self::StoreError => "store_error",
        }
    }
}

/// An outcome that belongs to a key, seen by one that does not hold it.
pub(super) fn key_seen(seen: Seen, key: &ScopedKey) {
    tracing::info!(target: "tower_idempotency", outcome = seen.name(), key = key.key(), "keyed request");
    count(seen);
}

/// An outcome of a holder.
pub(super) fn holder_seen(seen: Seen, token: &Token) {
    tracing::info!(target: "tower_idempotency", outcome = seen.name(), key = token.key().key(), fence = token.fence(), "keyed request");
    count(seen);
}

/// A store that failed at `verb`; what follows is the caller's.
pub(super) fn store_failed(verb: &'static str, key: &ScopedKey, error: &StoreError) {
    let source = std::error::Error::source(error).map(tracing::field::display);
    tracing::warn!(target: "tower_idempotency", outcome = Seen::StoreError.name(), verb, key = key.key(), source, "{error}");
    count(Seen::StoreError);
}

/// A store that failed to delete old records; the next purge tries again.
pub(super) fn purge_failed(error: &StoreError) {
    let source = std::error::Error::source(error).map(tracing::field::display);
    tracing::warn!(outcome = Seen::StoreError.name(), verb = "purge", source, "{error}");
    count(Seen::StoreError);
}

#[cfg(feature = "metrics")]
fn count(seen: Seen) {
    metrics::counter!("tower_idempotency_outcomes_total", "outcome" => seen.name()).increment(1);
}

#[cfg(not(feature = "metrics"))]
fn count(_: Seen) {}

/// How long a claim took to be answered.
pub(super) fn claim_took(time: Duration) {
    #[cfg(feature = "metrics")]
    metrics::histogram!("tower_idempotency_claim_seconds").record(time);
    #[cfg(not(feature = "metrics"))]
    let _ = time;
}

/// How long it took to close a key.
pub(super) fn complete_took(time: Duration) {
    #[cfg(feature = "metrics")]
    metrics::histogram!("tower_idempotency_complete_seconds").record(time);
    #[cfg(not(feature = "metrics"))]
    let _ = time;
}
