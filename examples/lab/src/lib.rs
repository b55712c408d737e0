//! What the examples and the tests of tower-idempotency share.

pub mod app;
pub mod body;
pub mod bug_tracker;
pub mod clock;
pub mod exchange;
pub mod gate;
pub mod handler;
pub mod naive;
pub mod problem;
pub mod process;
pub mod untouched;
pub mod wire;
