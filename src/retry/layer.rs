//! `RetryLayer`: every setting and its default.

use std::{sync::Arc, time::Duration};

use http::{HeaderName, Method};

use super::{
    backoff::Backoff,
    budget::Budget,
    classify::{Attempt, Verdict},
    settings::{Settings, Streams},
};
use crate::IdempotencyKey;

/// Tries again where it can do no harm, around any HTTP client.
///
/// One layer is one bucket of retries: make one for each host, and clone it. Its services share the
/// [`Budget`]; those of another layer have another one.
///
/// # Default
///
/// | setting | default |
/// |---|---|
/// | [`max_attempts`](Self::max_attempts) | 3 |
/// | [`attempt_timeout`](Self::attempt_timeout), [`deadline`](Self::deadline) | none |
/// | [`backoff`](Self::backoff) | [`Backoff::full`], 100 ms up to 20 s |
/// | [`budget`](Self::budget) | [`Budget::aws_v2_0`], 500 |
/// | [`max_hint`](Self::max_hint) | 60 s |
/// | [`with_idempotency_keys`](Self::with_idempotency_keys) | off |
/// | [`max_drain`](Self::max_drain) | 64 KiB, 250 ms |
///
/// # Where it stands in a stack
///
/// **One retry in the whole stack**: attempts of layers and of hops multiply, five deep with three each are 243. Retry
/// where the key is made, and switch the retries of what is below off. From the outside in: tracing, **retry**, limits
/// on concurrency, load shedding, timeouts of one attempt, the client. What stands outside of it sees one request, what
/// stands inside sees each attempt. **The service inside makes one exchange for each call.** What makes several, a follower
/// of redirects, polling, fetching a token, stands outside: the failure of its last exchange says nothing of the first,
/// and a POST that was applied would be sent again.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct RetryLayer {
    pub(super) settings: Settings,
}

impl RetryLayer {
    /// A layer with the defaults.
    pub fn new() -> Self {
        Self::default()
    }

    fn set(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.settings);
        self
    }
}

/// How often, and how long.
impl RetryLayer {
    /// Attempts of one request, the first one included. Default: 3; zero counts as 1, which never retries.
    ///
    /// More than 2 departs from RFC 9110 §9.2.2 on purpose, which says that a client SHOULD NOT retry a failed
    /// automatic retry: attempts are bounded, spread and budgeted. 2 keeps to the letter.
    pub fn max_attempts(self, attempts: u32) -> Self {
        self.set(|settings| settings.max_attempts = attempts.max(1))
    }

    /// How long one attempt may take until the head of its response is there. Default: no limit. An attempt that ran
    /// out of time may have been applied. The wait until the service is ready for it is bounded by the deadline alone.
    pub fn attempt_timeout(self, limit: Duration) -> Self {
        self.set(|settings| settings.attempt_timeout = Some(limit))
    }

    /// How long all attempts and the waits between them may take, from the first attempt on. Default: no limit.
    ///
    /// Nothing is waited for that would end after it: the last failure is returned at once. An attempt that is under
    /// way when it passes is dropped.
    pub fn deadline(self, limit: Duration) -> Self {
        self.set(|settings| settings.deadline = Some(limit))
    }

    /// How long to wait before each further attempt. Default: [`Backoff::full`] with 100 ms and 20 s.
    pub fn backoff(self, backoff: Backoff) -> Self {
        self.set(|settings| settings.backoff = backoff)
    }

    /// Makes the waits repeatable: the same seed and the same order of requests draw the same delays. Default: a
    /// random seed. For simulations and tests.
    pub fn seed(self, seed: u64) -> Self {
        self.set(|settings| settings.streams = Arc::new(Streams::new(seed)))
    }

    /// What retries may cost, shared by all services of this layer and its clones. Default: [`Budget::aws_v2_0`].
    pub fn budget(self, budget: Budget) -> Self {
        self.set(|settings| settings.budget = Some(budget))
    }

    /// Retries without a budget: where a server is down, its clients then send up to `max_attempts` times the load.
    pub fn without_budget(self) -> Self {
        self.set(|settings| settings.budget = None)
    }

    /// The longest wait that a server may ask for. Default: 60 s. Where it asks for more, its response is returned now.
    pub fn max_hint(self, limit: Duration) -> Self {
        self.set(|settings| settings.max_hint = limit)
    }
}

/// Keys.
impl RetryLayer {
    /// Puts a key on each request of a [guarded method](Self::guarded_methods) that has none, before its first attempt.
    /// Default: off.
    ///
    /// **Only for servers that honour keys.** A key opens the gate: a POST with one is sent again after a timeout, and a
    /// server that ignores it does the work twice.
    pub fn with_idempotency_keys(self) -> Self {
        self.set(|settings| settings.keys.insert = true)
    }

    /// As [`with_idempotency_keys`](Self::with_idempotency_keys), with keys made by `generate` in place of
    /// [`IdempotencyKey::random`]: seeded ones in a simulation.
    pub fn with_key_generator(self, generate: impl Fn() -> IdempotencyKey + Send + Sync + 'static) -> Self {
        self.with_idempotency_keys().set(|settings| settings.keys.generate = Arc::new(generate))
    }

    /// The methods whose requests are given a key. Default: POST and PATCH.
    pub fn guarded_methods(self, methods: impl IntoIterator<Item = Method>) -> Self {
        self.set(|settings| settings.keys.methods = methods.into_iter().collect())
    }

    /// The header that carries the key. Default: `Idempotency-Key`.
    pub fn key_header(self, name: HeaderName) -> Self {
        self.set(|settings| settings.keys.header = name)
    }

    /// Writes a key as it stands, `abc`, for servers that would take quotes for a part of it. Default: a structured
    /// field String, `"abc"`. A key that has no bare form fails before anything is sent.
    pub fn bare_keys(self) -> Self {
        self.set(|settings| settings.keys.bare = true)
    }

    /// The longest key that a generator may make, in characters. Default: 255. A longer one fails before anything is
    /// sent: a key is never cut.
    pub fn max_key_length(self, characters: usize) -> Self {
        self.set(|settings| settings.keys.max_length = characters)
    }

    /// How long the server remembers a key, counted from the first attempt: after it no further attempt is made. Default: 24 h,
    /// as the server layer's retention.
    pub fn key_lifetime(self, lifetime: Duration) -> Self {
        self.set(|settings| settings.keys.lifetime = lifetime)
    }

    /// The response header whose `true` marks a replay. Default: `Idempotency-Replayed`.
    pub fn replayed_header(self, name: HeaderName) -> Self {
        self.set(|settings| settings.replayed_header = name)
    }
}

/// What is sent and read.
impl RetryLayer {
    /// Judges each attempt that has ended, in place of [`Attempt::verdict`]. Gate, budget, attempts and deadline stand
    /// above it; a marked replay is never retried, and what a `RetryLayer` inside has given up is not asked about.
    ///
    /// ```
    /// use http::StatusCode;
    /// use tower_idempotency::{RetryLayer, retry::Verdict};
    ///
    /// // A server that answers 409 where the work was done before.
    /// let layer = RetryLayer::new().with_classifier(|attempt| match attempt.response() {
    ///     Some(head) if head.status() == StatusCode::CONFLICT => Verdict::Success,
    ///     _ => attempt.verdict(),
    /// });
    /// ```
    pub fn with_classifier(self, classify: impl Fn(&Attempt<'_>) -> Verdict + Send + Sync + 'static) -> Self {
        self.set(|settings| settings.classify = Arc::new(classify))
    }

    /// Sends the number of each attempt in this header, 1 for the first. Default: no header; on each repeat a
    /// [`Repeat`](super::Repeat) stands in the request's extensions.
    pub fn with_attempt_header(self, name: HeaderName) -> Self {
        self.set(|settings| settings.attempt_header = Some(name))
    }

    /// How much of a failed response is read away, so that its connection can be used again, and for how long. Default: 64 KiB
    /// and 250 ms. Over either the response is dropped, and over HTTP/1.1 its connection with it.
    pub fn max_drain(self, bytes: u64, time: Duration) -> Self {
        self.set(|settings| {
            settings.max_drain_bytes = bytes;
            settings.max_drain_time = time;
        })
    }
}
