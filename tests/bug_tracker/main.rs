//! The bug tracker as its users meet it: a process of its own, and a real curl.
//!
//! `cargo build --example bug_tracker && cargo test --test bug_tracker`; a plain `cargo test` builds the example by itself.

mod curl;
mod errors;
