//! The fault matrix, step by step: plays, what they leave, their steps, and the routes.
//!
//! `cargo test --test steps`

mod bounds;
mod choices;
mod figures;
mod lines;
mod order;
mod rows;
mod sequences;
mod server;
mod texts;
