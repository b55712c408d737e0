//! The handlers.

use axum::{
    Json,
    extract::{FromRequest, Path, Request, State},
    response::{IntoResponse, Response},
};
use http::{StatusCode, header};
use serde::{Deserialize, Serialize};
use tower_idempotency::idempotency::Claim;

use super::{app::Tracker, backend::Backend, json, problem::Problem};
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

impl Report {
    /// Whether it says what this new one says.
    pub fn is(&self, new: &NewReport) -> bool {
        let NewReport { run_id, module, title, steps } = new;
        (&self.run_id, &self.module, &self.title, &self.steps) == (run_id, module, title, steps)
    }
}

/// What the client of a filed report is told.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ReportId {
    /// The number of the report.
    pub report_id: i64,
}

/// Files a report: replays its steps, then writes it as the backend does.
pub async fn submit<B: Backend>(
    State(tracker): State<Tracker<B>>,
    watch: Watch,
    claim: Claim<B::Store>,
    report: NewReport,
) -> Result<Response, Problem> {
    watch.saw(Event::Claimed { fence: claim.fence(), run: claim.attempt() });
    // The slow part: no lock is held, and the layer renews the claim meanwhile.
    tracker.replay_the_steps(&watch).await;
    tracker.crash(&watch)?;
    tracker.backend.file(claim, report, watch).await
}

/// The answer to a report that is filed.
pub fn created(report_id: i64) -> Response {
    answer(report_id, ReportId { report_id })
}

/// The same where "this key is done" is another commit.
pub fn created_in_two_steps(report_id: i64) -> Response {
    #[derive(Serialize)]
    struct InTwoSteps {
        report_id: i64,
        atomic: bool,
    }
    answer(report_id, InTwoSteps { report_id, atomic: false })
}

fn answer(report_id: i64, told: impl Serialize) -> Response {
    let location = [(header::LOCATION, format!("/reports/{report_id}"))];
    (StatusCode::CREATED, location, Json(told)).into_response()
}

/// All reports, the oldest first.
pub async fn list<B: Backend>(State(tracker): State<Tracker<B>>) -> Result<Json<Vec<Report>>, Problem> {
    tracker.backend.reports().all().await.map(Json)
}

/// One report.
pub async fn one<B: Backend>(
    State(tracker): State<Tracker<B>>,
    Path(id): Path<String>,
) -> Result<Json<Report>, Problem> {
    let no_such_report = || Problem::not_found(format!("There is no report {id}."));
    let number = id.parse().map_err(|_| no_such_report())?;
    let found = tracker.backend.reports().find(number).await?;
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
