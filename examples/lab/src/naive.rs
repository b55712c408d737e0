//! Stores that leave out one guard: what tests have to see go wrong.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use tower_idempotency::{
    MemoryStore,
    store::{ClaimRequest, Claimed, Found, Held, Outcome, ScopedKey, Status, Store, StoreError, Token},
};

/// What a store leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Without {
    /// Nothing.
    Nothing,
    /// Who completes is not compared with who holds the key.
    Fencing,
    /// Fences begin again at 1 when a key is released, and holders are not told apart.
    FreshTokens,
    /// Whether a key still runs is judged before whether it is the same request.
    MismatchFirst,
    /// A renewal changes nothing.
    Renewal,
}

/// A store without one of its guards.
#[derive(Clone, Debug)]
pub struct Naive {
    store: MemoryStore,
    without: Without,
    /// The fence that this store has told the holder of each key, and the token that holds it in truth.
    holders: Arc<Mutex<HashMap<ScopedKey, (u64, Token)>>>,
}

impl Naive {
    /// Empty.
    pub fn new(without: Without) -> Self {
        Self { store: MemoryStore::new(), without, holders: Arc::default() }
    }

    fn granted(&self, token: Token) -> Token {
        let mut holders = self.holders.lock().expect("no panic");
        let before = holders.get(token.key()).map_or(0, |(fence, _)| *fence);
        holders.insert(token.key().clone(), (before + 1, token.clone()));
        if self.without == Without::FreshTokens { Token::new(token.key().clone(), before + 1) } else { token }
    }

    /// The token under which this store acts for one that shows `token`.
    fn acts_for(&self, token: &Token) -> Token {
        let holders = self.holders.lock().expect("no panic");
        match (self.without, holders.get(token.key())) {
            (Without::Fencing, Some((_, holder))) => holder.clone(),
            (Without::FreshTokens, Some((fence, holder))) if *fence == token.fence() => holder.clone(),
            _ => token.clone(),
        }
    }
}

impl Store for Naive {
    async fn claim(&self, request: &ClaimRequest) -> Result<Claimed, StoreError> {
        Ok(match self.store.claim(request).await? {
            Claimed::Acquired { token, attempt } => Claimed::Acquired { token: self.granted(token), attempt },
            Claimed::Mismatch(_)
                if self.without == Without::MismatchFirst
                    && matches!(self.store.status(&request.key).await?, Status::InProgress { .. }) =>
            {
                Claimed::InFlight { lease_left: Duration::from_secs(1) }
            }
            other => other,
        })
    }

    async fn renew(&self, token: &Token, lease: Duration) -> Result<Held, StoreError> {
        if self.without == Without::Renewal {
            return Ok(Held::Yes);
        }
        self.store.renew(&self.acts_for(token), lease).await
    }

    async fn complete(&self, token: &Token, outcome: Outcome) -> Result<Held, StoreError> {
        self.store.complete(&self.acts_for(token), outcome).await
    }

    async fn release(&self, token: &Token) -> Result<Held, StoreError> {
        let released = self.store.release(&self.acts_for(token)).await?;
        if released == Held::Yes {
            self.holders.lock().expect("no panic").remove(token.key());
        }
        Ok(released)
    }

    async fn lookup(&self, request: &ClaimRequest) -> Result<Found, StoreError> {
        self.store.lookup(request).await
    }

    async fn status(&self, key: &ScopedKey) -> Result<Status, StoreError> {
        self.store.status(key).await
    }

    async fn force_release(&self, key: &ScopedKey) -> Result<Held, StoreError> {
        self.store.force_release(key).await
    }

    async fn forget(&self, key: &ScopedKey) -> Result<Held, StoreError> {
        self.store.forget(key).await
    }

    async fn purge(&self, batch: u32) -> Result<u64, StoreError> {
        self.store.purge(batch).await
    }
}
