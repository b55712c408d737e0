//! Reports, keys and the outbox in one file.

use std::sync::Arc;

use axum::response::Response;
use deadpool_sqlite::Pool;
use futures_util::{FutureExt, future::BoxFuture};
use tower_idempotency::{SqliteStore, idempotency::Claim};

use super::{Backend, Latest, ReportTable};
use crate::{
    bug_tracker::{
        outbox,
        problem::Problem,
        reports::{NewReport, Report, created},
        table,
    },
    watch::{Event, Watch},
};

/// A report, its notification in the outbox and "this key is done" are one commit.
#[derive(Clone, Debug)]
pub struct Sqlite {
    pub(in crate::bug_tracker) pool: Pool,
}

impl Sqlite {
    /// The reports of this pool's database.
    pub fn new(pool: Pool) -> Self {
        Self { pool }
    }
}

impl Backend for Sqlite {
    type Store = SqliteStore;

    async fn file(&self, claim: Claim<SqliteStore>, report: NewReport, watch: Watch) -> Result<Response, Problem> {
        let watching = watch.clone();
        let notify = claim.child_key("notify");
        let filed = claim
            .commit(move |tx| {
                let report_id = table::insert(tx, &report)?;
                outbox::table::add(tx, &notify, report_id, &report)?;
                watching.saw(Event::ReportInserted { report_id });
                Ok(created(report_id))
            })
            .await;
        filed.inspect(|_| watch.saw(Event::Committed))
    }

    fn reports(&self) -> Arc<dyn ReportTable> {
        Arc::new(self.clone())
    }
}

impl ReportTable for Sqlite {
    fn all(&self) -> BoxFuture<'_, Result<Vec<Report>, Problem>> {
        table::read(&self.pool, table::all).boxed()
    }

    fn find(&self, id: i64) -> BoxFuture<'_, Result<Option<Report>, Problem>> {
        table::read(&self.pool, move |connection| table::find(connection, id)).boxed()
    }

    fn latest(&self, most: u32) -> BoxFuture<'_, Result<Latest, Problem>> {
        let query = move |connection: &_| {
            let reports = table::latest(connection, most)?;
            let mark = reports.first().map_or(0, |report| report.id);
            Ok(Latest { reports, total: table::count(connection)?, mark })
        };
        table::read(&self.pool, query).boxed()
    }

    /// One writer at a time: numbers rise in the order of the commits.
    fn mark(&self) -> BoxFuture<'_, Result<i64, Problem>> {
        table::read(&self.pool, |connection| Ok(table::newest(connection)?.unwrap_or_default())).boxed()
    }
}
