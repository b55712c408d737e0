//! What came of a submission, and what the model is told.

use std::fmt;

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body::Body;
use http_body_util::{BodyExt, Limited};
use serde::{Deserialize, Serialize};
use tower::BoxError;
use tower_idempotency::retry::{Outcome, RetryError, RetryInfo};

use super::{
    attempts::{Attempt, AttemptEnd, is_replay},
    client::LONGEST_ANSWER,
    key::KeySource,
};
use crate::causes::with_causes;

/// One call of the tool, from the first attempt to the tool result.
#[derive(Clone, Debug, Serialize)]
pub struct Submission {
    /// Where its key came from.
    pub key_source: KeySource,
    /// The one key of all attempts, if there is one.
    pub key: Option<String>,
    /// What was tried, in its order.
    pub attempts: Vec<Attempt>,
    /// What came of it.
    #[serde(flatten)]
    pub result: FinalResult,
}

/// What came of a submission.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum FinalResult {
    /// The report is filed.
    Created {
        /// Its number.
        report_id: i64,
    },
    /// The server refused the report, and nothing was filed.
    Refused {
        /// The status of its answer.
        status: u16,
        /// What it says is wrong.
        detail: String,
    },
    /// Nobody knows: ask the server before anything else.
    Unknown {
        /// What is known.
        reason: String,
    },
    /// No attempt came as far as the server: nothing was filed.
    NotApplied {
        /// Why.
        reason: String,
    },
}

impl Submission {
    /// Whether the tool result is marked as an error.
    pub fn is_error(&self) -> bool {
        !matches!(self.result, FinalResult::Created { .. })
    }

    /// The text of the tool result. Of an unknown result it never says that it failed: that would be asking the model to
    /// submit once more.
    pub fn tool_message(&self) -> String {
        match (&self.result, &self.key) {
            (FinalResult::Created { report_id }, _) if self.is_replayed() => {
                format!("Created: this is report {report_id}. It had been filed before; there is no second report.")
            }
            (FinalResult::Created { report_id }, _) => format!("Created: this is report {report_id}."),
            // A report with this key is, or was, under way: its business key may be all that the two have in common.
            (FinalResult::Refused { status: 422, detail }, Some(key)) => format!(
                "Refused with status 422, no report was created: the key {key} belongs to an earlier submission that \
                 differs from this one. Query the reports before you submit again. ({detail})"
            ),
            (FinalResult::Refused { status, detail }, _) => {
                format!("Refused with status {status}, no report was created. {detail}")
            }
            (FinalResult::Unknown { reason }, Some(key)) => format!(
                "Result unknown: the report may have been created. Query the reports before you submit it again. If it \
                 is not there, submit it again with the same key, {key}. ({reason})"
            ),
            (FinalResult::Unknown { reason }, None) => format!(
                "Result unknown: the report may have been created. Query the reports before you submit it again: \
                 under another key, or none, a second submission would be a second report. ({reason})"
            ),
            (FinalResult::NotApplied { reason }, _) => {
                format!("Not submitted, no report was created: it may be submitted again. ({reason})")
            }
        }
    }

    /// All of it, for JSON: with the tool result.
    pub fn with_tool_result(&self) -> impl Serialize + '_ {
        #[derive(Serialize)]
        struct WithToolResult<'a> {
            #[serde(flatten)]
            submission: &'a Submission,
            is_error: bool,
            tool_message: String,
        }
        WithToolResult { submission: self, is_error: self.is_error(), tool_message: self.tool_message() }
    }

    fn is_replayed(&self) -> bool {
        self.attempts.last().is_some_and(|attempt| attempt.replayed)
    }
}

impl FinalResult {
    pub(super) async fn of_answer<B>(answer: Response<B>) -> Self
    where
        B: Body<Data = Bytes, Error: Into<BoxError>>,
    {
        #[derive(Deserialize)]
        struct Filed {
            report_id: i64,
        }
        let outcome = outcome(&answer);
        let (head, body) = answer.into_parts();
        // One that cannot be read names no report and no detail.
        let limit = usize::try_from(LONGEST_ANSWER).expect("it fits");
        let body = Limited::new(body, limit).collect().await.map(|read| read.to_bytes()).unwrap_or_default();
        let status = head.status;
        match serde_json::from_slice(&body) {
            Ok(Filed { report_id }) if status.is_success() => Self::Created { report_id },
            _ if outcome == Outcome::NotApplied => {
                Self::Refused { status: status.as_u16(), detail: detail(status, &body) }
            }
            _ => Self::Unknown { reason: format!("The last answer was {status}.") },
        }
    }

    pub(super) fn of_error(error: &RetryError) -> Self {
        let last = match std::error::Error::source(error) {
            Some(source) => with_causes(source),
            None => error.info().stopped().to_string(),
        };
        let reason = format!("Attempt {}, the last one, failed: {last}.", error.info().attempts());
        match error.outcome() {
            Outcome::NotApplied => Self::NotApplied { reason },
            Outcome::Applied | Outcome::Unknown => Self::Unknown { reason },
        }
    }
}

/// The retry layer tells where it retried or refused to. An only answer tells by itself: 408 is an attempt that the server
/// waited for in vain, and a marked answer is that of an attempt that has ended.
fn outcome<B>(answer: &Response<B>) -> Outcome {
    match (answer.extensions().get::<RetryInfo>(), answer.status().as_u16()) {
        (Some(info), _) => info.outcome(),
        (None, ..400) => Outcome::Applied,
        (None, 408) => Outcome::Unknown,
        (None, 400..500) if !is_replay(answer.headers()) => Outcome::NotApplied,
        (None, _) => Outcome::Unknown,
    }
}

/// Of a problem its detail; of anything else the status.
fn detail(status: StatusCode, body: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Problem {
        detail: String,
    }
    match serde_json::from_slice(body) {
        Ok(Problem { detail }) => detail,
        Err(_) => format!("The server says: {status}."),
    }
}

/// For a terminal: each attempt, then what the model is told.
impl fmt::Display for Submission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "attempt       at     took  end        key")?;
        for Attempt { number, key, end, replayed, after, took } in &self.attempts {
            let (after, took) = (after.as_millis(), took.as_millis());
            let key = key.as_deref().unwrap_or("none");
            writeln!(f, "{number:>7} {after:>5} ms {took:>5} ms  {end:<9}  {key}")?;
            match end {
                AttemptEnd::Transport { error } => writeln!(f, "{:>27}{error}", "")?,
                AttemptEnd::Status { .. } if *replayed => writeln!(f, "{:>27}the stored answer, replayed", "")?,
                AttemptEnd::Status { .. } | AttemptEnd::Timeout => {}
            }
        }
        let mark = if self.is_error() { "tool result, an error" } else { "tool result" };
        write!(f, "{mark}: {}", self.tool_message())
    }
}
