//! How attempts multiply, counted at the bottom of real connections: the figures of the example, and what changes them.
//!
//! `cargo build --example amplify && cargo test --test amplify`; a plain `cargo test` builds the example by itself.

mod budgets;
mod chain;
mod hint;
mod one_process;
mod program;
