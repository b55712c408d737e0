//! One record, and what it counts for.
//!
//! ```text
//!            claim               complete
//!   absent ─────────▶ Running ──────────────▶ Finished
//!     ▲               │  ▲  │                    │
//!     │               └──┘  │                    │
//!     │    renew, take over │                    │
//!     └─────────────────────┴────────────────────┘
//!        release, force_release, forget; past its retention
//! ```

use std::time::{Duration, SystemTime};

use http::{HeaderName, HeaderValue};
use tokio::time::Instant;

use crate::store::{Fingerprint, Outcome, StoredResponse, Token};

/// What a record takes beside its contents: its fields, its entries in map and index, and their spare room.
const BYTES_PER_RECORD: usize = 512;
/// What a header line takes beside its name and value.
const BYTES_PER_LINE: usize = 128;
/// What an unfinished record keeps free for its response.
const RESERVED_BYTES: usize = 4 * 1024;

/// The longest lease or retention. Two of them, and the time that a process may run, fit into an `Instant`.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

#[derive(Clone)]
pub(super) struct Record {
    pub(super) token: Token,
    pub(super) fingerprint: Fingerprint,
    pub(super) retention: Duration,
    pub(super) attempt: u32,
    pub(super) since: SystemTime,
    pub(super) state: State,
}

#[derive(Clone)]
pub(super) enum State {
    /// A holder runs the request, or did until its lease ended. A claim after that takes over.
    Running { lease_end: Instant },
    /// The request has ended; only time and `forget` change the record.
    Finished { end: Instant, at: SystemTime, outcome: Outcome },
}

impl Record {
    pub(super) fn is_running(&self) -> bool {
        matches!(self.state, State::Running { .. })
    }

    /// When its retention ends: it counts from the end or, unfinished, from the lapse of the lease.
    pub(super) fn expiry(&self) -> Instant {
        match &self.state {
            State::Running { lease_end } => later(*lease_end, self.retention),
            State::Finished { end, .. } => later(*end, self.retention),
        }
    }

    /// What it counts for.
    pub(super) fn bytes(&self) -> usize {
        let contents = match &self.state {
            State::Running { .. } => RESERVED_BYTES,
            State::Finished { outcome: Outcome::Response(response), .. } => size(response),
            State::Finished { outcome: Outcome::NotReplayable(_), .. } => 0,
        };
        BYTES_PER_RECORD + self.token.key().as_bytes().len() + contents
    }
}

fn size(response: &StoredResponse) -> usize {
    let line = |(name, value): (&HeaderName, &HeaderValue)| BYTES_PER_LINE + name.as_str().len() + value.len();
    response.body.len() + response.headers.iter().map(line).sum::<usize>()
}

/// Adds without overflow.
pub(super) fn later(from: Instant, by: Duration) -> Instant {
    from + by.min(LONGEST)
}
