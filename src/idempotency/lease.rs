//! Keeps the lease alive while the handler runs; gives the claim back when dropped.

use std::future::Future;

use tokio::{runtime::Handle, time::Instant};
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use super::{
    commit::CommitState,
    holder::Holder,
    metrics::{self, Seen},
    recording::{NO_RESPONSE, OnFailure},
};
use crate::store::{Held, Outcome, Store, Token};

/// How closing a key ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closed {
    /// As the verdict wants it: the answer may go out.
    Kept,
    /// Another holder has the key.
    Passed,
    /// The store failed: the answer may go out, and the record is left to lapse.
    Failed,
}

/// One claim, from its grant to its end. A task of its own renews it, so that a handler that blocks its thread keeps
/// it too; the task ends with this value, on every path out.
pub(super) struct Lease<S: Store> {
    holder: Holder<S>,
    on_failure: OnFailure,
    commit: CommitState,
    tasks: TaskTracker,
    open: bool,
    renewing: AbortOnDropHandle<()>,
}

impl<S: Store> Lease<S> {
    /// Begins to renew. `asked_at` is when the claim was asked for, `run_until` when the handler is dropped.
    pub(super) fn keep(
        holder: Holder<S>,
        (asked_at, run_until): (Instant, Instant),
        on_failure: OnFailure,
        commit: CommitState,
        tasks: TaskTracker,
    ) -> Self {
        // Awaiting a commit, and completing for one lease, may follow the run.
        let after_the_run = holder.timeout.saturating_mul(2).saturating_add(holder.lease);
        let last = run_until.checked_add(after_the_run).unwrap_or(run_until);
        let renewing = AbortOnDropHandle::new(tokio::spawn(holder.clone().renew_until_passed(asked_at, last)));
        Self { holder, on_failure, commit, tasks, open: true, renewing }
    }

    pub(super) fn token(&self) -> &Token {
        &self.holder.token
    }

    /// Closes the key durably; the lease is renewed until that is answered.
    pub(super) async fn complete(mut self, outcome: Outcome) -> Closed {
        self.open = false;
        let started = Instant::now();
        let answer = self.holder.complete(outcome).await;
        metrics::complete_took(started.elapsed());
        match answer {
            Ok(Held::Yes) => {
                metrics::holder_seen(Seen::Executed, self.token());
                Closed::Kept
            }
            Ok(Held::No) => {
                metrics::holder_seen(Seen::FencedOut, self.token());
                Closed::Passed
            }
            Err(_) => {
                tracing::error!(
                    key = self.token().key().key(),
                    fence = self.token().fence(),
                    "a key could not be closed: its answer goes out unrecorded and its lease is left to lapse"
                );
                Closed::Failed
            }
        }
    }

    /// Gives the key back; in the background if the store fails.
    pub(super) async fn release(mut self) -> Closed {
        self.open = false;
        match self.holder.release().await {
            Ok(Held::Yes) => Closed::Kept,
            Ok(Held::No) => {
                metrics::holder_seen(Seen::FencedOut, self.token());
                Closed::Passed
            }
            Err(_) => {
                self.release_in_background();
                Closed::Failed
            }
        }
    }

    /// Keeps others off until the lease lapses. Whether the holder was passed only a refused renewal tells.
    pub(super) fn hold(mut self) -> Closed {
        self.open = false;
        if self.renewing.is_finished() {
            metrics::holder_seen(Seen::FencedOut, self.token());
            return Closed::Passed;
        }
        metrics::holder_seen(Seen::LeftToLapse, self.token());
        Closed::Kept
    }

    /// Ends the renewals and changes nothing: the key can be taken over once the lease has lapsed.
    pub(super) fn leave_to_lapse(mut self) {
        self.open = false;
    }

    fn release_in_background(&self) {
        let holder = self.holder.clone();
        self.in_background(async move { holder.release_or_let_lapse().await });
    }

    fn close_in_background(&self) {
        let holder = self.holder.clone();
        self.in_background(async move {
            // A failure is logged, and the lease lapses.
            let _ = holder.complete(NO_RESPONSE).await;
        });
    }

    fn in_background(&self, settling: impl Future<Output = ()> + Send + 'static) {
        if let Ok(runtime) = Handle::try_current() {
            self.tasks.spawn_on(settling, &runtime);
        }
    }
}

/// Dropped without a word (what the exchange reads or asks panicked, its runtime ends): a failure like any other,
/// unless a commit could stand.
impl<S: Store> Drop for Lease<S> {
    fn drop(&mut self) {
        if self.open && !self.commit.forbids_release() {
            match self.on_failure {
                OnFailure::Release => self.release_in_background(),
                OnFailure::HoldUntilLapse => {}
                OnFailure::Record => self.close_in_background(),
            }
        }
    }
}
