//! A store whose calls are watched from outside: which were answered, and how.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use lab::gate::Verb;
use tower_idempotency::store::{
    ClaimRequest, Claimed, Found, Held, Outcome, ScopedKey, Status, Store, StoreError, Token,
};

/// Watches what the layer asks and what it is told.
#[derive(Clone, Debug)]
pub(crate) struct Watched<S> {
    store: S,
    log: Arc<Mutex<Log>>,
}

#[derive(Debug, Default)]
struct Log {
    calls: HashMap<Verb, Calls>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Calls {
    begun: usize,
    succeeded: usize,
    /// Answered, or given up by whoever asked.
    over: usize,
    last_succeeded: bool,
}

impl<S> Watched<S> {
    pub(crate) fn new(store: S) -> Self {
        Self { store, log: Arc::default() }
    }

    pub(crate) fn inner(&self) -> &S {
        &self.store
    }

    pub(crate) fn all_calls(&self) -> usize {
        self.log().calls.values().map(|calls| calls.begun).sum()
    }

    /// Whether any call failed, or was given up.
    pub(crate) fn failed(&self) -> bool {
        self.log().calls.values().any(|calls| calls.succeeded < calls.begun)
    }

    /// Whether the store was asked to close a key, and no such call is under way.
    pub(crate) fn closing_is_over(&self) -> bool {
        let calls = self.of(Verb::Complete);
        calls.begun > 0 && calls.over == calls.begun
    }

    /// Whether the last try to close a key succeeded.
    pub(crate) fn closed(&self) -> bool {
        self.of(Verb::Complete).last_succeeded
    }

    fn of(&self, verb: Verb) -> Calls {
        self.log().calls.get(&verb).copied().unwrap_or_default()
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().expect("no panic while it is held")
    }

    async fn watch<T>(&self, verb: Verb, call: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
        self.log().calls.entry(verb).or_default().begun += 1;
        let mut asked = Asked { log: &self.log, verb, succeeded: false };
        let answer = call.await;
        asked.succeeded = answer.is_ok();
        answer
    }
}

/// One call, until it is answered or dropped.
struct Asked<'a> {
    log: &'a Mutex<Log>,
    verb: Verb,
    succeeded: bool,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        let mut log = self.log.lock().expect("no panic while it is held");
        let calls = log.calls.entry(self.verb).or_default();
        calls.over += 1;
        calls.succeeded += usize::from(self.succeeded);
        calls.last_succeeded = self.succeeded;
    }
}

impl<S: Store> Store for Watched<S> {
    async fn claim(&self, request: &ClaimRequest) -> Result<Claimed, StoreError> {
        self.watch(Verb::Claim, self.store.claim(request)).await
    }

    async fn lookup(&self, request: &ClaimRequest) -> Result<Found, StoreError> {
        self.watch(Verb::Lookup, self.store.lookup(request)).await
    }

    async fn renew(&self, token: &Token, lease: Duration) -> Result<Held, StoreError> {
        self.watch(Verb::Renew, self.store.renew(token, lease)).await
    }

    async fn complete(&self, token: &Token, outcome: Outcome) -> Result<Held, StoreError> {
        self.watch(Verb::Complete, self.store.complete(token, outcome)).await
    }

    async fn release(&self, token: &Token) -> Result<Held, StoreError> {
        self.watch(Verb::Release, self.store.release(token)).await
    }

    async fn status(&self, key: &ScopedKey) -> Result<Status, StoreError> {
        self.watch(Verb::Status, self.store.status(key)).await
    }

    async fn force_release(&self, key: &ScopedKey) -> Result<Held, StoreError> {
        self.watch(Verb::ForceRelease, self.store.force_release(key)).await
    }

    async fn forget(&self, key: &ScopedKey) -> Result<Held, StoreError> {
        self.watch(Verb::Forget, self.store.forget(key)).await
    }

    async fn purge(&self, batch: u32) -> Result<u64, StoreError> {
        self.watch(Verb::Purge, self.store.purge(batch)).await
    }
}
