//! The rows that wait to be sent, in the database of the reports.

use bytes::Bytes;
use rusqlite::{Connection, OptionalExtension};
use tower_idempotency::IdempotencyKey;

use crate::{bug_tracker::reports::NewReport, notifications::Notification};

// The key is not unique: one that its client uses again after the retention names a new report, and that has a row too.
const SCHEMA: &str = "CREATE TABLE IF NOT EXISTS outbox (
    id     INTEGER PRIMARY KEY,
    key    TEXT NOT NULL,
    body   BLOB NOT NULL,  -- as it is sent: a repeat is recognised by its bytes
    answer INTEGER         -- the status that settled it; NULL: it waits
) STRICT;
CREATE INDEX IF NOT EXISTS outbox_waiting ON outbox (id) WHERE answer IS NULL";

/// A row that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Rises in the order of the commits.
    pub id: i64,
    /// The same at every attempt to send it.
    pub key: IdempotencyKey,
    /// What is sent.
    pub body: Bytes,
}

/// Makes the table where it is missing.
pub fn create(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(SCHEMA)
}

/// Adds the notification of a report; in the transaction that files it.
pub fn add(connection: &Connection, key: &IdempotencyKey, report_id: i64, report: &NewReport) -> rusqlite::Result<()> {
    let body = body(report_id, report);
    connection.prepare_cached("INSERT INTO outbox (key, body) VALUES (?1, ?2)")?.execute((key.as_str(), body)).map(drop)
}

/// What is sent of a report.
pub fn body(report_id: i64, report: &NewReport) -> Vec<u8> {
    let NewReport { run_id, module, title, .. } = report.clone();
    serde_json::to_vec(&Notification { report_id, run_id, module, title }).expect("plain data")
}

/// The oldest row that waits.
pub fn next(connection: &Connection) -> rusqlite::Result<Option<Row>> {
    let mut query =
        connection.prepare_cached("SELECT id, key, body FROM outbox WHERE answer IS NULL ORDER BY id LIMIT 1")?;
    let row = query.query_row((), |row| {
        let (key, body): (String, Vec<u8>) = (row.get("key")?, row.get("body")?);
        let key = IdempotencyKey::parse(&key).expect("written by add");
        Ok(Row { id: row.get("id")?, key, body: body.into() })
    });
    row.optional()
}

/// Records the answer to a row. The first one stays: another worker may have got the same.
pub fn settle(connection: &Connection, id: i64, answer: u16) -> rusqlite::Result<()> {
    connection
        .prepare_cached("UPDATE outbox SET answer = ?2 WHERE id = ?1 AND answer IS NULL")?
        .execute((id, answer))
        .map(drop)
}
