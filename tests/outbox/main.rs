//! The outbox of the bug tracker: what a report sets off beyond the tracker's own database happens once.
//!
//! `cargo build --example bug_tracker && cargo test --test outbox`; a plain `cargo test` builds the example by itself.

mod command;
mod commit;
mod crash;
mod down;
mod front;
mod office;
mod patience;
mod settled;
mod two_workers;
