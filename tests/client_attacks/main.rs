//! An attack on `tower_idempotency::retry`, kept: bodies, errors, settings and stacks that were made to break its
//! numbered rules. Each test quotes the rule that it holds to. What the pages name as a limit is asserted as it is.
//!
//! Time is tokio's paused clock, and chance comes from a seed: each run is the same.
//!
//! `cargo test --test client_attacks`

#![cfg(feature = "retry")]

mod budget;
mod drains;
mod evidence;
mod exchanges;
mod held;
mod limits;
mod memory;
mod nested;
mod outcomes;
mod requests;
mod support;
