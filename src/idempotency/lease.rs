//! Keeps the lease alive while the handler runs; gives the claim back when dropped.

use std::{future::Future, time::Duration};

use tokio::{runtime::Handle, time::Instant};
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use super::{
    commit::CommitState,
    metrics::{self, Seen},
};
use crate::store::{Held, Outcome, Store, StoreError, Token};

/// How closing a key ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closed {
    /// The record is kept: the answer may go out.
    Kept,
    /// Another holder has the key.
    Passed,
    /// The store failed, for a whole lease where the answer was to be recorded. The record is left to lapse.
    Failed,
}

/// One claim, from its grant to its end. A task of its own renews it, so that a handler that blocks its thread keeps
/// it too; the task ends with this value, on every path out.
pub(super) struct Lease<S: Store> {
    store: S,
    token: Token,
    /// How long the claim lasts without a renewal.
    length: Duration,
    /// How long a call of the store may take.
    timeout: Duration,
    commit: CommitState,
    tasks: TaskTracker,
    open: bool,
    _renewing: AbortOnDropHandle<()>,
}

impl<S: Store> Lease<S> {
    /// Begins to renew. `asked_at` is when the claim was asked for: the store may have granted it just then.
    pub(super) fn keep(
        store: S,
        token: Token,
        (length, timeout): (Duration, Duration),
        asked_at: Instant,
        commit: CommitState,
        tasks: TaskTracker,
    ) -> Self {
        let renewing = renew_until_passed(store.clone(), token.clone(), length, timeout, asked_at);
        let _renewing = AbortOnDropHandle::new(tokio::spawn(renewing));
        Self { store, token, length, timeout, commit, tasks, open: true, _renewing }
    }

    pub(super) fn token(&self) -> &Token {
        &self.token
    }

    /// Closes the key durably. Tried again while the lease is renewed, for one lease at most (rule 17); a response
    /// that the store cannot take at all is tried once more without it, so that a repeat does not run.
    pub(super) async fn complete(mut self, outcome: Outcome) -> Closed {
        self.open = false;
        let started = Instant::now();
        let mut held = within_one_lease(self.length, || self.complete_once(outcome.clone())).await;
        if let (None, Outcome::Response(response)) = (held, &outcome) {
            held = self.complete_once(Outcome::NotReplayable(response.status)).await.ok();
        }
        metrics::complete_took(started.elapsed());
        match held {
            Some(Held::Yes) => {
                metrics::holder_seen(Seen::Executed, &self.token);
                Closed::Kept
            }
            Some(Held::No) => {
                metrics::holder_seen(Seen::FencedOut, &self.token);
                Closed::Passed
            }
            None => {
                tracing::error!(
                    key = self.token.key().key(),
                    fence = self.token.fence(),
                    "a key could not be closed: its answer goes out unrecorded and its lease is left to lapse"
                );
                Closed::Failed
            }
        }
    }

    async fn complete_once(&self, outcome: Outcome) -> Result<Held, StoreError> {
        answer_within(self.timeout, self.store.complete(&self.token, outcome))
            .await
            .inspect_err(|error| metrics::store_failed("complete", self.token.key(), error))
    }

    /// Gives the key back. Tried again in the background if the store fails, then left to lapse (rule 17).
    pub(super) async fn release(mut self) -> Closed {
        self.open = false;
        match release_once(&self.store, &self.token, self.timeout).await {
            Ok(Held::Yes) => Closed::Kept,
            Ok(Held::No) => {
                metrics::holder_seen(Seen::FencedOut, &self.token);
                Closed::Passed
            }
            Err(_) => {
                self.release_in_background();
                Closed::Failed
            }
        }
    }

    /// Ends the renewals and changes nothing: the key can be taken over once the lease has lapsed.
    pub(super) fn leave_to_lapse(mut self) {
        self.open = false;
    }

    fn release_in_background(&self) {
        if let Ok(runtime) = Handle::try_current() {
            let (store, token, length, timeout) = (self.store.clone(), self.token.clone(), self.length, self.timeout);
            self.tasks.spawn_on(release_within_one_lease(store, token, length, timeout), &runtime);
        }
    }
}

/// Dropped without a word (the exchange panicked, its runtime ends): given back, unless a commit could stand.
impl<S: Store> Drop for Lease<S> {
    fn drop(&mut self) {
        if self.open && !self.commit.forbids_release() {
            self.release_in_background();
        }
    }
}

/// Awaits an answer of the store, and takes its silence for a failure.
pub(super) async fn answer_within<T>(
    limit: Duration,
    call: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    tokio::time::timeout(limit, call).await.unwrap_or_else(|silence| Err(StoreError::transient(silence)))
}

/// Releases, again and again for one lease; after that the lease has lapsed anyway.
pub(super) async fn release_within_one_lease<S: Store>(store: S, token: Token, length: Duration, timeout: Duration) {
    within_one_lease(length, || release_once(&store, &token, timeout)).await;
}

async fn release_once<S: Store>(store: &S, token: &Token, timeout: Duration) -> Result<Held, StoreError> {
    let held = answer_within(timeout, store.release(token)).await;
    match &held {
        Ok(Held::Yes) => metrics::holder_seen(Seen::Released, token),
        Ok(Held::No) => {}
        Err(error) => metrics::store_failed("release", token.key(), error),
    }
    held
}

/// Tries until the store answers, at growing intervals, for one lease. `None`: it never did, or says that trying is in
/// vain.
async fn within_one_lease<T, C>(length: Duration, mut call: impl FnMut() -> C) -> Option<T>
where
    C: Future<Output = Result<T, StoreError>>,
{
    let give_up_at = Instant::now() + length;
    let mut pause = length / 100;
    loop {
        match call().await {
            Ok(answer) => return Some(answer),
            Err(error) if !error.is_transient() || Instant::now() + pause >= give_up_at => return None,
            Err(_) => tokio::time::sleep(pause).await,
        }
        pause = (pause * 2).min(length / 10);
    }
}

/// Renews each third of a lease; a failed renewal is tried again after a twelfth. `No` ends it: complete, commit or
/// look-up decide what that means.
async fn renew_until_passed<S: Store>(store: S, token: Token, length: Duration, timeout: Duration, asked_at: Instant) {
    let limit = timeout.min(length / 3);
    let mut due = asked_at + length / 3;
    loop {
        tokio::time::sleep_until(due).await;
        let sent_at = Instant::now();
        match answer_within(limit, store.renew(&token, length)).await {
            Ok(Held::Yes) => due = sent_at + length / 3,
            Ok(Held::No) => return,
            Err(error) => {
                metrics::store_failed("renew", token.key(), &error);
                due = Instant::now() + length / 12;
            }
        }
    }
}
