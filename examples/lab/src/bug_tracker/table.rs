//! The table of reports, in the database that holds the keys too.

use std::path::Path;

use deadpool_sqlite::{Config, Hook, HookError, InteractError, Pool, PoolError, Runtime};
use rusqlite::{Connection, OptionalExtension, Row};
use tower::BoxError;
use tower_idempotency::SqliteStore;

use super::{
    key_split, outbox,
    problem::Problem,
    reports::{NewReport, Report},
};

const SCHEMA: &str = "CREATE TABLE IF NOT EXISTS reports (
    id     INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL,
    module TEXT NOT NULL,
    title  TEXT NOT NULL,
    steps  TEXT NOT NULL -- a JSON array of strings
) STRICT";

/// Opens the file for reports and keys: the store of keys takes its connections from the application's own pool.
pub async fn open(db: &Path) -> Result<(Pool, SqliteStore), BoxError> {
    let pool = pool(db)?;
    let store = SqliteStore::with_pool(pool.clone()).await?;
    make(&pool).await?;
    Ok((pool, store))
}

/// Opens the file for reports whose keys are elsewhere.
pub async fn open_reports(db: &Path) -> Result<Pool, BoxError> {
    let pool = pool(db)?;
    make(&pool).await?;
    Ok(pool)
}

fn pool(db: &Path) -> Result<Pool, BoxError> {
    if db.is_dir() {
        return Err("it is a directory".into());
    }
    if let Some(folder) = db.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir()) {
        return Err(format!("there is no folder {}", folder.display()).into());
    }
    let set_up_new_connections = Hook::async_fn(|connection, _| {
        Box::pin(async move {
            let done = connection.interact(|connection| set_up(connection)).await;
            done.map_err(|error| HookError::message(error.to_string()))?.map_err(HookError::Backend)
        })
    });
    Ok(Config::new(db).builder(Runtime::Tokio1)?.post_create(set_up_new_connections).build()?)
}

async fn make(pool: &Pool) -> Result<(), BoxError> {
    let made = pool.get().await?.interact(|connection| create(connection)).await;
    Ok(made.map_err(|error| error.to_string())??)
}

/// Makes the tables where they are missing.
pub fn create(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(SCHEMA)?;
    key_split::create(connection)?;
    outbox::table::create(connection)
}

fn set_up(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 5000; PRAGMA foreign_keys = ON;",
    )
}

/// Runs a query on a connection of the pool.
pub async fn read<T, F>(pool: &Pool, query: F) -> Result<T, Problem>
where
    T: Send + 'static,
    F: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
{
    let connection = pool.get().await.map_err(|error: PoolError| Problem::unavailable(&error))?;
    let found = connection.interact(|connection| query(connection)).await;
    Ok(found.map_err(|error: InteractError| Problem::unavailable(&error))??)
}

/// Writes a report and returns its number.
pub fn insert(connection: &Connection, report: &NewReport) -> rusqlite::Result<i64> {
    let steps = serde_json::to_string(&report.steps).expect("strings are JSON");
    connection.prepare_cached("INSERT INTO reports (run_id, module, title, steps) VALUES (?1, ?2, ?3, ?4)")?.insert((
        &report.run_id,
        &report.module,
        &report.title,
        &steps,
    ))
}

/// All reports, the oldest first.
pub fn all(connection: &Connection) -> rusqlite::Result<Vec<Report>> {
    let mut query = connection.prepare_cached("SELECT id, run_id, module, title, steps FROM reports ORDER BY id")?;
    query.query_map((), report)?.collect()
}

/// The newest reports, the newest first.
pub fn latest(connection: &Connection, most: u32) -> rusqlite::Result<Vec<Report>> {
    let mut query =
        connection.prepare_cached("SELECT id, run_id, module, title, steps FROM reports ORDER BY id DESC LIMIT ?1")?;
    query.query_map([most], report)?.collect()
}

/// How many reports there are.
pub fn count(connection: &Connection) -> rusqlite::Result<i64> {
    connection.prepare_cached("SELECT count(*) FROM reports")?.query_row((), |row| row.get(0))
}

/// The number of the newest report, if there is one.
pub fn newest(connection: &Connection) -> rusqlite::Result<Option<i64>> {
    connection.prepare_cached("SELECT max(id) FROM reports")?.query_row((), |row| row.get(0))
}

/// One report.
pub fn find(connection: &Connection, id: i64) -> rusqlite::Result<Option<Report>> {
    let mut query = connection.prepare_cached("SELECT id, run_id, module, title, steps FROM reports WHERE id = ?1")?;
    query.query_row([id], report).optional()
}

fn report(row: &Row<'_>) -> rusqlite::Result<Report> {
    let steps: String = row.get("steps")?;
    Ok(Report {
        id: row.get("id")?,
        run_id: row.get("run_id")?,
        module: row.get("module")?,
        title: row.get("title")?,
        steps: serde_json::from_str(&steps).expect("written by insert"),
    })
}
