//! The server that ignores keys.

use axum::{extract::State, response::Response};

use super::{
    app::Tracker,
    problem::Problem,
    reports::{NewReport, created},
    table,
};

/// Files a report, whatever was filed before.
pub async fn submit(State(tracker): State<Tracker>, report: NewReport) -> Result<Response, Problem> {
    tracker.replay_the_steps().await;
    let report_id = table::read(&tracker.pool, move |connection| table::insert(connection, &report)).await?;
    tracker.faults.crash()?;
    Ok(created(report_id))
}
