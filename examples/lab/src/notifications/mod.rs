//! The second service: keeps the notifications that the bug tracker's outbox sends, each once, in a file of its own.
//!
//! [`app`] has its routes and the layer that recognises what is sent again, [`table`] its rows, [`server`] listens.

pub mod app;
pub mod server;
pub mod table;

pub use server::Options;
pub use table::Notification;
