//! What the caller learns: how often it was tried, why it was not tried again, and whether it was applied.

use std::{fmt, sync::Arc, time::Duration};

use http::{Response, StatusCode};
use tokio::time::Instant;
use tower::BoxError;

use crate::{IdempotencyKey, key::IDEMPOTENCY_REPLAYED};

/// What became of one logical request over all its attempts.
///
/// Stands in [`RetryError`](super::RetryError) and, when a retry was made or refused, in the response's extensions. A
/// response without it came at the first try and needed no other. Cheap to clone.
#[derive(Clone)]
pub struct RetryInfo(Arc<Record>);

pub(super) struct Record {
    pub(super) key: Option<IdempotencyKey>,
    pub(super) first_sent: Option<Instant>,
    pub(super) attempts: u32,
    pub(super) elapsed: Duration,
    pub(super) stopped: Stopped,
    pub(super) outcome: Outcome,
    pub(super) failures: Vec<FailedAttempt>,
    /// Whether its layer retries at all.
    pub(super) retries: bool,
}

/// Whether the server did the work, as far as anybody can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It did: a 2xx, a 3xx, or a response marked as a replay.
    Applied,
    /// It surely did not: every attempt failed before the work. The request may be sent anew, with any key or none.
    NotApplied,
    /// Nobody knows. Ask the server, then repeat with the **same** key, or ask a human: a new key may do it twice.
    Unknown,
}

/// Why there was no further attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stopped {
    /// It succeeded, after a retry.
    Succeeded,
    /// The last failure is one that another attempt would not change: a 422, a marked replay, a server's
    /// `x-should-retry: false`.
    NotRetryable,
    /// A second copy could do harm: the failure is no proof that nothing was done (a 429 is none either), and the
    /// request has neither an idempotent method nor a key.
    NotRepeatable,
    /// The body can be sent only once.
    Body,
    /// All attempts were made.
    Attempts,
    /// The total deadline had passed, or would have before the next attempt.
    Deadline,
    /// The budget for retries was empty.
    Budget,
    /// The server asked for a longer wait than is allowed.
    Hint,
    /// The server asked for no retry (`grpc-retry-pushback-ms`).
    Pushback,
    /// The key would have been older than its lifetime.
    KeyExpired,
    /// A backoff of your own had no further delay.
    Backoff,
    /// The service was not ready for another attempt.
    NotReady,
    /// The key could not be sent as it was to be.
    Key,
    /// A `RetryLayer` inside this one had stopped already.
    Nested,
}

/// An attempt that failed, other than by the response that the caller got.
#[derive(Debug)]
pub struct FailedAttempt {
    pub(super) after: Duration,
    pub(super) took: Duration,
    pub(super) failure: Failure,
}

/// What an attempt failed with.
#[derive(Debug)]
#[non_exhaustive]
pub enum Failure {
    /// A response, whose body was read away.
    Response(Response<()>),
    /// The inner service's error, or [`AttemptTimeout`](super::AttemptTimeout).
    Error(BoxError),
    /// The total deadline passed while it was under way.
    Deadline,
    /// The service was not ready: nothing was sent.
    NotReady(BoxError),
}

impl RetryInfo {
    /// The key that the request carried, whoever set it.
    #[must_use]
    pub fn key(&self) -> Option<&IdempotencyKey> {
        self.0.key.as_ref()
    }

    /// When the first attempt was handed to the inner service; `None` if none was.
    #[must_use]
    pub fn first_sent(&self) -> Option<Instant> {
        self.0.first_sent
    }

    /// How many attempts were begun.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.0.attempts
    }

    /// From the first attempt until the caller got this.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed
    }

    /// Why there was no further attempt.
    #[must_use]
    pub fn stopped(&self) -> Stopped {
        self.0.stopped
    }

    /// Whether the server did the work, over all attempts.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        self.0.outcome
    }

    pub(super) fn is_of_a_layer_that_retries(&self) -> bool {
        self.0.retries
    }

    /// The attempts that failed, in their order; without the response that the caller got.
    #[must_use]
    pub fn failures(&self) -> &[FailedAttempt] {
        &self.0.failures
    }
}

impl Record {
    pub(super) fn unsent(stopped: Stopped, failure: Failure) -> Self {
        Self {
            key: None,
            first_sent: None,
            attempts: 0,
            elapsed: Duration::ZERO,
            stopped,
            outcome: Outcome::NotApplied,
            retries: false,
            failures: vec![FailedAttempt { after: Duration::ZERO, took: Duration::ZERO, failure }],
        }
    }
}

impl From<Record> for RetryInfo {
    fn from(record: Record) -> Self {
        Self(Arc::new(record))
    }
}

impl fmt::Debug for RetryInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Record { key, first_sent, attempts, elapsed, stopped, outcome, failures, retries: _ } = &*self.0;
        f.debug_struct("RetryInfo")
            .field("key", key)
            .field("first_sent", first_sent)
            .field("attempts", attempts)
            .field("elapsed", elapsed)
            .field("stopped", stopped)
            .field("outcome", outcome)
            .field("failures", failures)
            .finish()
    }
}

impl Outcome {
    /// That of a request which got this response: as its [`RetryInfo`] says, and without one, at a first try, as status
    /// and `Idempotency-Replayed` say.
    #[must_use]
    pub fn of<B>(response: &Response<B>) -> Self {
        let replayed = response.headers().get(IDEMPOTENCY_REPLAYED).is_some_and(|mark| mark == "true");
        match response.extensions().get::<RetryInfo>() {
            Some(info) => info.outcome(),
            None => Self::of_answer(response.status(), replayed),
        }
    }

    /// Rule 11: what the last answer settles, if no attempt before it was maybe applied.
    pub(super) fn of_answer(status: StatusCode, replayed: bool) -> Self {
        match status.as_u16() {
            _ if replayed => Self::Applied,
            ..400 => Self::Applied,
            408 | 409 | 422 | 500.. => Self::Unknown,
            400..500 => Self::NotApplied,
        }
    }
}

impl FailedAttempt {
    /// From the first attempt until this one was begun.
    #[must_use]
    pub fn after(&self) -> Duration {
        self.after
    }

    /// How long it took to fail.
    #[must_use]
    pub fn took(&self) -> Duration {
        self.took
    }

    /// What it failed with.
    #[must_use]
    pub fn failure(&self) -> &Failure {
        &self.failure
    }
}

/// Without headers, which may hold what no log should.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Response(head) => write!(f, "answered {}", head.status()),
            Self::Error(error) => write!(f, "failed: {error}"),
            Self::Deadline => f.write_str("cut by the deadline"),
            Self::NotReady(error) => write!(f, "not ready: {error}"),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Applied => "it was applied",
            Self::NotApplied => "it was surely not applied",
            Self::Unknown => "it may have been applied",
        })
    }
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Succeeded => "it succeeded",
            Self::NotRetryable => "another attempt would not help",
            Self::NotRepeatable => "a second copy could do harm",
            Self::Body => "its body can be sent only once",
            Self::Attempts => "all attempts were made",
            Self::Deadline => "its deadline leaves no time for another attempt",
            Self::Budget => "the budget for retries is empty",
            Self::Hint => "the server asks for a longer wait than is allowed",
            Self::Pushback => "the server asks for no retry",
            Self::KeyExpired => "its key is too old",
            Self::Backoff => "the backoff has no further delay",
            Self::NotReady => "the service was not ready",
            Self::Key => "its key cannot be sent",
            Self::Nested => "a retry layer inside had stopped already",
        })
    }
}
