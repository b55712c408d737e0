//! An exchange that is dropped at every poll, and TCP connections that are closed at each point of one: the key has ended
//! or is free, and the work was done once. Run with `cargo test --test drops`.
//!
//! What goes wrong without the guard is asserted too: the same checks report a layer whose work ends with its caller.

#[cfg(all(feature = "axum", feature = "sqlite"))]
mod connections;
mod polls;
mod runtimes;
#[cfg(feature = "sqlite")]
mod sqlite;

use lab::driven::{Driven, polled};
