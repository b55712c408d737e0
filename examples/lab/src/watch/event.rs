//! What a request does, as both ends tell it: for machines, without words.

use serde::Serialize;

use crate::harness::FinalResult;

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Event {
    /// The client has waited since its last attempt ended.
    Waited {
        /// So many milliseconds.
        wait_ms: f64,
    },
    /// The client sends an attempt.
    Sent {
        /// Under this key.
        key: Option<String>,
        /// For this call of the tool.
        tool_use_id: String,
        /// The title of the report.
        title: String,
    },
    /// It has come to the server.
    Arrived,
    /// The server has looked the key up, and claims nothing.
    LookedUp {
        /// What there is under it.
        found: Found,
    },
    /// The server has looked the key up and claimed it, in one transaction.
    Claimed {
        /// Higher than that of each claim before.
        fence: u64,
        /// 2 or more: taken over from a holder whose lease had lapsed.
        run: u32,
    },
    /// The server replays the steps of the report; nothing is written yet.
    Working,
    /// The lease of this request's claim has lapsed, and nothing has renewed it.
    LeaseLapsed {
        /// It was so long.
        lease_ms: u64,
    },
    /// It was paused, and goes on.
    Woke,
    /// The report is in the table, within a transaction that is still open.
    ReportInserted {
        /// Its number.
        report_id: i64,
    },
    /// The report is committed, and nothing else.
    ReportCommitted {
        /// Its number.
        report_id: i64,
    },
    /// The key is committed, after its report.
    KeyRegistered,
    /// Another request has registered the key, beside its own report.
    KeyTaken,
    /// The report and "this key is done" are committed together.
    Committed,
    /// The same, and nobody has compared the fence: it may be another one's key by now.
    CommittedUnfenced,
    /// The claim was passed: rolled back, and the report with it.
    FencedOut,
    /// The server fails in the middle of it.
    Crashed,
    /// The claim is given back.
    Released,
    /// The server refuses the request, and has done nothing.
    Refused,
    /// The server answers.
    Answered {
        /// With this status.
        status: u16,
        /// Whether it marks the answer as a stored one.
        replayed: bool,
        /// The title of a problem.
        title: Option<String>,
    },
    /// The server has answered, and not a byte of it leaves.
    AnswerLost {
        /// The status that nobody sees.
        status: u16,
    },
    /// The client has the answer.
    Received {
        /// Its status.
        status: u16,
        /// Whether it is marked as a stored one.
        replayed: bool,
    },
    /// The client sees its connection end without an answer.
    NoAnswer,
    /// The call of the tool has ended, and the model is told.
    Ended(Told),
}

/// Who tells of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The harness.
    Client,
    /// The bug tracker.
    Server,
}

impl Event {
    /// Who tells of it.
    pub const fn side(&self) -> Side {
        match self {
            Self::Waited { .. } | Self::Sent { .. } | Self::Received { .. } | Self::NoAnswer | Self::Ended(_) => {
                Side::Client
            }
            Self::Arrived
            | Self::LookedUp { .. }
            | Self::Claimed { .. }
            | Self::Working
            | Self::LeaseLapsed { .. }
            | Self::Woke
            | Self::ReportInserted { .. }
            | Self::ReportCommitted { .. }
            | Self::KeyRegistered
            | Self::KeyTaken
            | Self::Committed
            | Self::CommittedUnfenced
            | Self::FencedOut
            | Self::Crashed
            | Self::Released
            | Self::Refused
            | Self::Answered { .. }
            | Self::AnswerLost { .. } => Side::Server,
        }
    }
}

/// What a look-up finds under a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    /// No such key.
    Nothing,
    /// Another request with it is under way.
    InProgress,
    /// The answer is recorded.
    Done,
}

/// What the model is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum Told {
    /// The report is filed.
    Created {
        /// Under this number.
        report_id: i64,
    },
    /// The server refused it.
    Refused {
        /// With this status.
        status: u16,
    },
    /// The report may have been filed.
    Unknown,
    /// Nothing was filed.
    NotApplied,
}

impl From<&FinalResult> for Told {
    fn from(result: &FinalResult) -> Self {
        match *result {
            FinalResult::Created { report_id } => Self::Created { report_id },
            FinalResult::Refused { status, .. } => Self::Refused { status },
            FinalResult::Unknown { .. } => Self::Unknown,
            FinalResult::NotApplied { .. } => Self::NotApplied,
        }
    }
}
