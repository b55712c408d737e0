//! Two bug trackers in processes of their own on one SQLite file: claims, takeovers and commits race, and each key is one
//! report.
//!
//! `cargo build --example bug_tracker && cargo test --test two_processes`

mod client;
mod kills;
mod naive;
mod office;
mod races;
