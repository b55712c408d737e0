//! The fault matrix of the article: how many reports each server leaves for each source of keys and each fault.
//!
//! A [`Row`] is a server and a source of keys; a [`Scene`] is what goes wrong. A [`cell`] plays one scene with one row:
//! a bug tracker on a fresh SQLite file, requests of the harness ([`client`]) over TCP, then a count of what is in the file. A
//! [`Table`] plays many side by side and compares them with the article's figures; [`why`] says the reasons, [`render`] and
//! [`json`] write it down, [`command`] does it from a terminal.

pub mod cell;
pub mod client;
pub mod command;
pub mod json;
pub mod render;
pub mod row;
pub mod scene;
pub mod table;
pub mod why;

pub use cell::Cell;
pub use command::{Command, Verdict};
pub use row::{Defect, Row};
pub use scene::Scene;
pub use table::{Change, Comparison, Difference, Measured, Table};
