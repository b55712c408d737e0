//! The articles' client: files a bug report for a model, and tells it what became of it.
//!
//! A model calls the tool `submit_bug_report`; the harness sends one POST for it, again where it may, and writes the
//! tool result. It retries errors of the transport, 409, 429, 500, 502, 503 and 504; every other 4xx fails at once.
//!
//! [`client`] holds the stack, from the outside in: `RetryLayer`, a new key for each attempt where a [`key`] source wants
//! that, the list of [`attempts`], responses read whole, hyper's client. The [`submission`] is what came of it;
//! [`command`] does it from a terminal. [`sample`] is a report to try it with.

pub mod attempts;
pub mod client;
pub mod command;
pub mod key;
pub mod sample;
pub mod submission;
pub mod url;

pub use attempts::{Attempt, AttemptEnd};
pub use client::{Harness, Settings};
pub use command::Submit;
pub use key::{KeySource, ToolCall};
pub use submission::{FinalResult, Submission};
pub use url::{BaseUrl, InvalidBaseUrl};
