//! What the examples and the tests of tower-idempotency share.

pub mod amplify;
pub mod app;
pub mod body;
pub mod bug_tracker;
pub mod causes;
pub mod clock;
pub mod driven;
pub mod exchange;
pub mod fault_matrix;
pub mod faults;
pub mod gate;
pub mod hand_written;
pub mod handler;
pub mod harness;
pub mod hesitant;
pub mod naive;
pub mod naive_layer;
pub mod notifications;
pub mod panics;
pub mod problem;
pub mod process;
pub mod retry_lab;
pub mod scripted;
pub mod untouched;
pub mod wire;
pub mod withheld;
