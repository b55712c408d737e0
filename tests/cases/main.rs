//! Cases from the field: sequences that broke other systems of this kind in public, under their numbers.
//!
//! `cargo test --test cases`

mod claims;
mod connections;
mod endings;
mod holders;
mod renewals;
mod requests;
mod responses;
mod stores;

use std::time::Duration;

use lab::{
    app::{App, Hold, created},
    gate::GatedStore,
};
use tower_idempotency::{IdempotencyLayer, MemoryStore, Store, idempotency::Scope};

/// The layer's default.
const LEASE: Duration = Duration::from_secs(10);

/// A store in memory that does to each verb what it is told to.
fn gated() -> GatedStore<MemoryStore> {
    GatedStore::new(MemoryStore::new())
}

/// A layer with its defaults, one scope for all.
fn shared<S: Store>(store: S) -> IdempotencyLayer<S> {
    IdempotencyLayer::new(store, Scope::shared())
}

/// A handler that is held, then answers `run 1`, `run 2`.
fn held<S: Store>(layer: &IdempotencyLayer<S>, hold: &Hold) -> App {
    let hold = hold.clone();
    App::new(layer, move |run, _| {
        let hold = hold.clone();
        async move {
            hold.pass().await;
            created(format!("run {run}"))
        }
    })
}
