//! The handlers.

use axum::{
    Json,
    extract::{FromRequest, Path, Request, State},
    response::{IntoResponse, Response},
};
use http::{StatusCode, header};
use serde::{Deserialize, Serialize};
use tower_idempotency::{SqliteStore, idempotency::Claim};

use super::{app::Tracker, json, outbox, problem::Problem, table};
use crate::watch::{Event, Watch};

/// The most characters of a title.
pub const LONGEST_TITLE: usize = 80;

/// A report as a client files it.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct NewReport {
    /// The test run that found the bug.
    pub run_id: String,
    /// The module it is in.
    pub module: String,
    /// 1 to 80 characters; spaces at both ends do not count.
    pub title: String,
    /// How to reproduce it.
    pub steps: Vec<String>,
}

/// A report that is filed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "named as in a new report")]
pub struct Report {
    pub id: i64,
    pub run_id: String,
    pub module: String,
    pub title: String,
    pub steps: Vec<String>,
}

/// What the client of a filed report is told.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ReportId {
    /// The number of the report.
    pub report_id: i64,
}

/// Files a report: replays its steps, then commits the row together with its notification in the outbox and "this
/// key is done".
pub async fn submit(
    State(tracker): State<Tracker>,
    watch: Watch,
    claim: Claim<SqliteStore>,
    report: NewReport,
) -> Result<Response, Problem> {
    watch.saw(Event::Claimed { fence: claim.fence(), run: claim.attempt() });
    // The slow part: no lock is held, and the layer renews the claim meanwhile.
    tracker.replay_the_steps(&watch).await;
    tracker.crash(&watch)?;
    let watching = watch.clone();
    let notify = claim.child_key("notify");
    let filed = claim
        .commit(move |tx| {
            let report_id = table::insert(tx, &report)?;
            outbox::table::add(tx, &notify, report_id, &report)?;
            watching.saw(Event::ReportInserted { report_id });
            Ok(created(report_id))
        })
        .await;
    filed.inspect(|_| watch.saw(Event::Committed))
}

/// The answer to a report that is filed.
pub(super) fn created(report_id: i64) -> Response {
    let location = [(header::LOCATION, format!("/reports/{report_id}"))];
    (StatusCode::CREATED, location, Json(ReportId { report_id })).into_response()
}

/// All reports, the oldest first.
pub async fn list(State(tracker): State<Tracker>) -> Result<Json<Vec<Report>>, Problem> {
    table::read(&tracker.pool, table::all).await.map(Json)
}

/// One report.
pub async fn one(State(tracker): State<Tracker>, Path(id): Path<String>) -> Result<Json<Report>, Problem> {
    let no_such_report = || Problem::not_found(format!("There is no report {id}."));
    let number = id.parse().map_err(|_| no_such_report())?;
    let found = table::read(&tracker.pool, move |connection| table::find(connection, number)).await?;
    found.map(Json).ok_or_else(no_such_report)
}

impl<S: Send + Sync> FromRequest<S> for NewReport {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let mut report: Self = json::read_object(request, state).await?;
        report.title = report.title.trim().to_owned();
        match report.title.chars().count() {
            1..=LONGEST_TITLE => Ok(report),
            length => {
                let detail = format!("A title has 1 to {LONGEST_TITLE} characters; this one has {length}.");
                Err(Problem::bad_request(detail))
            }
        }
    }
}
