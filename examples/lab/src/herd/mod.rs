//! The herd of the article: many clients write one row at the same time, and those that fail wait and begin again.
//!
//! A [`Herd`] is one run: [`simulate`] plays it, and the [`Outcome`] has each write that came to the server. Its clients are
//! [`RetryLayer`](tower_idempotency::RetryLayer)s that wait as a [`Strategy`] says; the network and the row are inside of
//! them, on a paused clock. A [`Grid`] is many runs of many cells, on so many threads; a [`Table`] has their means, and
//! compares them with what is [`published`] by a [`statistic`]. [`render`] and [`json`] write it down, [`pictures`] draws it,
//! [`command`] does it from a terminal.
//!
//! The model, to the letter:
//!
//! 1. A client reads the version of the row, then writes with it. The write fails if another one came in between: the
//!    client waits, and begins at the read.
//! 2. Each way over the network takes |N(10, 2)| milliseconds, and the server no time.
//! 3. Only writes are counted. The run ends when the last client has its answer.
//! 4. The first wait is up to twice the base; that of `decorrelated` grows from the base.
//! 5. The tenth of `proportional` comes on top of the cap.
//! 6. Times are real numbers, not whole milliseconds.
//! 7. Each client draws from random streams of its own; all of them come from the seed.

pub mod command;
pub mod grid;
pub mod json;
pub mod list;
pub mod network;
pub mod pace;
pub mod pictures;
pub mod published;
pub mod render;
mod row;
mod seed;
pub mod simulate;
pub mod size;
pub mod statistic;
pub mod strategy;
pub mod table;

pub use command::Command;
pub use grid::{Cell, Finished, Grid};
pub use list::List;
pub use network::Network;
pub use pace::Pace;
pub use row::{Arrival, Written};
pub use simulate::{Defect, Herd, Outcome, simulate, simulate_until};
pub use size::{Clients, Runs};
pub use statistic::{Figure, Sample};
pub use strategy::Strategy;
pub use table::{Compared, Difference, Measured, Table, Verdict};
