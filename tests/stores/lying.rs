//! A right store behind a front that asks it something else, or tells something else than it answered.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::FutureExt;
use http::HeaderMap;
use tower_idempotency::{
    IdempotencyKey, Store,
    store::{ClaimRequest, Claimed, Found, Held, Outcome, ScopedKey, Status, StoreError, StoredResponse, Token},
};

use crate::naive::NaiveStore;

/// What is not as the store has it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lie {
    Nothing,
    /// A claim is judged when it is called, not when it is awaited.
    ClaimsAreJudgedWhenCalled,
    /// Whoever asks is told of a whole lease.
    EveryLeaseIsWhole,
    /// A response is replayed once.
    ReplaysAreSpent,
    /// A body comes back as text.
    BodiesAreText,
    /// A key that was closed without its response answers an empty one.
    ClosedKeysAreEmpty,
    /// A finished record is judged before the fingerprint.
    TheEndComesFirst,
    /// The scope does not count.
    ScopesAreOne,
    /// To look is to claim.
    LookUpsClaim,
    /// The longest lease is too long.
    TheLongestOverflows,
    /// A purge deletes all that it finds.
    BatchesAreUnlimited,
    /// A renewal adds to the lease.
    RenewalsAdd,
    /// A lapsed holder completes nothing, though nobody took over.
    LapsedHoldersCompleteNothing,
    /// A release ends the lease and keeps the record.
    ReleasesKeepTheRecord,
    /// A release erases a finished record too.
    ReleasesErase,
    /// A forced release erases a finished record too.
    ForcedReleasesErase,
    /// A forced release leaves a live lease.
    ForcedReleasesSpare,
    /// A finished record is never forgotten.
    NothingIsForgotten,
    /// The first token of a key is granted each time.
    TokensAreKept,
}

#[derive(Clone)]
pub(crate) struct LyingStore {
    pub(crate) store: NaiveStore,
    lie: Lie,
    tokens: Arc<Mutex<HashMap<ScopedKey, Token>>>,
    replayed: Arc<Mutex<HashSet<ScopedKey>>>,
}

impl LyingStore {
    pub(crate) fn new(store: NaiveStore, lie: Lie) -> Self {
        Self { store, lie, tokens: Arc::default(), replayed: Arc::default() }
    }

    fn tells(&self, lie: Lie) -> bool {
        self.lie == lie
    }

    pub(crate) fn key(&self, key: &ScopedKey) -> ScopedKey {
        let unscoped = || ScopedKey::new("", &IdempotencyKey::parse(&format!("\"{}\"", key.key())).expect("a key"));
        if self.tells(Lie::ScopesAreOne) { unscoped() } else { key.clone() }
    }

    fn asked(&self, request: &ClaimRequest) -> ClaimRequest {
        ClaimRequest { key: self.key(&request.key), ..request.clone() }
    }

    fn replayed(&self, key: &ScopedKey, mut response: StoredResponse) -> Claimed {
        if self.tells(Lie::BodiesAreText) {
            response.body = String::from_utf8_lossy(&response.body).into_owned().into();
        }
        let first = self.replayed.lock().unwrap().insert(key.clone());
        if self.tells(Lie::ReplaysAreSpent) && !first {
            return Claimed::NotReplayable(response.status);
        }
        Claimed::Done(response)
    }

    async fn told(&self, request: &ClaimRequest, claimed: Claimed) -> Result<Claimed, StoreError> {
        Ok(match claimed {
            Claimed::Acquired { token, attempt } if self.tells(Lie::TokensAreKept) => {
                let mut tokens = self.tokens.lock().unwrap();
                Claimed::Acquired { token: tokens.entry(request.key.clone()).or_insert(token).clone(), attempt }
            }
            Claimed::InFlight { lease_left } if self.tells(Lie::EveryLeaseIsWhole) && !lease_left.is_zero() => {
                Claimed::InFlight { lease_left: request.lease }
            }
            Claimed::Done(response) => self.replayed(&request.key, response),
            Claimed::NotReplayable(status) if self.tells(Lie::ClosedKeysAreEmpty) => {
                Claimed::Done(StoredResponse { status, headers: HeaderMap::new(), body: "".into() })
            }
            Claimed::Mismatch(_) if self.tells(Lie::TheEndComesFirst) => match self.status(&request.key).await? {
                Status::Done { status, .. } => Claimed::NotReplayable(status),
                _ => claimed,
            },
            claimed => claimed,
        })
    }
}

impl Store for LyingStore {
    fn claim(&self, request: &ClaimRequest) -> impl Future<Output = Result<Claimed, StoreError>> + Send {
        let asked = self.asked(request);
        let early = self.tells(Lie::ClaimsAreJudgedWhenCalled).then(|| self.store.claim(&asked).now_or_never());
        async move {
            if self.tells(Lie::TheLongestOverflows) && asked.lease == Duration::MAX {
                return Err(StoreError::permanent("overflow"));
            }
            let claimed = match early.flatten() {
                Some(claimed) => claimed,
                None => self.store.claim(&asked).await,
            };
            self.told(&asked, claimed?).await
        }
    }

    async fn lookup(&self, request: &ClaimRequest) -> Result<Found, StoreError> {
        let asked = self.asked(request);
        if self.tells(Lie::LookUpsClaim) {
            self.store.claim(&asked).await?;
        }
        self.store.lookup(&asked).await
    }

    async fn renew(&self, token: &Token, lease: Duration) -> Result<Held, StoreError> {
        let more = if self.tells(Lie::RenewalsAdd) { Duration::from_secs(1) } else { Duration::ZERO };
        self.store.renew(token, lease.saturating_add(more)).await
    }

    async fn complete(&self, token: &Token, outcome: Outcome) -> Result<Held, StoreError> {
        let lapsed = matches!(self.store.status(token.key()).await?, Status::Lapsed { .. });
        if self.tells(Lie::LapsedHoldersCompleteNothing) && lapsed {
            return Ok(Held::No);
        }
        self.store.complete(token, outcome).await
    }

    async fn release(&self, token: &Token) -> Result<Held, StoreError> {
        let finished = matches!(self.store.status(token.key()).await?, Status::Done { .. });
        match self.lie {
            Lie::ReleasesKeepTheRecord => self.store.renew(token, Duration::ZERO).await,
            Lie::ReleasesErase if finished => self.store.forget(token.key()).await,
            _ => self.store.release(token).await,
        }
    }

    async fn status(&self, key: &ScopedKey) -> Result<Status, StoreError> {
        self.store.status(&self.key(key)).await
    }

    async fn force_release(&self, key: &ScopedKey) -> Result<Held, StoreError> {
        let live = matches!(self.status(key).await?, Status::InProgress { .. });
        match self.lie {
            Lie::ForcedReleasesSpare if live => Ok(Held::No),
            Lie::ForcedReleasesErase => self.store.forget(key).await,
            _ => self.store.force_release(&self.key(key)).await,
        }
    }

    async fn forget(&self, key: &ScopedKey) -> Result<Held, StoreError> {
        match self.lie {
            Lie::NothingIsForgotten => self.store.force_release(key).await,
            _ => self.store.forget(&self.key(key)).await,
        }
    }

    async fn purge(&self, batch: u32) -> Result<u64, StoreError> {
        self.store.purge(if self.tells(Lie::BatchesAreUnlimited) { u32::MAX } else { batch }).await
    }
}
