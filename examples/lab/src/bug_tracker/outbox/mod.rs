//! Beyond the tracker's own database: each report is notified to a second service, once in effect.
//!
//! 1. **One commit.** The report, the row of the outbox and "this key is done" are one transaction ([`table`]). The row
//!    carries a key derived from the report's own, and the very bytes that are to be sent.
//! 2. **A worker sends, not the request.** A [`worker`] takes the rows that wait, in their order, and POSTs each under its
//!    key ([`sender`]); then it records the answer. A report is answered without a thought of the second service.
//! 3. **At least once on the wire.** A worker that dies between the delivery and its record leaves a row that waits: it is
//!    sent again. A row that two workers took at the same time is sent by both: twice, where nothing fails.
//! 4. **Once in effect.** The second service recognises the key and replays its first answer, for as long as it remembers
//!    keys ([`RETENTION`](crate::notifications::app::RETENTION)). A row that was delivered, not recorded, and then not
//!    sent for longer than that would be done twice. And a client that uses its key again once the tracker has forgotten it
//!    files a new report under the same derived key: the service refuses that notification while it remembers the first.
//! 5. **A service that is down** costs a few attempts, then a pause that grows. The row waits, and those behind it do: order
//!    is kept. A row that the service refuses for what it says is set aside, and kept.
//!
//! Rows are written whether or not this server has a worker: a [process of its own](command) may deliver them, now or
//! later, and that a report is never without its row must not hang on a switch.

pub mod command;
pub mod sender;
pub mod table;
pub mod worker;

pub use command::Deliver;
pub use sender::{Delivery, RowKey, Sender};
pub use worker::{Until, Worker};
