//! A bug tracker on a port of its own, faults in front of it, and one report to file.

use std::{path::Path, time::Duration};

use axum::{Json, Router, extract::State, routing::post};
use deadpool_sqlite::Pool;
use http::StatusCode;
pub(crate) use lab::harness::sample::{call, report, titled};
use lab::{
    bug_tracker::{
        app,
        problem::Problem,
        reports::{NewReport, ReportId},
        table,
    },
    faults::Faults,
    harness::{BaseUrl, FinalResult, Harness, KeySource, Settings, Submission},
    wire::Server,
};
use tempfile::TempDir;
use tower::Layer;

pub(crate) struct Tracker {
    pub(crate) faults: Faults,
    server: Server,
    pool: Pool,
    _folder: TempDir,
}

impl Tracker {
    /// The example's.
    pub(crate) async fn start(faults: Faults) -> Self {
        Self::with_delay(faults, Duration::ZERO).await
    }

    /// The example's, which takes so long for a report.
    pub(crate) async fn with_delay(faults: Faults, delay: Duration) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (pool, store) = table::open(&database(folder.path())).await.unwrap();
        let app = app::app(app::idempotency(store, Duration::from_secs(10)), pool.clone(), delay);
        Self { server: Server::start(faults.layer(app)).await, faults, pool, _folder: folder }
    }

    /// One that knows of no keys.
    pub(crate) async fn naive(faults: Faults) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (pool, _) = table::open(&database(folder.path())).await.unwrap();
        let app = Router::new().route("/reports", post(file_unguarded)).with_state(pool.clone());
        Self { server: Server::start(faults.layer(app)).await, faults, pool, _folder: folder }
    }

    pub(crate) fn url(&self) -> BaseUrl {
        self.server.address.into()
    }

    pub(crate) fn harness(&self, source: KeySource) -> Harness {
        self.harness_with(Settings::new(source))
    }

    pub(crate) fn harness_with(&self, settings: Settings) -> Harness {
        Harness::new(&self.url(), settings)
    }

    /// The report, in the first call of the tool.
    pub(crate) async fn submit(&self, source: KeySource) -> Submission {
        self.harness(source).submit(&report(), &call("toolu_01")).await
    }

    /// How many reports are filed.
    pub(crate) async fn reports(&self) -> usize {
        table::read(&self.pool, table::all).await.unwrap().len()
    }
}

async fn file_unguarded(State(pool): State<Pool>, report: NewReport) -> Result<(StatusCode, Json<ReportId>), Problem> {
    let report_id = table::read(&pool, move |connection| table::insert(connection, &report)).await?;
    Ok((StatusCode::CREATED, Json(ReportId { report_id })))
}

fn database(folder: &Path) -> std::path::PathBuf {
    folder.join("bugs.db")
}

pub(crate) fn created(report_id: i64) -> FinalResult {
    FinalResult::Created { report_id }
}

/// How each attempt ended.
pub(crate) fn ends(submission: &Submission) -> Vec<String> {
    submission.attempts.iter().map(|attempt| attempt.end.to_string()).collect()
}

/// The key of each attempt.
pub(crate) fn keys(submission: &Submission) -> Vec<Option<&str>> {
    submission.attempts.iter().map(|attempt| attempt.key.as_deref()).collect()
}

/// Whether the answer to each attempt was a stored one.
pub(crate) fn replays(submission: &Submission) -> Vec<bool> {
    submission.attempts.iter().map(|attempt| attempt.replayed).collect()
}
