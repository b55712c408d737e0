//! Tests of the numbered rules of `tower_idempotency::retry`, named as sentences. Each quotes the rule that it holds to;
//! a number such as K8 is that of a case that broke another client of this kind.
//!
//! Time is tokio's paused clock, and chance comes from a seed: each run is the same.
//!
//! `cargo test --test client_rules`

#![cfg(feature = "retry")]

mod backoff;
mod bodies;
mod budget;
mod connections;
mod gate;
mod hints;
mod keys;
mod learns;
mod limits;
mod one_connection;
mod retried;
mod seen_red;
mod seen_red_inside;
mod stack;
mod support;
mod tower;
