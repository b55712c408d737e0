//! Steps as lines to compare: what is no time and no random key.

use lab::{
    bug_tracker::Implementation,
    fault_matrix::{Row, Scene},
    harness::KeySource,
    steps::{Choice, Played, Step, play, rows::Change},
    watch::Event,
};
use serde_json::Value;

pub(crate) fn cell(implementation: Implementation, key_source: KeySource, scene: Scene) -> Choice {
    Choice::Cell { row: Row::new(implementation, key_source), scene }
}

pub(crate) async fn played(choice: Choice) -> Played {
    let folder = tempfile::tempdir().unwrap();
    play(choice, folder.path()).await.unwrap()
}

/// `1-2 received 201 replayed; keys: done 1`, with the rows that the step has changed.
pub(crate) fn lines(played: &Played) -> Vec<String> {
    played.steps.iter().map(line).collect()
}

fn line(step: &Step) -> String {
    let event = serde_json::to_value(&step.event).unwrap();
    let kind = event["kind"].as_str().unwrap();
    let detail = match &step.event {
        Event::LookedUp { .. } => format!(" {}", text(&event["found"])),
        Event::Claimed { fence, run } => format!(" fence {fence} run {run}"),
        Event::ReportInserted { report_id } | Event::ReportCommitted { report_id } => format!(" {report_id}"),
        Event::Answered { status, replayed, .. } | Event::Received { status, replayed } => {
            format!(" {status}{}", if *replayed { " replayed" } else { "" })
        }
        Event::AnswerLost { status } => format!(" {status}"),
        Event::Ended(_) => [&event["result"], &event["report_id"], &event["status"]].map(text).join(" "),
        _ => String::new(),
    };
    let reports = step.reports.iter().filter_map(|row| Some(format!("{} {}", sign(row.change?), row.row.id)));
    let keys = step.keys.iter().filter_map(|row| {
        let fence = row.row.fence.map(|fence| format!(" fence {fence}")).unwrap_or_default();
        Some(format!("{} {}{fence}", sign(row.change?), text(&serde_json::to_value(row.row.status).unwrap())))
    });
    let changed = |name: &str, rows: Vec<String>| match rows.len() {
        0 => String::new(),
        _ => format!("; {name}: {}", rows.join(", ")),
    };
    let kind = if let Event::Ended(_) = step.event { "ended " } else { kind };
    let line = format!("{} {kind}{detail}", step.request);
    format!("{}{}{}", line.trim_end(), changed("reports", reports.collect()), changed("keys", keys.collect()))
}

fn sign(change: Change) -> char {
    match change {
        Change::New => '+',
        Change::Changed => '~',
        Change::Gone => '-',
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
