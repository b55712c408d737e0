//! The server that knows keys, and keeps them wrongly: it commits the report, and then the key.
//!
//! A crash between the two commits leaves a report whose key is unknown. Two requests that look the key up before either
//! registers it each file a report.

use axum::{extract::State, response::Response};
use http::{HeaderMap, HeaderValue};
use rusqlite::{Connection, ErrorCode, OptionalExtension};
use tower_idempotency::{
    IdempotencyKey,
    key::{IDEMPOTENCY_KEY, IDEMPOTENCY_REPLAYED, KeySyntax},
};

use super::{
    app::Tracker,
    problem::Problem,
    reports::{NewReport, created},
    table,
};
use crate::watch::{Event, Found, Watch};

const SCHEMA: &str = "CREATE TABLE IF NOT EXISTS split_keys (key TEXT PRIMARY KEY, report_id INTEGER NOT NULL) STRICT";

/// Looks the key up; files the report; registers the key.
pub async fn submit(
    State(tracker): State<Tracker>,
    watch: Watch,
    headers: HeaderMap,
    report: NewReport,
) -> Result<Response, Problem> {
    let key = key(&headers)?;
    let wanted = key.clone();
    let found = table::read(&tracker.backend.pool, move |connection| find(connection, &wanted)).await?;
    watch.saw(Event::LookedUp { found: if found.is_some() { Found::Done } else { Found::Nothing } });
    if let Some(report_id) = found {
        return Ok(replayed(report_id, "true"));
    }
    tracker.replay_the_steps(&watch).await;
    let report_id = table::read(&tracker.backend.pool, move |connection| table::insert(connection, &report)).await?;
    watch.saw(Event::ReportCommitted { report_id });
    tracker.crash(&watch)?;
    match table::read(&tracker.backend.pool, move |connection| register(connection, &key, report_id)).await? {
        Registered::Yes => {
            watch.saw(Event::KeyRegistered);
            Ok(replayed(report_id, "false"))
        }
        Registered::AnotherCameFirst => {
            watch.saw(Event::KeyTaken);
            Err(Problem::key_taken())
        }
    }
}

/// Makes the table of keys where it is missing.
pub fn create(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(SCHEMA)
}

fn key(headers: &HeaderMap) -> Result<IdempotencyKey, Problem> {
    let longest = IdempotencyKey::DEFAULT_MAX_LEN;
    let key = IdempotencyKey::from_headers(headers, &IDEMPOTENCY_KEY, KeySyntax::Lenient, longest);
    key.map_err(|error| Problem::bad_request(format!("No key: {error}.")))?
        .ok_or_else(|| Problem::bad_request("A report is filed under an Idempotency-Key."))
}

fn find(connection: &Connection, key: &IdempotencyKey) -> rusqlite::Result<Option<i64>> {
    let mut query = connection.prepare_cached("SELECT report_id FROM split_keys WHERE key = ?1")?;
    query.query_row([key.as_str()], |row| row.get(0)).optional()
}

enum Registered {
    Yes,
    /// And its report stands beside ours.
    AnotherCameFirst,
}

fn register(connection: &Connection, key: &IdempotencyKey, report_id: i64) -> rusqlite::Result<Registered> {
    let mut insert = connection.prepare_cached("INSERT INTO split_keys (key, report_id) VALUES (?1, ?2)")?;
    match insert.execute((key.as_str(), report_id)) {
        Ok(_) => Ok(Registered::Yes),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
            Ok(Registered::AnotherCameFirst)
        }
        Err(error) => Err(error),
    }
}

fn replayed(report_id: i64, mark: &'static str) -> Response {
    let mut response = created(report_id);
    response.headers_mut().insert(IDEMPOTENCY_REPLAYED, HeaderValue::from_static(mark));
    response
}
