//! The bug tracker as its users meet it: a process of its own, and a real curl.
//!
//! `cargo test --test bug_tracker`

mod curl;
mod errors;
