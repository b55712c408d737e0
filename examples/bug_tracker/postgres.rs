//! Reports, keys and the outbox in one Postgres database: a report, its notification and "this key is done" are one
//! transaction. The outbox shows that; the worker that delivers reads SQLite's only.

use std::{sync::Arc, time::Duration};

use axum::response::Response;
use futures_util::{FutureExt, future::BoxFuture};
use lab::{
    bug_tracker::{
        Options, Server, StartError,
        backend::{Address, Backend, Latest, Opened, ReportTable, Url},
        outbox,
        problem::Problem,
        reports::{NewReport, Report, created},
    },
    watch::{Event, Watch},
};
use tower::BoxError;
use tower_idempotency::{
    PostgresStore,
    idempotency::Claim,
    store::postgres::sqlx::{
        self, Connection, PgConnection, PgPool, Row,
        postgres::{PgConnectOptions, PgPoolOptions, PgRow},
    },
};

/// Several processes may run it at once: `CREATE … IF NOT EXISTS` alone fails for one that comes second.
const SCHEMA: &str = "
BEGIN;
SELECT pg_advisory_xact_lock(7024183905512);
CREATE SCHEMA IF NOT EXISTS bug_tracker;
CREATE TABLE IF NOT EXISTS bug_tracker.reports (
    id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_id text NOT NULL,
    module text NOT NULL,
    title  text NOT NULL,
    steps  text NOT NULL -- a JSON array of strings
);
CREATE TABLE IF NOT EXISTS bug_tracker.outbox (
    id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key    text NOT NULL,
    body   bytea NOT NULL,
    answer integer
);
COMMIT";

/// For a connection, at the start and later.
const PATIENCE: Duration = Duration::from_secs(5);

/// Opens the store, and listens.
pub(crate) async fn start(options: &Options, url: &Url) -> Result<Server, StartError> {
    let opening = async {
        let failed = |source| StartError::Store { store: Address::Postgres(url.clone()), source };
        open(url).await.map_err(failed)
    };
    Server::start_on(options, opening).await
}

async fn open(url: &Url) -> Result<Opened<Postgres>, BoxError> {
    // What cannot be read may be part of a password: its error is not shown.
    let read = url.reveal().parse::<PgConnectOptions>();
    let server =
        read.map_err(|_| "it cannot be read: postgres://USER:PASSWORD@HOST:PORT/DATABASE, with %40 for an @")?;
    // A pool says "timed out" of a server that is not there; one connection says why.
    let connecting = tokio::time::timeout(PATIENCE, PgConnection::connect_with(&server)).await;
    let mut connection = connecting.map_err(|_| "the server does not answer")??;
    sqlx::raw_sql(SCHEMA).execute(&mut connection).await?;
    connection.close().await?;
    let pool = PgPoolOptions::new().max_connections(16).acquire_timeout(PATIENCE).connect_lazy_with(server);
    let store = PostgresStore::new(pool.clone());
    store.migrate().await?;
    let kept = vec![format!("reports and keys are kept in {url}")];
    Ok(Opened { store, backend: Postgres { pool }, kept })
}

/// The reports of one database.
#[derive(Clone, Debug)]
struct Postgres {
    pool: PgPool,
}

impl Backend for Postgres {
    type Store = PostgresStore;

    async fn file(&self, claim: Claim<PostgresStore>, report: NewReport, watch: Watch) -> Result<Response, Problem> {
        let mut tx = claim.begin().await?;
        let insert =
            "INSERT INTO bug_tracker.reports (run_id, module, title, steps) VALUES ($1, $2, $3, $4) RETURNING id";
        let steps = serde_json::to_string(&report.steps).expect("strings are JSON");
        let insert =
            sqlx::query_scalar(insert).bind(&report.run_id).bind(&report.module).bind(&report.title).bind(steps);
        let report_id: i64 = insert.fetch_one(&mut *tx).await.map_err(failed)?;
        let notify = claim.child_key("notify");
        sqlx::query("INSERT INTO bug_tracker.outbox (key, body) VALUES ($1, $2)")
            .bind(notify.as_str())
            .bind(outbox::table::body(report_id, &report))
            .execute(&mut *tx)
            .await
            .map_err(failed)?;
        watch.saw(Event::ReportInserted { report_id });
        let committed = tx.complete(created(report_id)).await?;
        watch.saw(Event::Committed);
        Ok(committed)
    }

    fn reports(&self) -> Arc<dyn ReportTable> {
        Arc::new(self.clone())
    }
}

impl ReportTable for Postgres {
    fn all(&self) -> BoxFuture<'_, Result<Vec<Report>, Problem>> {
        async {
            let rows = sqlx::query("SELECT id, run_id, module, title, steps FROM bug_tracker.reports ORDER BY id");
            read(&rows.fetch_all(&self.pool).await.map_err(failed)?)
        }
        .boxed()
    }

    fn find(&self, id: i64) -> BoxFuture<'_, Result<Option<Report>, Problem>> {
        async move {
            let row = sqlx::query("SELECT id, run_id, module, title, steps FROM bug_tracker.reports WHERE id = $1");
            let row = row.bind(id).fetch_optional(&self.pool).await.map_err(failed)?;
            row.as_ref().map(report).transpose().map_err(failed)
        }
        .boxed()
    }

    fn latest(&self, most: u32) -> BoxFuture<'_, Result<Latest, Problem>> {
        async move {
            // One statement, one snapshot.
            let query = "SELECT id, run_id, module, title, steps, (SELECT count(*) FROM bug_tracker.reports) AS total
                FROM bug_tracker.reports ORDER BY id DESC LIMIT $1";
            let rows = sqlx::query(query).bind(i64::from(most)).fetch_all(&self.pool).await.map_err(failed)?;
            let total = rows.first().map(|row| row.try_get("total")).transpose().map_err(failed)?.unwrap_or_default();
            Ok(Latest { reports: read(&rows)?, total, mark: total })
        }
        .boxed()
    }

    /// Not the highest number: a lower one may be committed after it.
    fn mark(&self) -> BoxFuture<'_, Result<i64, Problem>> {
        async {
            let count = sqlx::query_scalar("SELECT count(*) FROM bug_tracker.reports");
            count.fetch_one(&self.pool).await.map_err(failed)
        }
        .boxed()
    }
}

fn read(rows: &[PgRow]) -> Result<Vec<Report>, Problem> {
    rows.iter().map(report).collect::<Result<_, _>>().map_err(failed)
}

fn report(row: &PgRow) -> sqlx::Result<Report> {
    let steps: &str = row.try_get("steps")?;
    Ok(Report {
        id: row.try_get("id")?,
        run_id: row.try_get("run_id")?,
        module: row.try_get("module")?,
        title: row.try_get("title")?,
        steps: serde_json::from_str(steps).expect("written by file"),
    })
}

#[expect(clippy::needless_pass_by_value, reason = "as map_err hands it over")]
fn failed(error: sqlx::Error) -> Problem {
    Problem::unavailable(&error)
}
