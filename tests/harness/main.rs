//! The articles' client against a bug tracker on a real port, with faults in between.
//!
//! `cargo build --example bug_tracker && cargo test --test harness`; a plain `cargo test` builds the example by itself.

mod attempts;
mod command;
mod keys;
mod messages;
mod retried;
mod tracker;
