//! What the examples and the tests of tower-idempotency share.

pub mod app;
pub mod bug_tracker;
pub mod clock;
pub mod exchange;
pub mod gate;
pub mod problem;
pub mod process;
pub mod wire;
