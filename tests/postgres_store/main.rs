//! What `PostgresStore` promises of its server: who waits for whom, what is kept together, and what an error means.
//!
//! It starts a Postgres of its own, or uses the one of `TEST_POSTGRES_URL`; the tests that stop a server always start one.
//!
//! `cargo test --features postgres --test postgres_store`

mod afterwards;
mod begun;
mod changed_since;
mod claims;
mod errors;
mod isolation;
mod joined;
mod locked;
mod migration;
mod passed;
mod pooler;
mod renewals;
mod seen_red;
mod server;
mod settings;
mod shop;
