//! What the caller gets where there is no response to hand over.

use std::{error::Error, fmt};

use http::Response;
use tower::BoxError;

use super::{
    evidence,
    info::{Failure, Outcome, Record, RetryInfo, Stopped},
};

/// A logical request that ended without a response.
///
/// Its [source](Error::source) is what the last attempt failed with, if that was an error; downcast it to the inner
/// service's. [`info`](Self::info) tells whether it may have been applied, and with which key to ask and to repeat.
///
/// It is one type for every inner service: tower's own middlewares answer a [`BoxError`], which is no [`Error`], and an
/// outer `RetryLayer` has to find it in any chain of causes.
#[derive(Debug)]
pub struct RetryError {
    info: RetryInfo,
}

/// An attempt had no response's head within [`RetryLayer::attempt_timeout`](super::RetryLayer::attempt_timeout). It may
/// have been applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AttemptTimeout;

impl RetryError {
    pub(super) fn new(info: RetryInfo) -> Self {
        Self { info }
    }

    /// The service was not ready for the first attempt: nothing was sent.
    pub(super) fn not_ready(error: BoxError) -> Self {
        Self::before_the_first_attempt(Stopped::NotReady, Failure::NotReady(error))
    }

    pub(super) fn before_the_first_attempt(stopped: Stopped, failure: Failure) -> Self {
        Self::new(RetryInfo::from(Record::unsent(stopped, failure)))
    }

    /// What became of the request over all attempts.
    #[must_use]
    pub fn info(&self) -> &RetryInfo {
        &self.info
    }

    /// Whether the server did the work.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        self.info.outcome()
    }

    /// The last real failure: the passing of the deadline is one only where there was no other.
    #[must_use]
    pub fn last_failure(&self) -> Option<&Failure> {
        let failures = || self.info.failures().iter().rev().map(super::FailedAttempt::failure);
        failures().find(|failure| !matches!(failure, Failure::Deadline)).or_else(|| failures().next())
    }
}

impl RetryInfo {
    /// What stands in an error or in one of its causes: for an error that a middleware around the `RetryLayer` has boxed.
    #[must_use]
    pub fn in_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a Self> {
        evidence::chain(error).find_map(|cause| cause.downcast_ref::<RetryError>().map(RetryError::info))
    }

    /// What was learned of a request that ended so; `None` if the first try's response needed no other.
    #[must_use]
    pub fn of<B>(ended: &Result<Response<B>, RetryError>) -> Option<&Self> {
        match ended {
            Ok(response) => response.extensions().get(),
            Err(error) => Some(error.info()),
        }
    }
}

impl fmt::Display for RetryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (attempts, stopped) = (self.info.attempts(), self.info.stopped());
        let plural = if attempts == 1 { "" } else { "s" };
        write!(f, "gave up after {attempts} attempt{plural}")?;
        if let Some(Failure::Response(head)) = self.last_failure() {
            write!(f, " (last answer {})", head.status())?;
        }
        match stopped {
            Stopped::Attempts => write!(f, "; {}", self.outcome()),
            stopped => write!(f, ": {stopped}; {}", self.outcome()),
        }
    }
}

impl Error for RetryError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self.last_failure()? {
            Failure::Error(error) | Failure::NotReady(error) => Some(&**error),
            Failure::Response(_) | Failure::Deadline => None,
        }
    }
}

impl fmt::Display for AttemptTimeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the attempt timed out")
    }
}

impl Error for AttemptTimeout {}
