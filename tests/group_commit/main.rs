//! V33: closures that share one transaction, and what each can do to the others. Requests through the layer and axum on
//! a real file; rows and records are judged from a foreign connection.
//!
//! `cargo build --example bug_tracker && cargo test --test group_commit`

mod disk;
mod failing_disk;
mod fouls;
mod naive;
mod plan;
mod pool;
mod shop;
mod slow;
