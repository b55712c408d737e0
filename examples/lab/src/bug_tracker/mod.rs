//! The bug tracker: files bug reports, each once.
//!
//! A request goes from [`server`] through the stack in [`app`] to the handlers in [`reports`], which keep their rows with
//! [`table`]. What a request does wrong is a [`problem`].

pub mod app;
pub mod problem;
pub mod reports;
pub mod server;
pub mod table;

pub use server::{Options, Server, StartError};
