//! What every store promises, tried with each: `cargo test --test stores`.
//!
//! The promises are the crate's public suite, `store::conformance`. Here are the fixtures of its own stores, what only
//! one of them promises, and `wrong`: the same suite against stores with one guard missing, which it must find.

mod lying;
mod memory;
mod naive;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "redis")]
mod redis;
#[cfg(feature = "sqlite")]
mod sqlite;
mod wrong;
