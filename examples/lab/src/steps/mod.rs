//! The fault matrix, step by step: what each request does on both ends, and what is in the tables after it.
//!
//! 1. A [`Choice`] is a cell of the [fault matrix](crate::fault_matrix), or the scene that it lacks: a slow request that is
//!    taken over, with fencing and without.
//! 2. [`play()`] plays it, with the harness and the servers of the matrix, over TCP, on a fresh SQLite file.
//! 3. A [`Recorder`] is the [`Witness`](crate::watch::Witness) of it. After each [`Step`] it reads the tables on a connection of its own, and
//!    marks what has changed.
//! 4. The same choice gives the same steps, but for times and random keys: where two requests overlap, an
//!    [`Order`](order::Order) says which goes on, and nothing is left to luck.
//! 5. Steps are words for machines; the page says them in the language of its reader.
//! 6. The [`matrix`](matrix::Matrix) plays all choices.

pub mod choice;
pub mod matrix;
pub mod order;
pub mod play;
pub mod recorder;
pub mod rows;
mod taken_over;

pub use choice::{Choice, Fault, Fencing, InvalidChoice};
pub use matrix::Matrix;
pub use play::{Played, play};
pub use recorder::{Recorder, Step};
