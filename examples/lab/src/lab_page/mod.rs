//! The page that the bug tracker serves at `/`: reports as they are filed, a herd of clients, what becomes of reports step
//! by step, and questions about all of it.
//!
//! Its files stand in `examples/bug_tracker/lab/` and are part of the program.
//!
//! 1. The page asks nobody but its own server, and its Content-Security-Policy says so.
//! 2. `GET /lab/info` says what this server does, so that the page does not have to try.
//! 3. `GET /lab/reports/events` sends the list of reports at once and after each change: those of this process at once,
//!    those of other processes on the same store within a second.
//! 4. So many may listen; one more is 503.
//! 5. The list ends when the server is asked to stop: an open page does not hold it.
//! 6. `GET /lab/steps` plays a fault and `GET /lab/matrix` all of them; a few at once, each within a time.
//!    What is played ends with the server too.
//! 7. `GET /lab/herd` plays a herd, and sends what came of each strategy as soon as it is known. Nobody waits for a herd
//!    whose client left, nor does the server when it is asked to stop.

pub mod assets;
pub mod herd;
pub mod info;
pub mod page;
mod query;
pub mod reports;
pub mod steps;

pub use info::Info;
pub use page::LabPage;
