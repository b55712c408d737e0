//! The checker is trusted once it has been seen red: each promise is broken by a store or a layer that leaves a guard
//! out, in one of the same combinations, where the same with the guard breaks none.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::FutureExt;
use lab::{
    handler::Handler,
    naive_layer::{self, Flaw},
};
use tower_idempotency::{
    MemoryStore,
    store::{ClaimRequest, Claimed, Found, Held, Outcome, ScopedKey, Status, Store, StoreError, Token},
};

use crate::{
    combination::{Caller, Fault, Rival},
    promise::Promise,
    scene::{Combination, Does, Seat, Server, System, layered, on_a_paused_clock},
};

/// What the store below leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gap {
    /// Whoever completes last wins: `UPDATE … WHERE key = ?`.
    CompletesByKeyAlone,
    /// Whoever releases deletes what is there: `DELETE … WHERE key = ?`.
    ReleasesByKeyAlone,
    /// A completion is acknowledged before it is kept, and is then lost.
    CompletesNothing,
    /// A live lease keeps nobody off.
    ClaimsWhatRuns,
    /// A renewal says that it was done, and is not.
    RenewsNothing,
}

#[derive(Clone, Debug)]
struct Gapped {
    store: MemoryStore,
    gap: Gap,
    claims: Arc<Mutex<HashMap<ScopedKey, ClaimRequest>>>,
}

impl Gapped {
    fn new(gap: Gap) -> Self {
        Self { store: MemoryStore::new(), gap, claims: Arc::default() }
    }

    async fn claim_anew(&self, key: &ScopedKey) -> Result<Claimed, StoreError> {
        let request = self.claims.lock().expect("no panic").get(key).cloned().expect("claimed before");
        let _ = self.store.forget(key).await?;
        self.store.claim(&request).await
    }
}

impl Store for Gapped {
    async fn claim(&self, request: &ClaimRequest) -> Result<Claimed, StoreError> {
        self.claims.lock().expect("no panic").insert(request.key.clone(), request.clone());
        match self.store.claim(request).await? {
            Claimed::InFlight { .. } if self.gap == Gap::ClaimsWhatRuns => self.claim_anew(&request.key).await,
            claimed => Ok(claimed),
        }
    }

    async fn lookup(&self, request: &ClaimRequest) -> Result<Found, StoreError> {
        self.store.lookup(request).await
    }

    async fn renew(&self, token: &Token, lease: Duration) -> Result<Held, StoreError> {
        match self.gap {
            Gap::RenewsNothing => Ok(Held::Yes),
            Gap::CompletesByKeyAlone | Gap::ReleasesByKeyAlone | Gap::CompletesNothing | Gap::ClaimsWhatRuns => {
                self.store.renew(token, lease).await
            }
        }
    }

    async fn complete(&self, token: &Token, outcome: Outcome) -> Result<Held, StoreError> {
        match self.gap {
            Gap::CompletesNothing => Ok(Held::Yes),
            Gap::CompletesByKeyAlone => match self.claim_anew(token.key()).await? {
                Claimed::Acquired { token, .. } => self.store.complete(&token, outcome).await,
                _ => Ok(Held::No),
            },
            Gap::ReleasesByKeyAlone | Gap::ClaimsWhatRuns | Gap::RenewsNothing => {
                self.store.complete(token, outcome).await
            }
        }
    }

    async fn release(&self, token: &Token) -> Result<Held, StoreError> {
        match self.gap {
            Gap::ReleasesByKeyAlone => self.store.forget(token.key()).await,
            Gap::CompletesByKeyAlone | Gap::CompletesNothing | Gap::ClaimsWhatRuns | Gap::RenewsNothing => {
                self.store.release(token).await
            }
        }
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

/// Nothing at fault, the caller stays, no rival, the handler answers.
const CALM: Combination =
    Combination { faults: [Fault::Ok; 5], caller: Caller::Stays, does: Does::Answers, rival: Rival::None };

/// A first run whose lease lapses, so that a rival has ended before it does.
const PASSED: Combination =
    Combination { faults: [Fault::Ok, Fault::Err, Fault::Ok, Fault::Ok, Fault::Ok], rival: Rival::Quick, ..CALM };

/// The promises that one combination breaks.
fn broken_by<S: Store>(
    store: fn() -> S,
    server: fn(Seat<S>, Handler) -> Server,
    combination: Combination,
) -> Vec<Promise> {
    on_a_paused_clock(async { combination.play(&System { store, server }).await.0.broken() })
}

/// Whether the store breaks a promise that a sound one keeps.
fn store_breaks(store: fn() -> Gapped, combination: Combination) -> Vec<Promise> {
    assert_eq!(broken_by(MemoryStore::new, layered, combination), [], "a sound store");
    broken_by(store, layered, combination)
}

/// Whether the layer breaks a promise that one of its kind without the flaw keeps.
fn layer_breaks(server: fn(Seat<MemoryStore>, Handler) -> Server, combination: Combination) -> Vec<Promise> {
    assert_eq!(broken_by(MemoryStore::new, |store, handler| naive(store, handler, Flaw::None), combination), []);
    broken_by(MemoryStore::new, server, combination)
}

fn naive(store: Seat<MemoryStore>, handler: Handler, flaw: Flaw) -> Server {
    let guarded = naive_layer::guarded(store, handler, flaw);
    Server { service: guarded.service.clone(), drained: guarded.drained().boxed() }
}

#[test]
fn a_store_that_completes_by_key_alone_replaces_an_answer_that_was_given() {
    let broken = store_breaks(|| Gapped::new(Gap::CompletesByKeyAlone), PASSED);
    assert_eq!(broken, [Promise::AnswerIsStored]);
}

#[test]
fn a_store_that_releases_by_key_alone_erases_an_answer_that_was_given() {
    let combination = Combination { does: Does::Fails, ..PASSED };
    assert_eq!(store_breaks(|| Gapped::new(Gap::ReleasesByKeyAlone), combination), [Promise::AnswerIsStored]);
}

#[test]
fn a_store_that_loses_what_it_acknowledged_runs_a_handler_again() {
    let broken = store_breaks(|| Gapped::new(Gap::CompletesNothing), CALM);
    assert_eq!(broken, [Promise::RunsOnce, Promise::KeyEnds]);
}

#[test]
fn a_store_that_grants_what_runs_runs_a_handler_beside_itself() {
    let combination = Combination { rival: Rival::Quick, ..CALM };
    assert_eq!(store_breaks(|| Gapped::new(Gap::ClaimsWhatRuns), combination), [Promise::RunsOnce]);
}

#[test]
fn a_store_that_renews_nothing_runs_a_handler_beside_itself() {
    let combination = Combination { rival: Rival::Slow, ..CALM };
    assert_eq!(store_breaks(|| Gapped::new(Gap::RenewsNothing), combination), [Promise::RunsOnce]);
}

#[test]
fn a_layer_that_answers_first_answers_before_the_key_is_closed() {
    let combination = Combination { faults: [Fault::Ok, Fault::Ok, Fault::Slow, Fault::Ok, Fault::Ok], ..CALM };
    let broken = layer_breaks(|store, handler| naive(store, handler, Flaw::AnswersFirst), combination);
    assert!(broken.contains(&Promise::ClosedFirst), "{broken:?}");
}

#[test]
fn a_layer_whose_work_ends_with_its_caller_runs_a_handler_again() {
    let combination = Combination { caller: Caller::LeavesEarly, ..CALM };
    let broken = layer_breaks(|store, handler| naive(store, handler, Flaw::EndsWithItsCaller), combination);
    assert_eq!(broken, [Promise::RunsOnce]);
}

/// V9.
#[test]
fn a_layer_that_renews_for_ever_blocks_the_key_of_a_handler_that_fails() {
    for does in [Does::Fails, Does::Panics] {
        let combination = Combination { does, ..CALM };
        let broken = layer_breaks(|store, handler| naive(store, handler, Flaw::RenewsForEver), combination);
        assert_eq!(broken, [Promise::KeyEnds, Promise::WorkEnds]);
    }
}

#[test]
fn a_layer_that_waits_for_ever_leaves_its_caller_without_an_answer() {
    for verb in [0, 2] {
        let mut combination = CALM;
        combination.faults[verb] = Fault::Never;
        let broken = layer_breaks(|store, handler| naive(store, handler, Flaw::WaitsForEver), combination);
        assert!(broken.contains(&Promise::CallerIsAnswered), "{broken:?}");
    }
}

#[test]
fn a_layer_that_trusts_its_store_panics() {
    let combination = Combination { faults: [Fault::Ok, Fault::Ok, Fault::Err, Fault::Ok, Fault::Ok], ..CALM };
    let broken = layer_breaks(|store, handler| naive(store, handler, Flaw::Trusts), combination);
    assert_eq!(broken, [Promise::NothingElsePanics]);
}
