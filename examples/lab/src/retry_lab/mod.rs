//! The timeout lab: what a retry does after a timeout, with and without a key.
//!
//! A [`server`] commits each job and only then delays its answer ([`app`], [`job`], [`table`]); a real [`curl`] gives up
//! before that; a [`trial`] sees the commit in the database, sends the request again and counts; a [`report`] compares.

pub mod app;
pub mod curl;
pub mod job;
pub mod report;
pub mod server;
pub mod table;
pub mod trial;
