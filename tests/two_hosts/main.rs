//! Processes that share nothing but a Postgres or a Redis: they race for a key, and their clocks differ by an hour.
//!
//! `cargo test --all-features --test two_hosts`. It runs itself as the other process. `faketime` has to be installed,
//! and the servers.

mod clocks;
mod other;
mod races;
mod stores;
