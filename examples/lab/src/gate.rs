//! A store with a gate before each verb.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use tokio::sync::Semaphore;
use tower_idempotency::store::{
    ClaimRequest, Claimed, Found, Held, Outcome, ScopedKey, Status, Store, StoreError, Token,
};

/// The verbs of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "named as the methods")]
pub enum Verb {
    Claim,
    Lookup,
    Renew,
    Complete,
    Release,
    Status,
    ForceRelease,
    Forget,
    Purge,
}

/// What happens to a call.
#[derive(Clone, Debug, Default)]
pub enum Gate {
    /// It goes through.
    #[default]
    Open,
    /// It fails before it reaches the store; another try may succeed.
    Fail,
    /// It fails before it reaches the store; another try would fail too.
    FailForGood,
    /// It reaches the store, and its answer is lost.
    LoseAnswer,
    /// It reaches the store after a while.
    Slow(Duration),
    /// It reaches the store, and its answer takes a while.
    SlowAnswer(Duration),
    /// It never reaches the store and is never answered.
    Never,
    /// It waits for a permit of this semaphore, and uses it up.
    Permit(Arc<Semaphore>),
}

/// A store that does to each verb what it is told to, and counts the calls.
#[derive(Clone, Debug)]
pub struct GatedStore<S> {
    store: S,
    gates: Arc<Mutex<Gates>>,
}

#[derive(Debug, Default)]
struct Gates {
    set: HashMap<Verb, Gate>,
    once: HashMap<Verb, Gate>,
    calls: HashMap<Verb, usize>,
}

impl<S> GatedStore<S> {
    /// All gates open.
    pub fn new(store: S) -> Self {
        Self { store, gates: Arc::default() }
    }

    /// From now on.
    pub fn set(&self, verb: Verb, gate: Gate) {
        self.gates().set.insert(verb, gate);
    }

    /// For the next call only.
    pub fn set_once(&self, verb: Verb, gate: Gate) {
        self.gates().once.insert(verb, gate);
    }

    /// How often a verb was called, whatever became of the call.
    pub fn calls(&self, verb: Verb) -> usize {
        self.gates().calls.get(&verb).copied().unwrap_or_default()
    }

    /// How often any verb was called.
    pub fn all_calls(&self) -> usize {
        self.gates().calls.values().sum()
    }

    /// The store behind the gates.
    pub fn inner(&self) -> &S {
        &self.store
    }

    async fn pass<T>(&self, verb: Verb, call: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
        let gate = {
            let mut gates = self.gates();
            *gates.calls.entry(verb).or_default() += 1;
            gates.once.remove(&verb).or_else(|| gates.set.get(&verb).cloned()).unwrap_or_default()
        };
        match gate {
            Gate::Open => call.await,
            Gate::Fail => Err(StoreError::transient(format!("the gate of {verb:?} is shut"))),
            Gate::FailForGood => Err(StoreError::permanent(format!("the gate of {verb:?} is shut for good"))),
            Gate::LoseAnswer => {
                let lost = call.await.is_ok();
                Err(StoreError::transient(format!("the answer of {verb:?} was lost: {lost}")))
            }
            Gate::Slow(time) => {
                tokio::time::sleep(time).await;
                call.await
            }
            Gate::SlowAnswer(time) => {
                let answer = call.await;
                tokio::time::sleep(time).await;
                answer
            }
            Gate::Never => std::future::pending().await,
            Gate::Permit(permits) => {
                permits.acquire().await.expect("never closed").forget();
                call.await
            }
        }
    }

    fn gates(&self) -> MutexGuard<'_, Gates> {
        self.gates.lock().expect("no panic while it is held")
    }
}

impl<S: Store> Store for GatedStore<S> {
    async fn claim(&self, request: &ClaimRequest) -> Result<Claimed, StoreError> {
        self.pass(Verb::Claim, self.store.claim(request)).await
    }

    async fn lookup(&self, request: &ClaimRequest) -> Result<Found, StoreError> {
        self.pass(Verb::Lookup, self.store.lookup(request)).await
    }

    async fn renew(&self, token: &Token, lease: Duration) -> Result<Held, StoreError> {
        self.pass(Verb::Renew, self.store.renew(token, lease)).await
    }

    async fn complete(&self, token: &Token, outcome: Outcome) -> Result<Held, StoreError> {
        self.pass(Verb::Complete, self.store.complete(token, outcome)).await
    }

    async fn release(&self, token: &Token) -> Result<Held, StoreError> {
        self.pass(Verb::Release, self.store.release(token)).await
    }

    async fn status(&self, key: &ScopedKey) -> Result<Status, StoreError> {
        self.pass(Verb::Status, self.store.status(key)).await
    }

    async fn force_release(&self, key: &ScopedKey) -> Result<Held, StoreError> {
        self.pass(Verb::ForceRelease, self.store.force_release(key)).await
    }

    async fn forget(&self, key: &ScopedKey) -> Result<Held, StoreError> {
        self.pass(Verb::Forget, self.store.forget(key)).await
    }

    async fn purge(&self, batch: u32) -> Result<u64, StoreError> {
        self.pass(Verb::Purge, self.store.purge(batch)).await
    }
}
