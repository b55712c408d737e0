//! Where the keys are kept, and where the reports are.
//!
//! | `--store` | keys | reports | a report and "this key is done" |
//! |---|---|---|---|
//! | `sqlite:FILE` | the file | the file | one commit |
//! | `postgres://…` | the database | the database | one commit |
//! | `redis://…` | the server | a SQLite file | two steps |
//! | `memory` | this process | a SQLite file | two steps |
//!
//! A [`Backend`] is one row of this table. [`Sqlite`] and [`Beside`] stand here; what needs a client for another server stands
//! with the example, behind the features of the crate. Everything else of the bug tracker knows no store.
//!
//! Where it is two steps, each answer says so (`"atomic": false`), and so does the server when it starts.

pub mod address;
pub mod beside;
pub mod sqlite;

use std::{fmt, sync::Arc};

use axum::response::Response;
use futures_util::future::BoxFuture;
use tower_idempotency::{idempotency::Claim, store::Store};

use super::{
    problem::Problem,
    reports::{NewReport, Report},
};
use crate::watch::Watch;

pub use address::{Address, Asked, Url};
pub use beside::Beside;
pub use sqlite::Sqlite;

/// How reports are filed under the claims of one store.
pub trait Backend: Clone + fmt::Debug + Send + Sync + 'static {
    /// Where the keys are.
    type Store: Store;

    /// Writes a report under its claim, and answers. The slow part is over.
    fn file(
        &self,
        claim: Claim<Self::Store>,
        report: NewReport,
        watch: Watch,
    ) -> impl Future<Output = Result<Response, Problem>> + Send;

    /// What the pages read.
    fn reports(&self) -> Arc<dyn ReportTable>;
}

/// A store and its backend, ready to serve.
#[derive(Debug)]
pub struct Opened<B: Backend> {
    /// Where the keys are.
    pub store: B::Store,
    /// How reports are filed.
    pub backend: B,
    /// What is kept where, and what that promises: the lines that a server prints when it starts.
    pub kept: Vec<String>,
}

/// The reports of all processes that share them.
pub trait ReportTable: fmt::Debug + Send + Sync {
    /// All reports, the oldest first.
    fn all(&self) -> BoxFuture<'_, Result<Vec<Report>, Problem>>;

    /// One report.
    fn find(&self, id: i64) -> BoxFuture<'_, Result<Option<Report>, Problem>>;

    /// The newest reports.
    fn latest(&self, most: u32) -> BoxFuture<'_, Result<Latest, Problem>>;

    /// Another number after each report: which list there is.
    fn mark(&self) -> BoxFuture<'_, Result<i64, Problem>>;
}

/// The newest reports.
#[derive(Clone, Debug)]
pub struct Latest {
    /// The newest first.
    pub reports: Vec<Report>,
    /// How many there are in all.
    pub total: i64,
    /// The mark of this list.
    pub mark: i64,
}
