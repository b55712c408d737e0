//! The bug tracker as its users meet it: a process of its own, and a real curl.
//!
//! `cargo build --example bug_tracker && cargo test --test bug_tracker`; a plain `cargo test` builds the example by itself.
//! With `--features postgres,redis` behind both, it is tried on these servers too, which have to be installed.

mod curl;
mod errors;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "redis")]
mod redis;
mod stores;
