//! What a layer is set to.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use http::HeaderName;

use super::{
    backoff::Backoff,
    budget::Budget,
    classify::{Attempt, Verdict},
    keys::Keys,
};
use crate::key::IDEMPOTENCY_REPLAYED;

/// The setters of [`RetryLayer`](super::RetryLayer) say what each means.
#[derive(Clone)]
pub(super) struct Settings {
    pub(super) max_attempts: u32,
    pub(super) attempt_timeout: Option<Duration>,
    pub(super) deadline: Option<Duration>,
    pub(super) backoff: Backoff,
    pub(super) budget: Option<Budget>,
    pub(super) max_hint: Duration,
    pub(super) keys: Keys,
    pub(super) replayed_header: HeaderName,
    pub(super) attempt_header: Option<HeaderName>,
    pub(super) max_drain_bytes: u64,
    pub(super) max_drain_time: Duration,
    pub(super) classify: Arc<dyn Fn(&Attempt<'_>) -> Verdict + Send + Sync>,
    pub(super) streams: Arc<Streams>,
}

/// Numbers the requests of a layer: each has a random stream of its own.
pub(super) struct Streams {
    seed: u64,
    next: AtomicU64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_attempts: 3,
            attempt_timeout: None,
            deadline: None,
            backoff: Backoff::default(),
            budget: Some(Budget::default()),
            max_hint: Duration::from_secs(60),
            keys: Keys::default(),
            replayed_header: IDEMPOTENCY_REPLAYED,
            attempt_header: None,
            max_drain_bytes: 64 << 10,
            max_drain_time: Duration::from_millis(250),
            classify: Arc::new(|attempt| attempt.verdict()),
            streams: Arc::new(Streams::new(fastrand::u64(..))),
        }
    }
}

impl Streams {
    pub(super) fn new(seed: u64) -> Self {
        Self { seed, next: AtomicU64::new(0) }
    }

    pub(super) fn next(&self) -> u64 {
        self.seed.wrapping_add(self.next.fetch_add(1, Ordering::Relaxed))
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("max_attempts", &self.max_attempts)
            .field("attempt_timeout", &self.attempt_timeout)
            .field("deadline", &self.deadline)
            .field("backoff", &self.backoff)
            .field("budget", &self.budget)
            .field("max_hint", &self.max_hint)
            .field("keys", &self.keys)
            .field("replayed_header", &self.replayed_header)
            .field("attempt_header", &self.attempt_header)
            .field("max_drain_bytes", &self.max_drain_bytes)
            .field("max_drain_time", &self.max_drain_time)
            .field("seed", &self.streams.seed)
            .finish_non_exhaustive()
    }
}
