//! What `Claim<SqliteStore>::commit` promises, through the layer and a store on a real file.
//!
//! Rules are those of `tower_idempotency::idempotency`. `seen_red` switches a guard off and expects the damage.
//!
//! `cargo test --test commit`
#![cfg(all(feature = "axum", feature = "sqlite"))]

mod afterwards;
mod claim;
mod connection;
mod dropped;
mod extractor;
mod full_disk;
mod kept;
mod log;
mod once;
mod passed;
mod races;
mod rolled_back;
mod seen_red;
mod tracker;
mod unknown;
