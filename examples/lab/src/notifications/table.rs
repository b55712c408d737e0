//! The table of notifications, in the database that holds the keys too.

use std::path::Path;

use rusqlite::{Connection, Row};
use serde::{Deserialize, Serialize};
use tower_idempotency::{SqliteStore, store::sqlite::OpenError};

const SCHEMA: &str = "CREATE TABLE IF NOT EXISTS notifications (
    id        INTEGER PRIMARY KEY,
    report_id INTEGER NOT NULL,
    run_id    TEXT NOT NULL,
    module    TEXT NOT NULL,
    title     TEXT NOT NULL
) STRICT";

/// Says that a report was filed.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Notification {
    /// The number that the bug tracker gave it.
    pub report_id: i64,
    /// The test run that found the bug.
    pub run_id: String,
    /// The module it is in.
    pub module: String,
    /// What is wrong.
    pub title: String,
}

/// Opens the file for notifications and keys.
pub async fn open(db: &Path) -> Result<SqliteStore, OpenError> {
    SqliteStore::builder(db).with_set_up(|connection| connection.execute_batch(SCHEMA)).open().await
}

/// Keeps a notification, in whatever transaction there is, and returns its number.
pub fn insert(connection: &Connection, notification: &Notification) -> rusqlite::Result<i64> {
    let Notification { report_id, run_id, module, title } = notification;
    connection
        .prepare_cached("INSERT INTO notifications (report_id, run_id, module, title) VALUES (?1, ?2, ?3, ?4)")?
        .insert((report_id, run_id, module, title))
}

/// All notifications, the oldest first.
pub fn all(connection: &Connection) -> rusqlite::Result<Vec<Notification>> {
    let mut query = connection.prepare("SELECT report_id, run_id, module, title FROM notifications ORDER BY id")?;
    query.query_map((), notification)?.collect()
}

fn notification(row: &Row<'_>) -> rusqlite::Result<Notification> {
    Ok(Notification {
        report_id: row.get("report_id")?,
        run_id: row.get("run_id")?,
        module: row.get("module")?,
        title: row.get("title")?,
    })
}
