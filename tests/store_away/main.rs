//! A store that goes away in the middle of a verb, under the layer, and comes back: rule 17, on Postgres and on Redis.
//!
//! What a request asks of the store meets each way of being away (the look-up those of a wire), and each time the application goes on without a restart.
//!
//! `cargo test --all-features --test store_away`. It starts servers of its own, which have to be installed.

mod app;
mod backend;
mod commit;
mod lookup;
mod verbs;
