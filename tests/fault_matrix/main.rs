//! The fault matrix, its three servers, and their faults, over TCP.
//!
//! `cargo build --examples && cargo test --test fault_matrix`; a plain `cargo test` builds the examples by itself.

mod attempts;
mod command;
mod counters;
mod defects;
mod meeting;
mod published;
mod tracker;
mod wire;
