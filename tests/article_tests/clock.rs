//! A clock that only the test moves, for exchanges over TCP.

use std::{
    sync::mpsc::{self, Sender},
    time::Duration,
};

use tokio::time::{advance, pause, timeout};

use crate::tracker::Tracker;

const NEVER: Duration = Duration::from_secs(600);

/// Tokio's paused clock goes on by itself as soon as everybody waits, and over TCP everybody waits all the time. This
/// one stands until the test moves it.
pub(crate) struct Clock(Sender<()>);

impl Clock {
    pub(crate) fn stopped() -> Self {
        pause();
        let (stopped, dropped) = mpsc::channel::<()>();
        // A thread that is blocked keeps the paused clock from going on by itself. After half a minute it lets go, so
        // that a test that waits for a time that never comes ends, and fails.
        tokio::task::spawn_blocking(move || dropped.recv_timeout(Duration::from_secs(30)));
        Self(stopped)
    }

    /// All at once: what is due meanwhile happens at the end.
    pub(crate) async fn pass(&self, time: Duration) {
        advance(time).await;
    }

    /// Awaits what must come while the clock stands.
    pub(crate) async fn comes<T>(&self, event: impl Future<Output = T>) -> T {
        timeout(NEVER, event).await.expect("it never came")
    }

    /// Moves it in small steps until so many requests have come to the tracker, and no further.
    pub(crate) async fn pass_until_request(&self, number: usize, tracker: &Tracker) {
        const STEP: Duration = Duration::from_millis(10);
        let mut passed = Duration::ZERO;
        while tracker.faults.requests() < number {
            assert!(passed < NEVER, "request {number} never came");
            advance(STEP).await;
            passed += STEP;
            // Beside each step there is time for what goes over TCP.
            tracker.reports().await;
        }
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        let stood_still = self.0.send(()).is_ok();
        assert!(stood_still || std::thread::panicking(), "somebody waited for a time that the test did not let come");
    }
}
