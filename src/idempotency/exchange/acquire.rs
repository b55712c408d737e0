//! Claim the key, or say why not.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::Response;
use tokio::{sync::OwnedSemaphorePermit, time::Instant};

use super::Exchange;
use crate::{
    idempotency::{
        holder::{Holder, answer_within},
        metrics::{self, Seen},
        rejection::RejectionKind,
        settings::{Settings, ends_at},
    },
    store::{ClaimRequest, Claimed, Store, StoreError, Token},
};

/// A claim that was granted.
pub(super) struct Granted {
    pub(super) token: Token,
    pub(super) attempt: u32,
    pub(super) asked_at: Instant,
}

/// Why a request that wanted to run does not run guarded.
pub(super) enum NotGranted {
    Answered(Response<Bytes>),
    /// The store failed, and the layer is set to serve all the same.
    Unprotected,
}

impl<S: Store> Exchange<S> {
    /// Claims the key; where it is in flight and the layer waits, asks again at growing intervals.
    pub(super) async fn acquire(&self, request: &ClaimRequest) -> Result<Granted, NotGranted> {
        let mut waiting = None;
        loop {
            let asked_at = Instant::now();
            match self.ask(request).await {
                Ok(Claimed::Acquired { token, attempt }) => {
                    if attempt > 1 {
                        metrics::holder_seen(Seen::TakenOver, &token);
                    }
                    return Ok(Granted { token, attempt, asked_at });
                }
                Ok(Claimed::InFlight { lease_left }) => {
                    let waiting = waiting.get_or_insert_with(|| Waiting::begin(self.settings()));
                    let pause = waiting.as_mut().and_then(|waiting| waiting.next_pause(lease_left));
                    let slept = match pause {
                        Some(pause) => self.caller.while_present(tokio::time::sleep(pause)).await,
                        None => None,
                    };
                    if slept.is_none() {
                        return Err(NotGranted::Answered(self.in_progress(request, lease_left)));
                    }
                }
                Ok(Claimed::Done(stored)) => return Err(NotGranted::Answered(self.replay(request, stored))),
                Ok(Claimed::NotReplayable(original)) => {
                    return Err(NotGranted::Answered(self.not_replayable(request, original)));
                }
                Ok(Claimed::Mismatch(differs)) => {
                    metrics::key_seen(Seen::Mismatch, &request.key);
                    let kind = RejectionKind::KeyReused(differs);
                    return Err(NotGranted::Answered(self.settings().refuse(kind)));
                }
                Err(error) => {
                    metrics::store_failed("claim", &request.key, &error);
                    return Err(if self.settings().serve_unprotected {
                        NotGranted::Unprotected
                    } else {
                        NotGranted::Answered(self.settings().refuse(RejectionKind::StoreUnavailable))
                    });
                }
            }
        }
    }

    /// One claim. Past its limit, a lease at most, it is awaited in the background, and given back if it was granted
    /// after all.
    async fn ask(&self, request: &ClaimRequest) -> Result<Claimed, StoreError> {
        let (lease, timeout) = (request.lease, self.settings().store_timeout);
        let started = Instant::now();
        let mut claiming = Box::pin({
            let (store, request) = (self.guard.store.clone(), request.clone());
            async move { store.claim(&request).await }
        });
        let answer = tokio::time::timeout(timeout.min(lease), &mut claiming).await;
        metrics::claim_took(started.elapsed());
        answer.unwrap_or_else(|silence| {
            let store = self.guard.store.clone();
            self.guard.tasks().spawn(async move {
                if let Ok(Claimed::Acquired { token, .. }) = answer_within(lease, claiming).await {
                    Holder { store, token, lease, timeout }.release_or_let_lapse().await;
                }
            });
            Err(StoreError::transient(silence))
        })
    }
}

/// A repeat's wait for the one that runs.
struct Waiting {
    until: Instant,
    pause: Duration,
    _one_of_the_bounded: OwnedSemaphorePermit,
}

impl Waiting {
    const FIRST_PAUSE: Duration = Duration::from_millis(10);
    const LONGEST_PAUSE: Duration = Duration::from_secs(1);

    /// `None` where the layer does not wait, or as many wait as may.
    fn begin(settings: &Settings) -> Option<Self> {
        let until = ends_at(settings.wait?);
        let _one_of_the_bounded = Arc::clone(&settings.waiters).try_acquire_owned().ok()?;
        Some(Self { until, pause: Self::FIRST_PAUSE, _one_of_the_bounded })
    }

    /// How long to wait before the next ask; `None` at the deadline.
    fn next_pause(&mut self, lease_left: Duration) -> Option<Duration> {
        let left = self.until.saturating_duration_since(Instant::now());
        let until_lapse = if lease_left.is_zero() { self.pause } else { lease_left };
        let pause = self.pause.min(until_lapse).min(left);
        self.pause = (self.pause * 2).min(Self::LONGEST_PAUSE);
        (!left.is_zero()).then_some(pause)
    }
}
