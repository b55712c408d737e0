//! A store that goes away in the middle of a verb, under the layer, and comes back: rule 17, on Postgres and on Redis.
//!
//! Each verb meets each way of being away, and each time the application goes on without a restart.
//!
//! `cargo test --all-features --test store_away`. It starts servers of its own, which have to be installed.
#![cfg(all(feature = "axum", feature = "postgres", feature = "redis"))]

mod app;
mod backend;
mod commit;
mod lookup;
mod verbs;
