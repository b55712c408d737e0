//! Keys in a store that cannot write reports, and the reports in a SQLite file beside it.
//!
//! The report is committed first; the layer then completes the key. Whoever dies in between leaves a report whose key is
//! unfinished, and the repeat runs again. So the write is idempotent by itself: a key derived from the client's stands
//! beside each report, unique and in the same transaction, and a second run finds the report that is there. That needs
//! a database with a transaction of its own; a handler that calls a service has to hand that key to the service.

use std::{fmt, marker::PhantomData, path::Path, sync::Arc};

use axum::response::Response;
use deadpool_sqlite::Pool;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};
use tower::BoxError;
use tower_idempotency::{IdempotencyKey, idempotency::Claim, store::Store};

use super::{Backend, Opened, ReportTable, Sqlite};
use crate::{
    bug_tracker::{
        problem::Problem,
        reports::{NewReport, created_in_two_steps},
        table,
    },
    watch::{Event, Watch},
};

const SCHEMA: &str = "CREATE TABLE IF NOT EXISTS filed (
    key       TEXT PRIMARY KEY,
    report_id INTEGER NOT NULL,
    runs      INTEGER NOT NULL -- above 1: so many wanted to file this report
) STRICT";

/// Reports beside keys in `S`.
pub struct Beside<S> {
    reports: Sqlite,
    _keys: PhantomData<fn() -> S>,
}

impl<S: Store> Beside<S> {
    /// Opens the file of the reports for keys in this store. `keys` says where they are: "in the memory of this process".
    pub async fn open(store: S, file: &Path, keys: &str) -> Result<Opened<Self>, BoxError> {
        let pool = table::open_reports(file).await?;
        let made = pool.get().await?.interact(|connection| connection.execute_batch(SCHEMA)).await;
        made.map_err(|error| error.to_string())??;
        let kept = vec![
            format!("keys are kept {keys}, reports in {}", file.display()),
            "NOT atomic: a report is committed before its key is; after a crash in between the repeat runs again, and \
             finds that report by a key of its own"
                .to_owned(),
        ];
        Ok(Opened { store, backend: Self { reports: Sqlite::new(pool), _keys: PhantomData }, kept })
    }
}

impl<S: Store> Backend for Beside<S> {
    type Store = S;

    async fn file(&self, claim: Claim<S>, report: NewReport, watch: Watch) -> Result<Response, Problem> {
        let key = claim.child_key("report");
        let report_id = file_once(&self.reports.pool, key, report).await?;
        watch.saw(Event::ReportCommitted { report_id });
        Ok(created_in_two_steps(report_id))
    }

    fn reports(&self) -> Arc<dyn ReportTable> {
        self.reports.reports()
    }
}

async fn file_once(pool: &Pool, key: IdempotencyKey, report: NewReport) -> Result<i64, Problem> {
    table::read(pool, move |connection| {
        let tx = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
        let report_id = match filed_before(&tx, &key, &report)? {
            Some(report_id) => {
                tx.prepare_cached("UPDATE filed SET runs = runs + 1 WHERE key = ?1")?.execute([key.as_str()])?;
                report_id
            }
            None => {
                let report_id = table::insert(&tx, &report)?;
                tx.prepare_cached("INSERT OR REPLACE INTO filed (key, report_id, runs) VALUES (?1, ?2, 1)")?
                    .execute((key.as_str(), report_id))?;
                report_id
            }
        };
        tx.commit()?;
        Ok(report_id)
    })
    .await
}

/// The layer refuses another report under a key that it remembers; once it has forgotten the key, another report is new.
fn filed_before(connection: &Connection, key: &IdempotencyKey, report: &NewReport) -> rusqlite::Result<Option<i64>> {
    let mut known = connection.prepare_cached("SELECT report_id FROM filed WHERE key = ?1")?;
    let Some(id) = known.query_row([key.as_str()], |row| row.get(0)).optional()? else { return Ok(None) };
    let found = table::find(connection, id)?;
    Ok(found.filter(|found| found.is(report)).map(|found| found.id))
}

impl<S> Clone for Beside<S> {
    fn clone(&self) -> Self {
        Self { reports: self.reports.clone(), _keys: PhantomData }
    }
}

impl<S> fmt::Debug for Beside<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Beside").field("reports", &self.reports).finish()
    }
}
