//! Records in an SQLite file, and commits that keep the handler's writes and "this key is done" together.
//!
//! ```no_run
//! use tower_idempotency::store::sqlite::{SqliteStore, Synchronous};
//!
//! # async fn open() -> Result<(), tower_idempotency::store::sqlite::OpenError> {
//! // A file of its own, or the application's file through connections of its own.
//! let store = SqliteStore::open("app.db").await?;
//! let store = SqliteStore::builder("app.db")
//!     .synchronous(Synchronous::Full)
//!     .with_set_up(|connection| connection.pragma_update(None, "foreign_keys", true))
//!     .open()
//!     .await?;
//! # Ok(())
//! # }
//! ```
//!
//! The application that has a `deadpool-sqlite` pool gives it to [`SqliteStore::with_pool`]. Several stores, in one
//! process or in several, may share a file.
//!
//! # The file
//!
//! Two STRICT tables, whose names begin with `tower_idempotency_`. The store's own connections set the journal mode to
//! WAL and `synchronous` to FULL: what was acknowledged survives a power cut. [`Synchronous::Normal`] gives that up.
//! `:memory:` is refused, since each connection would be another database.
//!
//! # Who waits for whom
//!
//! - What needs no change is read: replays, refusals, look-ups and status wait for no writer.
//! - **One writer** takes everything that waits and runs it in one transaction, each job in a savepoint of its own,
//!   commits once, and only then answers. Renewals go first. A job that fails or panics undoes only itself.
//! - The file has one write lock. While another process holds it the writer waits (the busy timeout, default 5 s);
//!   then the answer is a [transient](crate::store::StoreError::is_transient) error, never [`No`](crate::store::Held::No).
//!
//! # Commits
//!
//! ```
//! # #[cfg(feature = "axum")] {
//! use axum::{http::StatusCode, response::Response};
//! use tower_idempotency::{
//!     idempotency::{Claim, CommitError},
//!     store::sqlite::{SqliteStore, Tx},
//! };
//!
//! # #[derive(Debug)] enum Error { Sql(rusqlite::Error), Commit(CommitError) }
//! # impl From<rusqlite::Error> for Error { fn from(error: rusqlite::Error) -> Self { Self::Sql(error) } }
//! # impl From<CommitError> for Error { fn from(error: CommitError) -> Self { Self::Commit(error) } }
//! async fn order(claim: Claim<SqliteStore>, note: String) -> Result<Response, Error> {
//!     claim.commit(move |tx: &Tx<'_>| {
//!         tx.execute("INSERT INTO orders (note) VALUES (?1)", [&note])?;
//!         Ok((StatusCode::CREATED, note))
//!     }).await
//! }
//! # }
//! ```
//!
//! A closure runs on the writer, and everybody waits for it, renewals too. **Keep it short**: SQL and nothing else.
//! Once a third of the shortest lease that the store was asked for has passed, a group takes no further closure; one
//! that takes that long by itself is warned about.
//!
//! A closure cannot end the transaction. Its COMMIT becomes a rollback, and with its own ROLLBACK, an
//! `ON CONFLICT ROLLBACK`, a deferred foreign key that it leaves violated or a full disk the whole group is rolled
//! back. Then nothing of the group was acknowledged: the verbs are run again, and each closure that ran is answered
//! [`RolledBack`](crate::idempotency::CommitErrorKind::RolledBack); its handler may commit again. After an I/O error at the COMMIT
//! nobody can say: [`Unknown`](crate::idempotency::CommitErrorKind::Unknown), and only the record tells.
//!
//! What a closure sets on the connection outlasts it: pragmas, `ATTACH` and hooks belong into
//! [`with_set_up`](SqliteStoreBuilder::with_set_up) or the pool's hooks. The commit hook is the store's: a closure that takes
//! it away and commits keeps what it wrote without its key.
//!
//! With `panic = "abort"` a closure that panics takes the process with it, as any panic then does.
//!
//! # The clock
//!
//! The host's wall clock is read once, when the store opens, and advanced by the monotonic clock: a jump of the
//! host's clock changes nothing until the store is opened again. A lease that then shows more than its own length
//! left (the clock was set back) is cut to its length by the claim that sees it, which is answered *in flight*. A
//! clock set forward lapses leases early: the next claim takes over, and the passed holder can finish nothing.
//!
//! # Errors
//!
//! Transient, so that another try may help: a lock, a full disk, an I/O error, no file or memory to be had, a pool's
//! time limit. Permanent: a missing table, a read-only or damaged file, a damaged response, a closed pool, a store
//! whose runtime has ended.

mod builder;
mod claim;
mod columns;
mod error;
mod group;
mod job;
mod records;
mod store;
#[cfg(test)]
mod tests;
mod writer;

/// The versions that the signatures here speak of.
pub use {deadpool_sqlite, rusqlite};

pub use builder::{SqliteStoreBuilder, Synchronous};
pub use claim::Tx;
pub use error::{OpenError, OpenErrorKind};
pub use store::SqliteStore;
