//! The runtimes that cases run on.

use std::{future::Future, time::Duration};

use tokio::runtime::{Builder, Runtime};

/// Time stands still, and jumps to the next timer when nothing else is to be done.
pub(crate) fn paused<T>(case: impl Future<Output = T>) -> T {
    runtime(Builder::new_current_thread().enable_time().start_paused(true)).block_on(case)
}

/// For cases with sockets: a clock that jumps would not wait for them.
pub(crate) fn real<T>(case: impl Future<Output = T>) -> T {
    runtime(Builder::new_current_thread().enable_all()).block_on(case)
}

/// How much time of the real clock this takes, on a paused one too.
#[expect(clippy::disallowed_types, reason = "computing time is measured, which no paused clock shows")]
pub(crate) async fn cost_of<T>(work: impl Future<Output = T>) -> (T, Duration) {
    let begun = std::time::Instant::now();
    let done = work.await;
    (done, begun.elapsed())
}

fn runtime(builder: &mut Builder) -> Runtime {
    builder.build().expect("a runtime")
}
