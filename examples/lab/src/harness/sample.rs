//! One report to file, and calls of the tool that files it.

use super::ToolCall;
use crate::bug_tracker::reports::NewReport;

/// The report.
pub fn report() -> NewReport {
    let text = |text: &str| text.to_owned();
    NewReport {
        run_id: text("run-042"),
        module: text("cart"),
        title: text("Total is wrong"),
        steps: vec![text("add two items")],
    }
}

/// The report, under another title.
pub fn titled(title: &str) -> NewReport {
    NewReport { title: title.to_owned(), ..report() }
}

/// A call of the tool in the report's run.
pub fn call(tool_use_id: &str) -> ToolCall {
    ToolCall { run_id: "run-042".to_owned(), tool_use_id: tool_use_id.to_owned() }
}
