//! What the errors of Postgres and of its pool mean for a caller.

use std::{error::Error, fmt};

use sqlx::postgres::{PgDatabaseError, PgSeverity};

use crate::store::StoreError;

/// An error as the layer sees it.
pub(super) fn failed(error: sqlx::Error) -> StoreError {
    if code(&error).is_some_and(|code| matches!(code, "42P01" | "3F000")) {
        return StoreError::permanent(NotMigrated(error));
    }
    if is_transient(&error) { StoreError::transient(error) } else { StoreError::permanent(error) }
}

/// Another transaction was in the way, and it is the statement that failed, not the store: asked again it may know more.
pub(super) fn is_conflict(error: &sqlx::Error) -> bool {
    // Serialization failure, deadlock, lock not available.
    code(error).is_some_and(|code| matches!(code, "40001" | "40P01" | "55P03"))
}

/// Whether a COMMIT that failed with this error surely wrote nothing: the server said so, and lived to say it. One that
/// is shut down, or ends the connection, may have committed before.
pub(super) fn surely_rolled_back(error: &sqlx::Error) -> bool {
    postgres(error).is_some_and(|error| {
        !matches!(error.severity(), PgSeverity::Fatal | PgSeverity::Panic)
            // Statement completion unknown; connection exceptions; operator intervention, but for a cancelled query.
            && error.code() != "40003"
            && !error.code().starts_with("08")
            && (!error.code().starts_with("57") || error.code() == "57014")
    })
}

/// What is only a matter of time: a connection, a lock, a full disk, a server that starts or stops.
fn is_transient(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Database(_) => code(error).is_some_and(|code| {
            // Connection exception; transaction rollback; insufficient resources; operator intervention; system error.
            ["08", "40", "53", "57", "58"].contains(&code.get(..2).unwrap_or_default())
                // Lock not available, read-only transaction (a failover under way), idle in transaction too long.
                || matches!(code, "55P03" | "25006" | "25P03")
        }),
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::Protocol(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::WorkerCrashed
        | sqlx::Error::BeginFailed => true,
        _ => false,
    }
}

fn code(error: &sqlx::Error) -> Option<&str> {
    postgres(error).map(PgDatabaseError::code)
}

fn postgres(error: &sqlx::Error) -> Option<&PgDatabaseError> {
    error.as_database_error().and_then(|error| error.try_downcast_ref())
}

/// The table is not there.
#[derive(Debug)]
struct NotMigrated(sqlx::Error);

impl fmt::Display for NotMigrated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "there is no table for the keys: call PostgresStore::migrate, or run the text of \
             PostgresStore::migration",
        )
    }
}

impl Error for NotMigrated {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

/// A record that an open transaction has locked or is changing: how that ends is not known yet.
#[derive(Debug)]
pub(super) struct Locked;

impl fmt::Display for Locked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an open transaction has this key's record")
    }
}

impl Error for Locked {}

/// A record that its table's constraints would not allow: written by something else.
#[derive(Debug)]
pub(super) struct Damaged;

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a record of the store is damaged")
    }
}

impl Error for Damaged {}

/// Why the tables could not be made. Keeps its source.
#[derive(Debug)]
#[non_exhaustive]
pub enum MigrateError {
    /// A table of this name has the layout of another version, or is none of this crate's.
    OtherLayout,
    /// The server refused, or could not be reached.
    Failed(sqlx::Error),
}

impl From<sqlx::Error> for MigrateError {
    fn from(error: sqlx::Error) -> Self {
        Self::Failed(error)
    }
}

impl fmt::Display for MigrateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OtherLayout => "the table of idempotency keys has the layout of another version",
            Self::Failed(_) => "the table of idempotency keys could not be made",
        })
    }
}

impl Error for MigrateError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::OtherLayout => None,
            Self::Failed(error) => Some(error),
        }
    }
}
