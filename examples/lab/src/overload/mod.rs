//! Retries are selfish: an outage of seconds, and a server that never comes back.
//!
//! "Retries are selfish", says Amazon's Builders' Library: a client spends more of the server to raise its own chances.
//! Here is how a short outage ends, with clients that do and do not. The model, point by point:
//!
//! 1. **A server with a bound.** It has [workers](Settings::workers), each of which takes a
//!    [fixed time](Settings::service_ms) for a request, and works on nothing else. What the workers can do in a second is
//!    its capacity.
//! 2. **A queue, first in first out.** What comes while all workers are busy waits. Where the [queue](Settings::queue) is
//!    full, a request is answered 503 at once. A queue that holds more than can be done within a client's patience is
//!    what makes a state that stays: everything in it is too old when its turn comes.
//! 3. **Clients that have left are not noticed.** A worker does the request of a client that has given up, for nobody
//!    ([`Abandoned::Served`]). [`Abandoned::Dropped`] is the server that looks first.
//! 4. **An outage.** For [some seconds](Settings::outage_s) no worker begins anything; requests wait, as before.
//! 5. **Requests come at their own pace**, at random times (Poisson), whatever became of the ones before. On average they
//!    are fewer than the capacity: the [load](Settings::load).
//! 6. **Each goes through a [`RetryLayer`](tower_idempotency::RetryLayer)**, the real one, over a service in this process,
//!    with an [attempt timeout](Settings::timeout_ms). They are GETs, so each failure is retried: a timeout, a 503, and the
//!    500 with which [a few](Settings::errors) are answered by chance. A [`Policy`] says how. Those with a budget share it
//!    among all requests of one [client](Settings::clients).
//! 7. **Goodput** is the answers that reach a client that still waits, by the second. When the server is healthy again is
//!    what [`Recovery`] says.
//! 8. **Requests come until the fate of those that are watched is known**, so that the end of the run helps nobody.
//! 9. **No network, no real time.** tokio's clock is paused and a thousand times finer than it shows; every draw comes from
//!    the [seed](Settings::seed): the same settings, the same outcome.
//!
//! Why it stays down: while every attempt fails, a request is as many attempts as are allowed. If load times attempts is
//! more than the capacity, the queue stays full; while it is full every attempt times out. Jitter spreads attempts and
//! sends none less. A budget does: once it is empty a request is one attempt, and with the default prices retries can then
//! add a tenth to a fifth to what succeeds.
//!
//! [`simulate`] plays one run, a [`Sweep`] one for each load; a [`Report`] compares the policies, [`Command`] does it from a
//! terminal.

mod command;
mod outcome;
mod picture;
mod policy;
mod record;
mod report;
mod server;
mod settings;
mod simulate;
mod sweep;
mod time;

pub use command::Command;
pub use outcome::{Attempts, Mean, Outcome, Recovery, Requests, Second};
pub use policy::Policy;
pub use report::{Report, Run, Verdict};
pub use settings::{Abandoned, Settings, TooMany};
pub use simulate::{side_by_side, simulate, simulate_with};
pub use sweep::{Sweep, SweepRow};
