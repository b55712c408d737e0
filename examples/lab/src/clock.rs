//! Times, and a paused clock that runs until something has happened.

use std::time::Duration;

use tokio::time::timeout;

/// Awaits what must come. A month of the clock is taken for never: where it is paused, a test that would hang fails.
pub async fn comes<T>(event: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(30 * 24 * 60 * 60), event).await.expect("it never came")
}

/// Lets tokio's clock run, ten milliseconds at a time, until the condition holds.
///
/// On a paused clock this takes no time. An hour of it is taken for never.
pub async fn until(condition: impl Fn() -> bool) {
    let holds = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Duration::from_secs(60 * 60), holds).await.expect("the condition never held");
}

/// Lets the paused clock go on by this much, timer by timer.
pub async fn pass(time: Duration) {
    tokio::time::sleep(time).await;
}

/// So many milliseconds.
pub const fn millis(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// So many seconds.
pub const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// So many hours.
pub const fn hours(hours: u64) -> Duration {
    secs(hours * 60 * 60)
}
