//! What SQLite's errors mean for a caller.

use std::{
    error::Error,
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use deadpool_sqlite::{HookError, PoolError};
use rusqlite::{ErrorCode, ffi};

use crate::store::StoreError;

/// Why a database could not be opened as a store. Keeps its source.
#[derive(Debug)]
pub struct OpenError {
    kind: OpenErrorKind,
    file: Option<PathBuf>,
    source: Option<Box<dyn Error + Send + Sync>>,
}

/// What an [`OpenError`] asks of whoever gave the path or the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenErrorKind {
    /// `:memory:` or a database without a name: each connection would be another database. Name a file.
    InMemory,
    /// The path is a directory.
    IsDirectory,
    /// The folder that should hold the file does not exist. It is not made.
    MissingFolder,
    /// The file holds something else.
    NotADatabase,
    /// Another connection kept it locked for longer than the busy timeout.
    Locked,
    /// The file, or the folder that holds it, cannot be written.
    ReadOnly,
    /// The journal mode could not be set to WAL.
    NoWal,
    /// Its tables were made by a version of this crate that lays them out otherwise.
    OtherLayout,
    /// Something else, which the source tells.
    Failed,
}

impl OpenError {
    /// What it asks of whoever gave the path or the pool.
    #[must_use]
    pub fn kind(&self) -> OpenErrorKind {
        self.kind
    }

    pub(super) fn failed(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { source: Some(source.into()), ..OpenErrorKind::Failed.into() }
    }

    pub(super) fn because(source: rusqlite::Error) -> Self {
        let kind = match source.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => OpenErrorKind::NotADatabase,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => OpenErrorKind::Locked,
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => OpenErrorKind::ReadOnly,
            _ => OpenErrorKind::Failed,
        };
        Self { kind, file: None, source: Some(source.into()) }
    }

    pub(super) fn of_pool(error: PoolError) -> Self {
        match backend(error) {
            Ok(error) => Self::because(error),
            Err(error) => Self::failed(error),
        }
    }

    /// Says which file, and what SQLite's "unable to open database file" means for it.
    pub(super) fn at(self, file: PathBuf) -> Self {
        let source = self.source.as_deref().and_then(|source| source.downcast_ref::<rusqlite::Error>());
        let unopened = source.is_some_and(|source| source.sqlite_error_code() == Some(ErrorCode::CannotOpen));
        let kind = match file.parent() {
            _ if unopened && file.is_dir() => OpenErrorKind::IsDirectory,
            Some(folder) if unopened && !is_uri(&file) && folder != "" && !folder.exists() => {
                OpenErrorKind::MissingFolder
            }
            _ => self.kind,
        };
        Self { kind, file: Some(file), ..self }
    }
}

impl From<OpenErrorKind> for OpenError {
    fn from(kind: OpenErrorKind) -> Self {
        Self { kind, file: None, source: None }
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            Some(file) => write!(f, "cannot keep idempotency keys in {}: ", file.display())?,
            None => f.write_str("cannot keep idempotency keys in the pool's database: ")?,
        }
        f.write_str(match self.kind {
            OpenErrorKind::InMemory => "each connection to a database in memory would be another database",
            OpenErrorKind::IsDirectory => "it is a directory",
            OpenErrorKind::MissingFolder => "its folder does not exist",
            OpenErrorKind::NotADatabase => "it is not an SQLite database",
            OpenErrorKind::Locked => "another connection keeps it locked",
            OpenErrorKind::ReadOnly => "it cannot be written",
            OpenErrorKind::NoWal => "its journal mode cannot be WAL",
            OpenErrorKind::OtherLayout => "its tables have the layout of another version",
            OpenErrorKind::Failed => "it cannot be opened",
        })
    }
}

impl Error for OpenError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

/// An error of SQLite as the layer sees it.
pub(super) fn failed(error: rusqlite::Error) -> StoreError {
    if is_transient(&error) { StoreError::transient(error) } else { StoreError::permanent(error) }
}

/// An error that several jobs share.
pub(super) fn failed_together(error: &Arc<rusqlite::Error>) -> StoreError {
    let source = Arc::clone(error);
    if is_transient(error) { StoreError::transient(source) } else { StoreError::permanent(source) }
}

/// A pool that gave no connection: its limits are another try's hope, a closed pool is not.
pub(super) fn no_connection(error: PoolError) -> StoreError {
    match backend(error) {
        Ok(error) => failed(error),
        Err(error @ PoolError::Timeout(_)) => StoreError::transient(error),
        Err(error) => StoreError::permanent(error),
    }
}

/// What is only a matter of time: a lock, a full disk, an I/O error, too few files or too little memory, and a
/// transaction that another job ended. A missing table, a read-only or damaged file is not.
fn is_transient(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::FileLockingProtocolFailed
                | ErrorCode::SchemaChanged
                | ErrorCode::OperationAborted
                | ErrorCode::OperationInterrupted
                | ErrorCode::SystemIoFailure
                | ErrorCode::DiskFull
                | ErrorCode::CannotOpen
                | ErrorCode::OutOfMemory
        )
    )
}

/// Whether a COMMIT that failed with this error surely wrote nothing: a constraint is checked before the first byte
/// is written, and the frame that carries the commit mark is the last to find a full disk. After an I/O error a
/// recovery may find that frame or not.
pub(super) fn surely_rolled_back(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::ConstraintViolation | ErrorCode::DiskFull | ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked
        )
    )
}

/// The transaction was ended from inside a job: by its own COMMIT or ROLLBACK, by `ON CONFLICT ROLLBACK` or
/// `RAISE(ROLLBACK)`, by a full disk.
pub(super) fn ended_by_a_job() -> rusqlite::Error {
    let code = ffi::Error::new(ffi::SQLITE_ABORT_ROLLBACK);
    rusqlite::Error::SqliteFailure(code, Some("a job of the group ended its transaction".into()))
}

/// `file:app.db?mode=ro`, whose folder a path does not tell.
fn is_uri(file: &Path) -> bool {
    file.as_os_str().as_encoded_bytes().starts_with(b"file:")
}

fn backend(error: PoolError) -> Result<rusqlite::Error, PoolError> {
    match error {
        PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error)) => Ok(error),
        error => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_code(code: i32) -> rusqlite::Error {
        rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)
    }

    #[test]
    fn a_lock_a_full_disk_and_an_io_error_may_pass() {
        for code in [ffi::SQLITE_BUSY, ffi::SQLITE_LOCKED, ffi::SQLITE_FULL, ffi::SQLITE_IOERR_FSYNC] {
            assert!(failed(with_code(code)).is_transient(), "{code}");
        }
        assert!(failed(ended_by_a_job()).is_transient());
    }

    #[test]
    fn a_missing_table_and_damaged_data_do_not_pass() {
        for code in [ffi::SQLITE_ERROR, ffi::SQLITE_CORRUPT, ffi::SQLITE_NOTADB, ffi::SQLITE_READONLY] {
            assert!(!failed(with_code(code)).is_transient(), "{code}");
        }
        assert!(!failed(rusqlite::Error::InvalidQuery).is_transient());
    }

    #[test]
    fn only_an_error_before_the_commit_mark_is_surely_a_rollback() {
        for code in [ffi::SQLITE_CONSTRAINT_FOREIGNKEY, ffi::SQLITE_FULL, ffi::SQLITE_BUSY] {
            assert!(surely_rolled_back(&with_code(code)), "{code}");
        }
        for code in [ffi::SQLITE_IOERR_FSYNC, ffi::SQLITE_IOERR_WRITE, ffi::SQLITE_ERROR, ffi::SQLITE_CORRUPT] {
            assert!(!surely_rolled_back(&with_code(code)), "{code}");
        }
    }
}
