//! The one place that reads the wall clock.

use std::time::SystemTime;

use tokio::time::Instant;

/// A wall clock that is sampled once and advanced by tokio's monotonic clock, so that a jump of the host's clock
/// changes nothing while the process lives, and a paused clock in a test pauses this one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: SystemTime,
    origin: Instant,
}

impl Clock {
    /// Samples the host's clock.
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the wall clock")]
    pub(crate) fn sample() -> Self {
        Self::starting_at(SystemTime::now())
    }

    /// A clock that shows `start` now.
    pub(crate) fn starting_at(start: SystemTime) -> Self {
        Self { start, origin: Instant::now() }
    }

    pub(crate) fn now(&self) -> SystemTime {
        self.start + self.origin.elapsed()
    }

    /// Milliseconds since the Unix epoch; what a database column holds.
    #[cfg(feature = "sqlite")]
    pub(crate) fn now_millis(&self) -> i64 {
        let since_epoch = self.now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX)
    }
}
