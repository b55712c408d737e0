//! What the examples and the tests of tower-idempotency share.

pub mod bug_tracker;
pub mod exchange;
pub mod gate;
pub mod process;
