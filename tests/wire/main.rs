//! What stands between the crate and the wire, on loopback connections: reqwest as a service, and what it would do by
//! itself.
//!
//! `cargo test --test wire --features reqwest`
#![cfg(feature = "reqwest")]

mod adapter;
mod bare_client;
mod server;
