//! Records in Postgres, and commits that keep the handler's writes and "this key is done" together.
//!
//! ```no_run
//! use tower_idempotency::store::postgres::{PostgresStore, sqlx::PgPool};
//!
//! # async fn open() -> Result<(), Box<dyn std::error::Error>> {
//! let pool = PgPool::connect("postgres://app@db.internal/app").await?;
//! let store = PostgresStore::new(pool); // the application's own pool
//! store.migrate().await?;
//! # Ok(())
//! # }
//! ```
//!
//! # The table
//!
//! One table, its index and a sequence, in a schema of their own; [names](PostgresStoreBuilder) are settings.
//! [`migrate`](PostgresStore::migrate) makes them, whether one process calls it or twenty at once. Whoever keeps all
//! migrations in one place takes the text of [`migration`](PostgresStore::migration) there. A comment on the table holds the
//! version of its layout. The application's role needs `SELECT`, `INSERT`, `UPDATE`, `DELETE` on the table and `USAGE` on
//! the schema and the sequence. Postgres 13 and later.
//!
//! # Who waits for whom
//!
//! - **A claim is one statement**, one round trip. It looks without a lock, which settles replays, refusals and keys in
//!   flight: these write nothing. It inserts only where it sees no record, and takes over only what it can lock at once.
//!   Where another transaction came between it asks again, a few times.
//! - **Nobody waits for a handler's transaction.** A record that an open transaction has is in flight for a claim; for
//!   [`renew`](crate::Store::renew) and [`release`](crate::Store::release) it is a
//!   [transient](crate::store::StoreError::is_transient) error, never [`No`](crate::store::Held::No). Only a completion
//!   waits, a second at a time and a few times.
//! - Claims of one key that come at the same moment meet at an advisory lock, which each holds for its one statement and none
//!   waits for. Its number is of SHA-256, apart from the numbers that an application would choose.
//! - **Between claim and completion nothing touches the record** but renewals.
//! - **Renewals have a connection of their own**, one for each store, beside the application's pool and opened as that opens
//!   its own: a handler keeps its lease while handlers hold the whole pool. What waits is renewed in one round trip.
//!
//! # Commits
//!
//! ```
//! # #[cfg(feature = "axum")] {
//! use axum::{http::StatusCode, response::Response};
//! use tower_idempotency::{
//!     idempotency::{Claim, CommitError},
//!     store::postgres::{PostgresStore, sqlx},
//! };
//!
//! # #[derive(Debug)] enum Error { Sql(sqlx::Error), Commit(CommitError) }
//! # impl From<sqlx::Error> for Error { fn from(error: sqlx::Error) -> Self { Self::Sql(error) } }
//! # impl From<CommitError> for Error { fn from(error: CommitError) -> Self { Self::Commit(error) } }
//! async fn order(claim: Claim<PostgresStore>, note: String) -> Result<Response, Error> {
//!     let mut tx = claim.begin().await?;
//!     sqlx::query("INSERT INTO orders (note) VALUES ($1)").bind(&note).execute(&mut *tx).await?;
//!     Ok(tx.complete((StatusCode::CREATED, note)).await?) // writes the answer, and commits
//! }
//! # }
//! ```
//!
//! [`ClaimTx`] is used as sqlx's `Transaction`: it derefs to `PgConnection`, so code that stood between `pool.begin()` and
//! `tx.commit()` stays as it is. Dropped, it is rolled back. Begun and neither completed nor rolled back on purpose, an
//! answer of 2xx or 3xx becomes 500 and the key is released: no success with nothing committed.
//!
//! A transaction that the application has already takes the completion in with
//! [`complete_in`](crate::idempotency::Claim::complete_response_in). Whether that commits the layer cannot see. When the
//! handler has ended it reads the key again, and the record decides.
//!
//! A COMMIT whose answer is lost is [`Unknown`](crate::idempotency::CommitErrorKind::Unknown): 503, the key is not
//! released, and the repeat gets what was committed, or runs once the lease has lapsed.
//!
//! # What the server should be set to
//!
//! - **`synchronous_commit`**: leave it on. Switched off, a crash of the server loses what was acknowledged last: the key
//!   *and* the writes that were committed with it, so that a repeat runs again.
//! - **Isolation**: the store asks for READ COMMITTED and no more. With another `default_transaction_isolation` it works too,
//!   and asks again where it was in the way of another statement. A *handler's* transaction at REPEATABLE READ or SERIALIZABLE
//!   that lives longer than a third of a lease cannot complete: the lease has been renewed since its snapshot (40001). Begin
//!   it late.
//! - **`idle_in_transaction_session_timeout`**: set it, for the application's role, to a little more than the longest
//!   transaction that a handler may hold. Otherwise a client that vanished without a word keeps its locks, and the key
//!   in flight, until TCP notices.
//! - **Size of the pool**: a handler with a transaction holds a connection, and each claim, completion and replay needs one
//!   for a moment. A pool that handlers fill answers new requests 503 once they have waited for the layer's limit (default
//!   5 s). `max_connections` of the server counts one more for each store, for renewals. sqlx pings each connection before it
//!   lends it, one more round trip, unless `test_before_acquire(false)`.
//! - **A replica** serves no store: a claim is refused there, a replay too, as an error that is transient.
//! - **Settings of a role or a database** (`search_path`, `bytea_output`, `lock_timeout`) change no answer. A
//!   `statement_timeout` makes a call that waits for longer a transient error.
//!
//! # PgBouncer
//!
//! The store keeps nothing on a session. In transaction mode PgBouncer 1.21 and later serves it, with
//! `max_prepared_statements` above 0. With an older one, or 0, set
//! [`without_prepared_statements`](PostgresStoreBuilder::without_prepared_statements), which sends each statement as one
//! message of text; otherwise calls fail with `prepared statement "sqlx_s_1" already exists`. So it should be set where the
//! pool's `statement_cache_capacity` is 0, with which sqlx leaves each prepared statement behind.
//!
//! That is the store's half. sqlx's own is the application's, with PgBouncer of any version:
//!
//! - sqlx sends `extra_float_digits` when it connects, which PgBouncer refuses: name it in its
//!   `ignore_startup_parameters`, or connect with `PgConnectOptions::extra_float_digits(None)`.
//! - Where prepared statements are not served, a handler's statements in its transaction are
//!   `sqlx::query(..).persistent(false)`, which are prepared without a name; the transaction keeps the session. One outside a
//!   transaction is `sqlx::raw_sql`.
//!
//! # The clock
//!
//! The server's, `clock_timestamp()`: hosts whose clocks differ agree. A server whose clock is set forward lapses leases
//! early; the next claim takes over, and the passed holder can finish nothing. One that is set back makes them last longer.
//!
//! # Errors
//!
//! Transient, so that another try may help: no connection, a pool's time limit, a server that starts or stops, a lock, a
//! deadlock, a failed serialization, a full disk. Permanent: a missing table (the message names `migrate`), missing rights,
//! a damaged response, a closed pool.
//!
//! A call that the layer gives up costs its connection, which is closed: it could not be used before its answer has come.
//! sqlx itself does not roll back a `BEGIN` that is dropped before it is answered; the pool then lends a connection in an
//! open transaction. [`begin`](crate::idempotency::Claim::begin) cannot be dropped that way. An application that drops
//! futures of `pool.begin()` (`select!`, a timeout) should check connections in `after_release`.

mod builder;
mod claim;
mod columns;
mod error;
mod migration;
mod names;
mod records;
mod renewals;
mod statement;
mod store;

/// The version that the signatures here speak of.
pub use sqlx;

pub use builder::PostgresStoreBuilder;
pub use claim::ClaimTx;
pub use error::MigrateError;
pub use names::InvalidName;
pub use store::PostgresStore;
