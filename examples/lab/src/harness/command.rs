//! One report from a terminal.

use std::time::Duration;

use super::{BaseUrl, Harness, KeySource, Settings, Submission, ToolCall};
use crate::bug_tracker::reports::NewReport;

/// Files one report as the harness of an agent does, and prints each attempt and what the model is told.
#[derive(Clone, Debug, clap::Args)]
pub struct Submit {
    /// Where the bug tracker listens
    #[arg(long, default_value = "http://127.0.0.1:3000")]
    pub url: BaseUrl,

    /// Where the idempotency key comes from
    #[arg(long, value_enum, default_value_t = KeySource::ToolCall)]
    pub key_source: KeySource,

    /// The run of the evaluation
    #[arg(long, default_value = "run-042")]
    pub run_id: String,

    /// The call of the tool; a model that submits again makes another one
    #[arg(long, default_value = "toolu_01")]
    pub tool_use_id: String,

    /// The module that the bug is in
    #[arg(long, default_value = "cart")]
    pub module: String,

    /// What is wrong
    #[arg(long, default_value = "Total is wrong")]
    pub title: String,

    /// How to reproduce it; once for each step
    #[arg(long = "step", default_value = "add two items")]
    pub steps: Vec<String>,

    /// How long to wait for the answer to one attempt
    #[arg(long, default_value = "2s", value_parser = humantime::parse_duration)]
    pub timeout: Duration,

    /// Makes the waits between attempts the same each time
    #[arg(long)]
    pub seed: Option<u64>,

    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

impl Submit {
    /// Files the report.
    pub async fn submit(&self) -> Submission {
        let settings = Settings::new(self.key_source).attempt_timeout(self.timeout);
        let settings = match self.seed {
            Some(seed) => settings.seed(seed),
            None => settings,
        };
        let call = ToolCall { run_id: self.run_id.clone(), tool_use_id: self.tool_use_id.clone() };
        let report = NewReport {
            run_id: self.run_id.clone(),
            module: self.module.clone(),
            title: self.title.clone(),
            steps: self.steps.clone(),
        };
        Harness::new(&self.url, settings).submit(&report, &call).await
    }

    /// What is printed of it.
    pub fn render(&self, submission: &Submission) -> String {
        if self.json {
            serde_json::to_string_pretty(&submission.with_tool_result()).expect("plain data")
        } else {
            submission.to_string()
        }
    }
}
