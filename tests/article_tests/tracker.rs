//! The example's bug tracker on a port of its own, and the article's report.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{Json, Router, extract::State, response::Response, routing::post};
use deadpool_sqlite::Pool;
use http::StatusCode;
use http_body_util::BodyExt;
pub(crate) use lab::harness::sample::{call, report, titled};
use lab::{
    app::Hold,
    bug_tracker::{
        app,
        problem::Problem,
        reports::{NewReport, Report, ReportId},
        table,
    },
    exchange::{self, Answer},
    faults::Faults,
    harness::{Harness, KeySource, Settings, Submission},
    wire::Server,
};
use serde_json::json;
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tower::Layer;
use tower_idempotency::{
    IdempotencyKey, IdempotencyLayer, SqliteStore,
    idempotency::Claim,
    store::{ClaimRequest, Claimed, Fingerprint, Store, Token},
};

/// The lease of the example.
const LEASE: Duration = Duration::from_secs(10);

pub(crate) struct Tracker {
    pub(crate) faults: Faults,
    server: Server,
    pool: Pool,
    _folder: TempDir,
}

impl Tracker {
    /// The example's.
    pub(crate) async fn start() -> Self {
        Self::with_faults(Faults::none()).await
    }

    /// The example's, with faults in front of it.
    pub(crate) async fn with_faults(faults: Faults) -> Self {
        let database = Database::open().await;
        let app = database.app();
        database.serve_behind(faults, app).await
    }

    pub(crate) fn harness(&self, source: KeySource) -> Harness {
        Harness::new(&self.server.address.into(), Settings::new(source))
    }

    /// The article's report, in the first call of the tool, under the key `run-042:toolu_01`.
    pub(crate) async fn submit(&self) -> Submission {
        self.harness(KeySource::ToolCall).submit(&report(), &call("toolu_01")).await
    }

    /// The same from a task of its own, by a harness whose attempts may last: a test that moves the clock decides when.
    pub(crate) fn start_submitting(&self) -> JoinHandle<Submission> {
        let patient = Settings::new(KeySource::ToolCall).attempt_timeout(Duration::from_secs(60 * 60));
        let harness = Harness::new(&self.server.address.into(), patient);
        tokio::spawn(async move { harness.submit(&report(), &call("toolu_01")).await })
    }

    /// The same by a client that tries once.
    pub(crate) async fn post_once(&self) -> Answer {
        self.server.send(exchange::post("run-042:toolu_01", json(&report()))).await
    }

    pub(crate) async fn reports(&self) -> Vec<Report> {
        table::read(&self.pool, table::all).await.unwrap()
    }
}

/// Reports and keys, for a server to come.
pub(crate) struct Database {
    pub(crate) pool: Pool,
    store: SqliteStore,
    folder: TempDir,
}

impl Database {
    pub(crate) async fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (pool, store) = table::open(&folder.path().join("bugs.db")).await.unwrap();
        Self { pool, store, folder }
    }

    pub(crate) fn layer(&self, lease: Duration) -> IdempotencyLayer<SqliteStore> {
        app::idempotency(self.store.clone(), lease)
    }

    /// The example's application.
    pub(crate) fn app(&self) -> Router {
        app::app(self.layer(LEASE), self.pool.clone(), Duration::ZERO)
    }

    /// The example's layer around a handler like the example's, with a witness where that one has a delay.
    pub(crate) fn witnessed(&self, lease: Duration, witness: &Witness) -> Router {
        Router::new().route("/reports", post(submit)).with_state(witness.clone()).layer(self.layer(lease))
    }

    /// Claims the key of the article's report for a process that dies then.
    pub(crate) async fn claimed_by_a_dead_process(&self, lease: Duration) -> Token {
        let (parts, body) = exchange::post("run-042:toolu_01", json(&report())).into_parts();
        let key = IdempotencyKey::parse("run-042:toolu_01").unwrap();
        let claim = ClaimRequest {
            key: self.layer(lease).scoped_key(&parts, &key).unwrap(),
            fingerprint: Fingerprint::json(&parts, &body.collect().await.unwrap().to_bytes()),
            lease,
            retention: Duration::from_secs(24 * 60 * 60),
        };
        match self.store.claim(&claim).await.unwrap() {
            Claimed::Acquired { token, .. } => token,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn serve(self, app: Router) -> Tracker {
        self.serve_behind(Faults::none(), app).await
    }

    async fn serve_behind(self, faults: Faults, app: Router) -> Tracker {
        let server = Server::start(faults.layer(app)).await;
        Tracker { server, faults, pool: self.pool, _folder: self.folder }
    }
}

/// Sees each claim that a handler gets, and holds the first one of a record.
#[derive(Clone)]
pub(crate) struct Witness {
    pub(crate) hold: Hold,
    claims: Arc<Mutex<Vec<(u64, u32)>>>,
}

impl Witness {
    pub(crate) fn new() -> Self {
        Self { hold: Hold::new(), claims: Arc::default() }
    }

    async fn sees(&self, claim: &Claim<SqliteStore>) {
        self.claims.lock().unwrap().push((claim.fence(), claim.attempt()));
        if claim.attempt() == 1 {
            self.hold.pass().await;
        }
    }

    /// Fence and attempt of each claim.
    pub(crate) fn claims(&self) -> Vec<(u64, u32)> {
        self.claims.lock().unwrap().clone()
    }
}

async fn submit(
    State(witness): State<Witness>,
    claim: Claim<SqliteStore>,
    report: NewReport,
) -> Result<Response, Problem> {
    witness.sees(&claim).await;
    claim
        .commit(move |tx| {
            let report_id = table::insert(tx, &report)?;
            Ok((StatusCode::CREATED, Json(ReportId { report_id })))
        })
        .await
}

/// The report as it is filed.
pub(crate) fn filed(id: i64) -> Report {
    let NewReport { run_id, module, title, steps } = report();
    Report { id, run_id, module, title, steps }
}

/// How each attempt ended, and whether its answer was a stored one.
pub(crate) fn ends(submission: &Submission) -> Vec<(String, bool)> {
    submission.attempts.iter().map(|attempt| (attempt.end.to_string(), attempt.replayed)).collect()
}

/// As [`ends`] says it.
pub(crate) fn first_hand(end: &str) -> (String, bool) {
    (end.to_owned(), false)
}

/// As [`ends`] says it.
pub(crate) fn replay(end: &str) -> (String, bool) {
    (end.to_owned(), true)
}

fn json(report: &NewReport) -> String {
    json!(report).to_string()
}
