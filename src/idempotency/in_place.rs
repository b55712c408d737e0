//! An exchange is polled in place and goes on without its caller.

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;
use tracing::{Instrument, Span};

/// Whether the caller is still there, as the exchange sees it.
#[derive(Clone, Debug, Default)]
pub(super) struct Caller(Arc<Mutex<CallerState>>);

#[derive(Debug, Default)]
struct CallerState {
    /// The future of the exchange was dropped.
    left: bool,
    /// The exchange awaits something that only the caller has a use for.
    awaited: bool,
}

impl Caller {
    /// Awaits something that only the caller has a use for. When the caller leaves meanwhile the whole exchange ends;
    /// if it has left already the answer is `None`.
    pub(super) async fn while_present<T>(&self, future: impl Future<Output = T>) -> Option<T> {
        if self.state().left {
            return None;
        }
        self.state().awaited = true;
        let done = future.await;
        self.state().awaited = false;
        Some(done)
    }

    /// Says that the caller left, and tells whether the exchange goes on without it.
    fn leaves(&self) -> bool {
        let mut state = self.state();
        state.left = true;
        !state.awaited
    }

    fn state(&self) -> MutexGuard<'_, CallerState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Polls an exchange in place. Dropped unfinished, the exchange goes on as a task in the caller's span, unless it
/// awaits something [for the caller alone](Caller::while_present).
///
/// A task for each exchange from the start does the same and costs a tenth of the throughput.
pub(super) struct InPlace<T: 'static> {
    exchange: Option<Pin<Box<dyn Future<Output = T> + Send>>>,
    caller: Caller,
    tasks: TaskTracker,
    runtime: Option<Handle>,
    span: Span,
}

impl<T> InPlace<T> {
    pub(super) fn new(exchange: impl Future<Output = T> + Send + 'static, caller: Caller, tasks: TaskTracker) -> Self {
        Self {
            exchange: Some(Box::pin(exchange)),
            caller,
            tasks,
            runtime: Handle::try_current().ok(),
            span: Span::current(),
        }
    }
}

impl<T> Future for InPlace<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        // Taken out while it is polled: an exchange that panics must not go on.
        let mut exchange = self.exchange.take().expect("not polled after it was ready");
        let poll = exchange.as_mut().poll(cx);
        if poll.is_pending() {
            self.exchange = Some(exchange);
        }
        poll
    }
}

impl<T: 'static> Drop for InPlace<T> {
    fn drop(&mut self) {
        let Some(exchange) = self.exchange.take() else { return };
        let goes_on = self.caller.leaves();
        // Without a runtime it ends as in a crash: the lease lapses.
        let Some(runtime) = self.runtime.take().or_else(|| Handle::try_current().ok()) else { return };
        // What the exchange holds of the store may need it to be dropped, even if it has shut down.
        let _entered = runtime.enter();
        if goes_on {
            let on_its_own = async move { drop(exchange.await) };
            self.tasks.spawn_on(on_its_own.instrument(self.span.clone()), &runtime);
        } else {
            drop(exchange);
        }
    }
}
