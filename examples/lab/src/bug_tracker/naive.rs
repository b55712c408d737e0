//! The server that ignores keys.

use axum::{extract::State, response::Response};

use super::{
    app::Tracker,
    problem::Problem,
    reports::{NewReport, created},
    table,
};
use crate::watch::{Event, Watch};

/// Files a report, whatever was filed before.
pub async fn submit(State(tracker): State<Tracker>, watch: Watch, report: NewReport) -> Result<Response, Problem> {
    tracker.replay_the_steps(&watch).await;
    let report_id = table::read(&tracker.backend.pool, move |connection| table::insert(connection, &report)).await?;
    watch.saw(Event::ReportCommitted { report_id });
    tracker.crash(&watch)?;
    Ok(created(report_id))
}
