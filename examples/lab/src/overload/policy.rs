//! What clients do after a failure.

use std::time::Duration;

use serde::Serialize;
use tower_idempotency::{
    RetryLayer,
    retry::{Backoff, Budget},
};

use super::{settings::Settings, time::scaled};

/// What clients do after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// Nothing.
    NoRetry,
    /// Retries after an exponential backoff without jitter, and without a budget.
    Exponential,
    /// The same with full jitter, still without a budget.
    FullJitter,
    /// The same with the default [`Budget`].
    Budgeted,
}

impl Policy {
    /// From the least to the most careful of those that retry, after the one that does not.
    pub const ALL: [Self; 4] = [Self::NoRetry, Self::Exponential, Self::FullJitter, Self::Budgeted];

    /// In a few words.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoRetry => "no retry",
            Self::Exponential => "exponential, no budget",
            Self::FullJitter => "full jitter, no budget",
            Self::Budgeted => "full jitter, budget",
        }
    }

    /// The layer of one client; its backoff is that of [`Backoff::default`].
    pub fn layer(self, settings: &Settings) -> RetryLayer {
        // As Backoff::default() is, on the scaled clock.
        let (base, cap) = (scaled(Duration::from_millis(100)), scaled(Duration::from_secs(20)));
        let retries = RetryLayer::new().max_attempts(settings.attempts).backoff(Backoff::full(base, cap));
        match self {
            Self::NoRetry => RetryLayer::new().max_attempts(1),
            Self::Exponential => retries.backoff(Backoff::exponential(base, cap)).without_budget(),
            Self::FullJitter => retries.without_budget(),
            Self::Budgeted => retries.budget(Budget::default()),
        }
    }
}
