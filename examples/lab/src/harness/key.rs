//! Where the key of a submission comes from.

use std::fmt;

use bytes::Bytes;
use clap::ValueEnum;
use http::Request;
use http_body_util::Full;
use serde::Serialize;
use tower_idempotency::{
    IdempotencyKey,
    key::{IDEMPOTENCY_KEY, normalize_title},
};

use crate::bug_tracker::reports::NewReport;

/// The four sources of the article, and what each recognises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum KeySource {
    /// No key: sent again all the same, and nothing is recognised
    None,
    /// A new key for each attempt: the wrong way, nothing is recognised
    PerAttempt,
    /// The run and the tool call: recognises what the harness sends again, not what the model submits again
    ToolCall,
    /// The run, the module and the title: recognises what the model submits again too, unless it rewords the title
    Business,
}

/// One call of the tool by a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToolCall {
    /// The run of the evaluation.
    pub run_id: String,
    /// What the model's API calls this call.
    pub tool_use_id: String,
}

impl KeySource {
    /// All of them, the worst first.
    pub const ALL: [Self; 4] = [Self::None, Self::PerAttempt, Self::ToolCall, Self::Business];

    /// The one key of all attempts, if there is one.
    pub fn key(self, report: &NewReport, call: &ToolCall) -> Option<IdempotencyKey> {
        match self {
            Self::None | Self::PerAttempt => None,
            Self::ToolCall => Some(IdempotencyKey::for_tool_call(&call.run_id, &call.tool_use_id)),
            // Not the steps: a model that submits the same bug again seldom writes them down alike.
            Self::Business => {
                let title = normalize_title(&report.title);
                Some(IdempotencyKey::from_content([&report.run_id, &report.module, &title]))
            }
        }
    }
}

/// As the article names it.
impl fmt::Display for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::None => "none",
            Self::PerAttempt => "per_attempt",
            Self::ToolCall => "tool_call",
            Self::Business => "business",
        })
    }
}

/// Below the retry layer this names each attempt as an operation of its own.
pub(super) fn with_a_new_key(mut request: Request<Full<Bytes>>) -> Request<Full<Bytes>> {
    request.headers_mut().insert(IDEMPOTENCY_KEY, IdempotencyKey::random().to_header_value());
    request
}
