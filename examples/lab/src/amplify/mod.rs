//! How attempts multiply, counted where they arrive.
//!
//! A [`chain`] of services on real connections, each of which tries the next one, ends in a [`database`] that is dead; in
//! [`one_process`] a layer stands around another, which it sees or does not; a [`tool`] claims that it may be called twice.
//! [`figures`] measures what was published about each, and a [`report`] compares.

pub mod chain;
pub mod client;
pub mod database;
pub mod figures;
pub mod one_process;
pub mod report;
pub mod tool;
