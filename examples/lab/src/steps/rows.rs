//! What is in the tables, and what has changed in them.

use rusqlite::{Connection, Result, Row};
use serde::Serialize;

/// The table that the keys of a server are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyTable {
    /// It keeps none.
    Nowhere,
    /// That of `key_split`.
    Split,
    /// That of the crate.
    Crate,
    /// That of the server by hand.
    ByHand,
}

/// Reports and keys at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    reports: Vec<ReportRow>,
    keys: Vec<KeyRow>,
}

/// A row of the table of reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "named as in a report")]
pub struct ReportRow {
    pub id: i64,
    pub module: String,
    pub title: String,
}

/// A row of a table of keys; what that one has no column for is missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeyRow {
    /// Its text.
    pub key: String,
    /// Whether the request under it has ended.
    pub status: KeyStatus,
    /// Of the last claim.
    pub fence: Option<i64>,
    /// 1 for the first claim, one more each time it was taken over.
    pub run: Option<i64>,
    /// The status of the recorded answer.
    pub response_status: Option<i64>,
    /// The report that is recorded with it.
    pub report_id: Option<i64>,
}

/// Whether a request has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "named as in the article")]
pub enum KeyStatus {
    InProgress,
    Done,
}

/// A row, and how it differs from the step before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Marked<T> {
    /// As it is, or as it was when it is gone.
    #[serde(flatten)]
    pub row: T,
    /// `None`: as before.
    pub change: Option<Change>,
}

/// How a row differs from the step before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "named as what they are")]
pub enum Change {
    New,
    Changed,
    Gone,
}

impl Snapshot {
    /// Reads the tables.
    pub fn read(connection: &Connection, keys: KeyTable) -> Result<Self> {
        let rows = "SELECT id, module, title FROM reports ORDER BY id";
        let report = |row: &Row<'_>| Ok(ReportRow { id: row.get(0)?, module: row.get(1)?, title: row.get(2)? });
        let reports = connection.prepare_cached(rows)?.query_map((), report)?.collect::<Result<_>>()?;
        // In the order of their claims. A record of the crate is under its scope and its key; here the scope is empty, and
        // its length is eight zeros.
        let rows = match keys {
            KeyTable::Nowhere => return Ok(Self { reports, keys: Vec::new() }),
            KeyTable::Split => "SELECT key, 1, NULL, NULL, NULL, report_id FROM split_keys ORDER BY rowid",
            KeyTable::Crate => {
                "SELECT CAST(substr(key, 9) AS TEXT), ended_at IS NOT NULL, fence, attempt, status, NULL
                 FROM tower_idempotency_records ORDER BY claimed_at, fence"
            }
            KeyTable::ByHand => {
                // It keeps the header as it was sent, in its quotes.
                r#"SELECT trim(key, '"'), report_id IS NOT NULL, fence, NULL, NULL, report_id FROM keys_by_hand ORDER BY rowid"#
            }
        };
        let key = |row: &Row<'_>| {
            let status = if row.get(1)? { KeyStatus::Done } else { KeyStatus::InProgress };
            let (fence, run, response_status) = (row.get(2)?, row.get(3)?, row.get(4)?);
            Ok(KeyRow { key: row.get(0)?, status, fence, run, response_status, report_id: row.get(5)? })
        };
        let keys = connection.prepare_cached(rows)?.query_map((), key)?.collect::<Result<_>>()?;
        Ok(Self { reports, keys })
    }

    /// Its reports, marked by what they were before.
    pub fn reports_since(&self, before: &Self) -> Vec<Marked<ReportRow>> {
        marked(&before.reports, &self.reports, |one, other| one.id == other.id)
    }

    /// Its keys, marked by what they were before.
    pub fn keys_since(&self, before: &Self) -> Vec<Marked<KeyRow>> {
        marked(&before.keys, &self.keys, |one, other| one.key == other.key)
    }

    /// Whether there is this key.
    pub fn has_key(&self, key: &str) -> bool {
        self.keys.iter().any(|row| row.key == key)
    }
}

fn marked<T: Clone + PartialEq>(before: &[T], now: &[T], same: impl Fn(&T, &T) -> bool) -> Vec<Marked<T>> {
    let gone = before.iter().filter(|was| !now.iter().any(|is| same(is, was)));
    let gone = gone.map(|was| Marked { row: was.clone(), change: Some(Change::Gone) });
    let change = |is: &T| match before.iter().find(|was| same(is, was)) {
        None => Some(Change::New),
        Some(was) => (was != is).then_some(Change::Changed),
    };
    now.iter().map(|is| Marked { row: is.clone(), change: change(is) }).chain(gone).collect()
}
