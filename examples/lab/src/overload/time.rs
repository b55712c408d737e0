//! Time in the model and on tokio's clock.

use std::time::Duration;

use tokio::time::Instant;

/// A second of the model is so many of tokio's paused clock, whose timers know only whole milliseconds: a microsecond of
/// the model is one of them.
const SCALE: u32 = 1000;

/// As long on tokio's clock.
pub(super) fn scaled(time: Duration) -> Duration {
    time * SCALE
}

/// When the run began, on tokio's clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start(Instant);

impl Start {
    pub(super) fn now() -> Self {
        Self(Instant::now())
    }

    /// Model time that has passed.
    pub(super) fn elapsed(self) -> Duration {
        self.0.elapsed() / SCALE
    }

    /// The moment on tokio's clock at this model time.
    pub(super) fn at(self, time: Duration) -> Instant {
        self.0 + scaled(time)
    }
}
