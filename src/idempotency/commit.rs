//! The state of a commit: one for each claim, shared by all its clones.
//!
//! ```text
//!            begin            committed
//!   Open ───────────▶ Committing ───────▶ Committed
//!    ▲                 │   │   │
//!    │   rolled back   │   │   └────────▶ Passed    another holder has the key; nothing was written
//!    └─────────────────┘   └────────────▶ Unknown   the store cannot say; only the record can
//! ```
//!
//! When the handler has ended the layer awaits a commit under way and ends the state: nothing begins any more.
//!
//! A completion inside a transaction that is the application's is none of these steps: whether that commits, and when,
//! nobody says. `Open ──▶ Joined`, from where only the record can tell; a further completion of that kind joins it, and
//! one that finds another holder leads to `Passed`.
//!
//! Beside the phase stands how many transactions were begun for the claim and not rolled back on purpose: with one that
//! was left, an answer of success stands on top of nothing.

use std::{error::Error, fmt, sync::Arc, time::Duration};

use bytes::Bytes;
use http::Response;
use tokio::{sync::watch, time::Instant};

use super::metrics;
use crate::store::Outcome;

/// Whether a commit may begin, is under way, or how it ended.
#[derive(Clone, Debug)]
enum Phase {
    /// No commit, or one that was rolled back.
    Open,
    /// Handed to the store, which has not answered yet.
    Committing,
    /// The writes and the completion are one committed transaction; the caller gets this response.
    Committed(Response<Bytes>),
    /// Rolled back, since another holder has the key.
    Passed,
    /// The store cannot say whether it committed.
    Unknown,
    /// Completed in transactions of the application, one of which may commit.
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "only PostgresStore joins a transaction"))]
    Joined(Vec<Joined>),
}

#[derive(Debug)]
struct State {
    phase: Phase,
    /// Transactions that were begun, and not rolled back on purpose.
    left: u32,
    ended: bool,
}

/// What the record holds, and the caller gets, if the transaction that it was written in commits.
#[derive(Clone, Debug)]
pub(crate) struct Joined {
    pub(crate) response: Response<Bytes>,
    pub(crate) outcome: Outcome,
}

/// Shared by the clones of one claim and the exchange that made it.
#[derive(Clone, Debug)]
pub(crate) struct CommitState(Arc<watch::Sender<State>>);

/// What the exchange finds when the handler has ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// Nothing was committed: the handler's response counts.
    Open,
    /// Nothing was committed, though a transaction was begun for it: the handler's response counts unless it says that
    /// all went well.
    Left,
    /// Whatever the handler says now, this is the answer.
    Committed(Response<Bytes>),
    /// Another holder has the key.
    Passed,
    /// Only the record can say, and not now.
    Unknown,
    /// Only the record can say: it holds one of these, or nothing was committed.
    Joined(Vec<Joined>),
}

impl CommitState {
    pub(crate) fn new() -> Self {
        Self(Arc::new(watch::Sender::new(State { phase: Phase::Open, left: 0, ended: false })))
    }

    /// Open -> Committing.
    pub(crate) fn begin(&self) -> Result<Commit, CommitError> {
        self.step(|phase| match phase {
            Phase::Open => Ok(Phase::Committing),
            // Which of the two would count?
            Phase::Joined(_) => Err(CommitErrorKind::UnderWay),
            phase => Err(refusal(phase)),
        })?;
        Ok(Commit { state: self.clone(), begun: Instant::now() })
    }

    /// Lets nothing begin any more, and waits for a commit under way, `limit` at most.
    pub(crate) async fn end(&self, limit: Duration) -> Ended {
        self.0.send_modify(|state| state.ended = true);
        let mut changes = self.0.subscribe();
        let settled = changes.wait_for(|state| !matches!(state.phase, Phase::Committing));
        match tokio::time::timeout(limit, settled).await {
            Ok(Ok(state)) => match &state.phase {
                Phase::Open if state.left > 0 => Ended::Left,
                Phase::Open => Ended::Open,
                Phase::Joined(joined) => Ended::Joined(joined.clone()),
                Phase::Committed(response) => Ended::Committed(response.clone()),
                Phase::Passed => Ended::Passed,
                Phase::Committing | Phase::Unknown => Ended::Unknown,
            },
            Ok(Err(_)) | Err(_) => Ended::Unknown,
        }
    }

    /// Whether giving the key back could undo or repeat something: a commit is under way or has ended.
    pub(crate) fn forbids_release(&self) -> bool {
        !matches!(self.0.borrow().phase, Phase::Open)
    }

    fn step(&self, next: impl FnOnce(&mut Phase) -> Result<Phase, CommitErrorKind>) -> Result<(), CommitError> {
        let mut stepped = Ok(());
        self.0.send_if_modified(|state| {
            let next = match state.phase {
                Phase::Open | Phase::Joined(_) if state.ended => Err(CommitErrorKind::Ended),
                _ => next(&mut state.phase),
            };
            stepped = next.map(|next| state.phase = next);
            stepped.is_ok()
        });
        stepped.map_err(CommitError::from)
    }
}

/// For a store whose transactions a handler holds in its hand.
#[cfg(feature = "postgres")]
impl CommitState {
    /// Whether a transaction may begin.
    pub(crate) fn transaction_begins(&self) -> Result<(), CommitError> {
        self.step(|phase| match phase {
            Phase::Open => Ok(Phase::Open),
            Phase::Joined(_) => Err(CommitErrorKind::UnderWay),
            phase => Err(refusal(phase)),
        })
    }

    /// The handler has it in hand. Until it is rolled back on purpose, success is more than the handler can answer.
    pub(crate) fn transaction_begun(&self) {
        self.0.send_modify(|state| state.left += 1);
    }

    /// On purpose; each transaction once.
    pub(crate) fn transaction_rolled_back(&self) {
        self.0.send_modify(|state| state.left -= 1);
    }

    /// Open | Joined -> Joined, before the record is written: whoever is dropped meanwhile may have written it.
    pub(crate) fn join(&self, joined: Joined) -> Result<(), CommitError> {
        self.step(|phase| match phase {
            Phase::Open => Ok(Phase::Joined(vec![joined])),
            Phase::Joined(before) => {
                let mut all = std::mem::take(before);
                all.push(joined);
                Ok(Phase::Joined(all))
            }
            phase => Err(refusal(phase)),
        })
    }

    /// Joined -> Passed: another holder has the key, so no transaction with this claim's completion can commit.
    pub(crate) fn joined_in_vain(&self) {
        self.0.send_modify(|state| {
            if matches!(state.phase, Phase::Joined(_)) {
                state.phase = Phase::Passed;
            }
        });
    }
}

/// Why nothing begins.
fn refusal(phase: &Phase) -> CommitErrorKind {
    match phase {
        Phase::Open | Phase::Committing | Phase::Joined(_) => CommitErrorKind::UnderWay,
        Phase::Committed(_) => CommitErrorKind::AlreadyCommitted,
        Phase::Passed => CommitErrorKind::Passed,
        Phase::Unknown => CommitErrorKind::Unknown,
    }
}

/// A commit that a store has in hand. Whoever holds it says how it ended; dropped unsaid it is unknown.
#[derive(Debug)]
pub(crate) struct Commit {
    state: CommitState,
    begun: Instant,
}

impl Commit {
    /// Committing -> Committed.
    pub(crate) fn committed(self, response: Response<Bytes>) {
        metrics::complete_took(self.begun.elapsed());
        self.settle(Phase::Committed(response));
    }

    /// Committing -> Open: surely nothing was written.
    pub(crate) fn rolled_back(self) {
        self.settle(Phase::Open);
    }

    /// Committing -> Passed: surely nothing was written.
    pub(crate) fn passed(self) {
        self.settle(Phase::Passed);
    }

    fn settle(&self, phase: Phase) {
        self.state.0.send_modify(|state| {
            if matches!(state.phase, Phase::Committing) {
                state.phase = phase;
            }
        });
    }
}

impl Drop for Commit {
    fn drop(&mut self) {
        self.settle(Phase::Unknown);
    }
}

/// Why a commit did not happen, or may not have. Keeps its source.
#[derive(Debug)]
pub struct CommitError {
    kind: CommitErrorKind,
    source: Option<Box<dyn Error + Send + Sync>>,
}

/// What a [`CommitError`] means for the handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CommitErrorKind {
    /// This claim has committed. This commit wrote nothing; the caller gets the committed response.
    AlreadyCommitted,
    /// Another commit of this claim is under way, or a `complete_in` came before. This one wrote nothing.
    UnderWay,
    /// The handler had ended. Nothing was written.
    Ended,
    /// Another holder took the key over, or finished it. Rolled back; the layer answers the caller.
    Passed,
    /// Rolled back, and not by the handler: the server or the file refused, there was no connection, another job of the
    /// group failed. Surely nothing was written (after `complete_in`: once its transaction is rolled back); the handler
    /// may commit again.
    RolledBack,
    /// The response streams; only one that is in memory can be stored. Rolled back.
    StreamingBody,
    /// The closure panicked. Rolled back.
    Panicked,
    /// The store cannot say whether it committed. Unless it can by the time that the handler has ended, the layer answers
    /// 503 and keeps the key, and the record decides.
    Unknown,
}

impl CommitError {
    /// What it means for the handler.
    #[must_use]
    pub fn kind(&self) -> CommitErrorKind {
        self.kind
    }

    pub(crate) fn because(kind: CommitErrorKind, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { kind, source: Some(source.into()) }
    }
}

impl From<CommitErrorKind> for CommitError {
    fn from(kind: CommitErrorKind) -> Self {
        Self { kind, source: None }
    }
}

impl fmt::Display for CommitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            CommitErrorKind::AlreadyCommitted => "this claim has committed already",
            CommitErrorKind::UnderWay => "another commit of this claim is under way",
            CommitErrorKind::Ended => "the handler of this claim had ended",
            CommitErrorKind::Passed => "rolled back: another holder has this key",
            CommitErrorKind::RolledBack => "rolled back",
            CommitErrorKind::StreamingBody => "rolled back: a streaming response cannot be stored",
            CommitErrorKind::Panicked => "rolled back: the closure panicked",
            CommitErrorKind::Unknown => "the store cannot say whether it committed",
        })
    }
}

impl Error for CommitError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
