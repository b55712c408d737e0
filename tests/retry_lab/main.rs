//! The fifteen tests of the second article, against the server of the example: a real curl on a real connection.
//!
//! `cargo build --example retry_lab && cargo test --test retry_lab`; a plain `cargo test` builds the example by itself.
//! Needs curl.
//!
//! The article names twelve of its tests; the three others hold sentences of its text. Each says which it is: "Article:
//! ..". `seen_red` takes a guard away and expects the damage, `program` runs the example.

mod answers;
mod database;
mod program;
mod scene;
mod seen_red;
mod timeouts;
