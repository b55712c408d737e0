//! The bug tracker: files bug reports, each once.
//!
//! [`Implementation`] chooses between the three servers of the article: [`naive`], [`key_split`], and the crate's layer.
//! A request goes from [`server`] through the stack in [`app`] to the handlers in [`reports`], which write through the
//! [`backend`] that `--store` names: to SQLite with [`table`]. What a request does wrong is a [`problem`]; [`faults`] are
//! what goes wrong with the server, when a client asks for it.
//! The [`outbox`] tells a second service of each report, [`filed`] the page of [`lab_page`](crate::lab_page).

pub mod app;
pub mod backend;
pub mod faults;
pub mod filed;
pub mod implementation;
pub mod json;
pub mod key_split;
pub mod naive;
pub mod options;
pub mod outbox;
pub mod problem;
pub mod reports;
pub mod server;
pub mod start_error;
pub mod table;

pub use implementation::Implementation;
pub use options::Options;
pub use server::Server;
pub use start_error::StartError;
