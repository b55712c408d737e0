//! One claim at its store: each verb within its limit, and tried again as rule 17 says.

use std::{future::Future, time::Duration};

use tokio::time::{Instant, error::Elapsed};

use super::metrics::{self, Seen};
use crate::store::{Held, Outcome, Store, StoreError, Token};

/// Whoever holds a token, and how long the store may take.
#[derive(Clone)]
pub(super) struct Holder<S> {
    pub(super) store: S,
    pub(super) token: Token,
    /// How long the claim lasts without a renewal.
    pub(super) lease: Duration,
    /// How long a call may take.
    pub(super) timeout: Duration,
}

impl<S: Store> Holder<S> {
    /// Finishes the record; tried again for one lease, since it is idempotent. Where the store answers and does not take
    /// the response (it is full, say) the last try is without it: a repeat is refused then, and does not run.
    pub(super) async fn complete(&self, outcome: Outcome) -> Result<Held, StoreError> {
        let complete = |outcome| self.store.complete(&self.token, outcome);
        let answer = self.for_one_lease("complete", || complete(outcome.clone())).await;
        match (answer, &outcome) {
            (Err(error), Outcome::Response(response)) if !is_silence(&error) => {
                self.once("complete", complete(Outcome::NotReplayable(response.status))).await
            }
            (answer, _) => answer,
        }
    }

    /// Gives the key back, if the store answers at once.
    pub(super) async fn release(&self) -> Result<Held, StoreError> {
        let held = self.once("release", self.store.release(&self.token)).await?;
        self.was_released(held);
        Ok(held)
    }

    /// Gives the key back; tried again for one lease, after which it can be taken over anyway.
    pub(super) async fn release_or_let_lapse(&self) {
        if let Ok(held) = self.for_one_lease("release", || self.store.release(&self.token)).await {
            self.was_released(held);
        }
    }

    fn was_released(&self, held: Held) {
        if held == Held::Yes {
            metrics::holder_seen(Seen::Released, &self.token);
        }
    }

    /// Renews each third of a lease; a failed renewal is tried again after a twelfth. `No` ends it: complete, commit or
    /// look-up decide what that means. `asked_at` is when the claim was asked for: it may have been granted just then.
    ///
    /// So does `last`: an exchange that nobody polls any more, or whose handler blocks its thread for ever, must not
    /// keep its key for ever.
    pub(super) async fn renew_until_passed(self, asked_at: Instant, last: Instant) {
        let limit = self.timeout.min(self.lease / 3);
        let mut due = asked_at + self.lease / 3;
        while due <= last {
            tokio::time::sleep_until(due).await;
            let sent_at = Instant::now();
            match answer_within(limit, self.store.renew(&self.token, self.lease)).await {
                Ok(Held::Yes) => due = sent_at + self.lease / 3,
                Ok(Held::No) => return,
                Err(error) => {
                    metrics::store_failed("renew", self.token.key(), &error);
                    due = Instant::now() + self.lease / 12;
                }
            }
        }
    }

    async fn once<T>(
        &self,
        verb: &'static str,
        call: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let answer = answer_within(self.timeout, call).await;
        answer.inspect_err(|error| metrics::store_failed(verb, self.token.key(), error))
    }

    /// Tries at growing intervals, until the store answers, or says that trying is in vain, or a lease has passed since
    /// the first try.
    async fn for_one_lease<T, C>(&self, verb: &'static str, mut call: impl FnMut() -> C) -> Result<T, StoreError>
    where
        C: Future<Output = Result<T, StoreError>>,
    {
        let give_up_at = Instant::now() + self.lease;
        let mut pause = self.lease / 100;
        loop {
            match self.once(verb, call()).await {
                Err(error) if error.is_transient() && Instant::now() + pause < give_up_at => {
                    tokio::time::sleep(pause).await;
                }
                answer => return answer,
            }
            pause = (pause * 2).min(self.lease / 10);
        }
    }
}

fn is_silence(error: &StoreError) -> bool {
    std::error::Error::source(error).is_some_and(|source| source.is::<Elapsed>())
}

/// Awaits an answer of the store, and takes its silence for a failure.
pub(super) async fn answer_within<T>(
    limit: Duration,
    call: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    tokio::time::timeout(limit, call).await.unwrap_or_else(|silence| Err(StoreError::transient(silence)))
}
