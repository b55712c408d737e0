//! The handler's writes and "this key is done", in one transaction.

use std::{
    fmt,
    future::Future,
    ops::{Deref, DerefMut},
};

use bytes::Bytes;
use http::Response;
use sqlx::{PgConnection, Postgres, SqlSafeStr, Transaction};
use tokio::time::timeout;
use tracing::Instrument;

use super::{PostgresStore, columns::Columns, error, records::Finished};
use crate::idempotency::{Claim, Commit, CommitError, CommitErrorKind, Joined};

/// A transaction of the application's pool, whose writes are kept together with the completion of the key, or not at all.
/// Begun by [`Claim::begin`].
///
/// It is used as sqlx's own: `&mut *tx` is an executor, and a helper that takes `&mut PgConnection` takes `&mut tx`.
/// One that takes `&mut Transaction<'_, Postgres>` takes [`tx.transaction()`](Self::transaction).
///
/// Dropping it rolls back. It ends with `complete` or [`rollback`](Self::rollback), and by no `COMMIT` or `ROLLBACK` in
/// SQL: after that the writes, or the key, are kept alone.
#[must_use = "dropped it rolls back"]
pub struct ClaimTx {
    tx: Transaction<'static, Postgres>,
    claim: Claim<PostgresStore>,
}

impl ClaimTx {
    /// Finishes the key with this response and commits, as one step: both are kept, or neither. After `Ok` the committed
    /// response is what the caller gets.
    ///
    /// Dropping the returned future does not call the commit off; the layer awaits its outcome.
    ///
    /// # Errors
    ///
    /// A [`CommitError`] whose [kind](CommitError::kind) says whether anything can have been written. Except for
    /// [`Unknown`](CommitErrorKind::Unknown) nothing was. `Unknown` is also the answer to a commit that takes longer than
    /// the layer's limit for a call of the store (default 5 s).
    #[cfg(feature = "axum")]
    pub async fn complete<R>(self, response: R) -> Result<axum::response::Response, CommitError>
    where
        R: axum::response::IntoResponse,
    {
        let response = crate::idempotency::in_memory(response.into_response())?;
        Ok(self.complete_response(response).await?.map(axum::body::Body::from))
    }

    /// As `complete`, which the feature `axum` adds, for a response whose body is bytes.
    ///
    /// # Errors
    ///
    /// As `complete`.
    pub async fn complete_response(self, response: Response<Bytes>) -> Result<Response<Bytes>, CommitError> {
        let Self { tx, claim } = self;
        // Before the commit begins: a rule of the application's has a say here, and may panic.
        let columns = Columns::from(&claim.recorder().outcome(&response));
        let commit = claim.begin_commit()?;
        let limit = claim.store_timeout();
        let committing = tokio::spawn(finish_and_commit(tx, claim, commit, response, columns).in_current_span());
        match timeout(limit, committing).await {
            Ok(Ok(committed)) => committed,
            Ok(Err(ended)) => Err(CommitError::because(CommitErrorKind::Unknown, ended)),
            Err(elapsed) => Err(CommitError::because(CommitErrorKind::Unknown, elapsed)),
        }
    }

    /// Rolls back, on purpose: whatever the handler answers then counts, as if it had begun nothing. After merely
    /// dropping the transaction an answer of 2xx or 3xx becomes 500.
    ///
    /// # Errors
    ///
    /// If the server cannot be reached; it then rolls back by itself.
    pub async fn rollback(self) -> Result<(), sqlx::Error> {
        let Self { tx, claim } = self;
        claim.commit_state().transaction_rolled_back();
        tx.rollback().await
    }

    /// For a helper that takes sqlx's own type.
    pub fn transaction(&mut self) -> &mut Transaction<'static, Postgres> {
        &mut self.tx
    }
}

impl Deref for ClaimTx {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        &self.tx
    }
}

impl DerefMut for ClaimTx {
    fn deref_mut(&mut self) -> &mut PgConnection {
        &mut self.tx
    }
}

impl AsMut<PgConnection> for ClaimTx {
    fn as_mut(&mut self) -> &mut PgConnection {
        &mut self.tx
    }
}

impl fmt::Debug for ClaimTx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClaimTx").field("claim", &self.claim).finish_non_exhaustive()
    }
}

impl Claim<PostgresStore> {
    /// Begins a transaction on a connection of the application's pool.
    ///
    /// It should begin late and be short: it holds a connection, and what it has locked. The key's record is touched only
    /// by the completion.
    ///
    /// # Errors
    ///
    /// [`RolledBack`](CommitErrorKind::RolledBack) if the pool gives no connection, within the layer's limit for a call of
    /// the store, or another [`CommitError`] if this claim has committed, or its handler has ended.
    pub async fn begin(&self) -> Result<ClaimTx, CommitError> {
        let pool = self.store().pool().clone();
        self.begin_by(async move { pool.begin().await }).await
    }

    /// As [`begin`](Self::begin), with a statement in place of `BEGIN`: `BEGIN ISOLATION LEVEL SERIALIZABLE`.
    ///
    /// # Errors
    ///
    /// As [`begin`](Self::begin).
    pub async fn begin_with(&self, statement: impl SqlSafeStr) -> Result<ClaimTx, CommitError> {
        let (pool, statement) = (self.store().pool().clone(), statement.into_sql_str());
        self.begin_by(async move { pool.begin_with(statement).await }).await
    }

    async fn begin_by(
        &self,
        begin: impl Future<Output = sqlx::Result<Transaction<'static, Postgres>>> + Send + 'static,
    ) -> Result<ClaimTx, CommitError> {
        let failed = |error: sqlx::Error| CommitError::because(CommitErrorKind::RolledBack, error);
        self.commit_state().transaction_begins()?;
        // A task: sqlx does not roll back a BEGIN that is dropped before it is answered, and the pool would lend the
        // connection, in its open transaction, to the next.
        let begun = timeout(self.store_timeout(), tokio::spawn(begin));
        let tx = match begun.await {
            Ok(Ok(begun)) => begun.map_err(failed)?,
            Ok(Err(ended)) => return Err(CommitError::because(CommitErrorKind::RolledBack, ended)),
            Err(elapsed) => return Err(CommitError::because(CommitErrorKind::RolledBack, elapsed)),
        };
        self.commit_state().transaction_begun();
        Ok(ClaimTx { tx, claim: self.clone() })
    }

    /// Finishes the key with this response inside a transaction that is the application's. It commits with that, or not at
    /// all.
    ///
    /// The layer cannot see that transaction's end: when the handler has ended it asks the record. Committed, its response
    /// is what the caller gets; rolled back, an answer of 2xx or 3xx becomes 500 and the key is released. So the
    /// transaction has to end before the handler does: one that is still open then is an unknown outcome, 503. Should it
    /// be rolled back the handler may complete again, in another one, by this verb: `begin` is refused from then on.
    ///
    /// The connection has to be in a transaction, of the database that the store's pool leads to. Without one the key is
    /// finished at once, and by itself.
    ///
    /// # Errors
    ///
    /// A [`CommitError`]: the transaction has to be rolled back. [`Passed`](CommitErrorKind::Passed) if another holder has
    /// the key, [`AlreadyCommitted`](CommitErrorKind::AlreadyCommitted) if this claim finished it before,
    /// [`RolledBack`](CommitErrorKind::RolledBack) if the server refused. In a transaction of `REPEATABLE READ` or
    /// `SERIALIZABLE` that is, after a third of a lease, the rule (40001): the lease has been renewed since its snapshot.
    #[cfg(feature = "axum")]
    pub async fn complete_in<R>(
        &self,
        connection: &mut PgConnection,
        response: R,
    ) -> Result<axum::response::Response, CommitError>
    where
        R: axum::response::IntoResponse,
    {
        let response = crate::idempotency::in_memory(response.into_response())?;
        Ok(self.complete_response_in(connection, response).await?.map(axum::body::Body::from))
    }

    /// As `complete_in`, which the feature `axum` adds, for a response whose body is bytes.
    ///
    /// # Errors
    ///
    /// As `complete_in`.
    pub async fn complete_response_in(
        &self,
        connection: &mut PgConnection,
        response: Response<Bytes>,
    ) -> Result<Response<Bytes>, CommitError> {
        let outcome = self.recorder().outcome(&response);
        let columns = Columns::from(&outcome);
        self.commit_state().join(Joined { response: response.clone(), outcome })?;
        match self.store().records().finish(connection, self.token(), &columns).await {
            Ok(Finished::Now) => Ok(response),
            Ok(Finished::Before) => Err(CommitErrorKind::AlreadyCommitted.into()),
            Ok(Finished::Passed) => {
                self.commit_state().joined_in_vain();
                Err(CommitErrorKind::Passed.into())
            }
            Err(error) => Err(CommitError::because(CommitErrorKind::RolledBack, error)),
        }
    }
}

/// A task of its own, which the layer awaits: the state is settled before the handler hears of it, and even if the handler
/// is gone.
async fn finish_and_commit(
    mut tx: Transaction<'static, Postgres>,
    claim: Claim<PostgresStore>,
    commit: Commit,
    response: Response<Bytes>,
    columns: Columns,
) -> Result<Response<Bytes>, CommitError> {
    match claim.store().records().finish(&mut tx, claim.token(), &columns).await {
        Ok(Finished::Now) => {}
        Ok(Finished::Before | Finished::Passed) => {
            commit.passed();
            return Err(CommitErrorKind::Passed.into());
        }
        // A transaction that had failed before is found here too: its COMMIT would be a rollback without an error.
        Err(error) => {
            commit.rolled_back();
            return Err(CommitError::because(CommitErrorKind::RolledBack, error));
        }
    }
    match tx.commit().await {
        Ok(()) => {
            commit.committed(response.clone());
            Ok(response)
        }
        Err(error) if error::surely_rolled_back(&error) => {
            commit.rolled_back();
            Err(CommitError::because(CommitErrorKind::RolledBack, error))
        }
        Err(error) => {
            drop(commit);
            Err(CommitError::because(CommitErrorKind::Unknown, error))
        }
    }
}
