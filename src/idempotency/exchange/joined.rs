//! A completion in a transaction that nobody speaks for: only the record says whether it was committed.

use std::time::Duration;

use bytes::Bytes;
use http_body::Body;
use tokio::time::Instant;

use super::{Answer, Exchange, Ran};
use crate::{
    idempotency::{
        body::MaybeHeld,
        commit::{Ended, Joined},
        holder::answer_within,
        lease::{Closed, Lease},
        metrics,
        rejection::RejectionKind,
        settings::ends_at,
    },
    store::{ClaimRequest, Found, Outcome, Store},
};

impl<S: Store> Exchange<S> {
    /// Committed if the record holds one of these. A record that is locked may yet hold it: it is asked again, for as
    /// long as the store may take to answer.
    pub(super) async fn ask_the_record(&self, joined: &[Joined], request: &ClaimRequest) -> Ended {
        const LONGEST_PAUSE: Duration = Duration::from_millis(100);
        let timeout = self.settings().store_timeout;
        let until = ends_at(timeout);
        let mut pause = Duration::from_millis(2);
        loop {
            let judged = match answer_within(timeout, self.guard.store.lookup(request)).await {
                Ok(Found::Done(stored)) => Some(among(joined, &Outcome::Response(stored))),
                Ok(Found::NotReplayable(status)) => Some(among(joined, &Outcome::NotReplayable(status))),
                Ok(Found::Absent | Found::Mismatch(_)) => Some(Ended::Passed),
                // The store's rule 5: nothing left is a lock.
                Ok(Found::InFlight { lease_left }) if lease_left.is_zero() => None,
                // Not seen locked: rolled back, or locked in a savepoint, which the release then finds. Closing the key
                // tells whether this one was passed.
                Ok(Found::InFlight { .. } | Found::Lapsed) => Some(Ended::Left),
                Err(error) => {
                    metrics::store_failed("lookup", &request.key, &error);
                    (!error.is_transient()).then_some(Ended::Unknown)
                }
            };
            if let Some(ended) = judged {
                return ended;
            }
            if Instant::now() + pause > until {
                return Ended::Unknown;
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Nothing was committed: what says that all went well becomes 500, and a repeat runs at once. The rest is judged as
    /// ever.
    pub(super) async fn record_unless_success<R, E>(
        &self,
        ran: Ran<R, E>,
        lease: Lease<S>,
        request: &ClaimRequest,
        run_until: Instant,
    ) -> Answer<R, E>
    where
        R: Body<Data = Bytes>,
    {
        let status = match &ran {
            Ran::Response(response) => response.status(),
            Ran::Error(_) | Ran::Panic(_) | Ran::OutOfTime => return self.record(ran, lease, request, run_until).await,
        };
        if !status.is_success() && !status.is_redirection() {
            return self.record(ran, lease, request, run_until).await;
        }
        Ok(match lease.release().await {
            Closed::Kept => {
                tracing::error!(
                    key = request.key.key(),
                    %status,
                    "a handler answers success and left the transaction of its claim without completing it: 500, and \
                     nothing was written"
                );
                self.settings().refuse(RejectionKind::NothingCommitted)
            }
            Closed::Passed => self.answer_of_passed(request).await,
            // The record may be locked by a transaction of the handler's after all.
            Closed::Failed => self.settings().refuse(RejectionKind::OutcomeUnknown),
        }
        .map(MaybeHeld::whole))
    }
}

/// Committed if it is one of these; otherwise another holder finished the key.
fn among(joined: &[Joined], outcome: &Outcome) -> Ended {
    let committed = joined.iter().find(|joined| joined.outcome == *outcome);
    committed.map_or(Ended::Passed, |joined| Ended::Committed(joined.response.clone()))
}
