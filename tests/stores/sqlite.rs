//! `SqliteStore`: every promise of a store. Those of its own page are in `tests/sqlite_store`.
//!
//! No `record_locks`: SQLite locks no rows. Whoever writes holds the one write lock of the file, and what this store
//! answers meanwhile is a transient error (`a_locked_database_is_a_transient_error_and_never_a_no`).

use std::time::Duration;

use rusqlite::Connection;
use tempfile::TempDir;
use tower_idempotency::{
    SqliteStore,
    store::{
        conformance::{Faults, Fixture, WriteLock},
        sqlite::Synchronous,
    },
};

struct Sqlite {
    store: SqliteStore,
    folder: TempDir,
}

impl Fixture for Sqlite {
    type Store = SqliteStore;

    /// Nothing here cuts the power, so the file is not synced; nobody holds a lock that will be given back in time.
    async fn fresh() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let builder = SqliteStore::builder(folder.path().join("keys.db")).synchronous(Synchronous::Normal);
        let store = builder.busy_timeout(Duration::from_millis(20)).open().await.expect("a new file");
        Self { store, folder }
    }

    fn store(&self) -> &SqliteStore {
        &self.store
    }
}

impl Sqlite {
    /// Another program's.
    fn connection(&self) -> Connection {
        Connection::open(self.folder.path().join("keys.db")).expect("the store's file")
    }
}

impl WriteLock for Sqlite {
    type WriteGuard = Connection;

    async fn lock_writes(&self) -> Connection {
        let connection = self.connection();
        connection.execute_batch("BEGIN IMMEDIATE").expect("nobody else writes");
        connection
    }
}

impl Faults for Sqlite {
    type Fault = Connection;

    async fn fail_for_now(&self) -> Connection {
        self.lock_writes().await
    }

    async fn fail_for_good(&self) {
        self.connection().execute_batch("DROP TABLE tower_idempotency_records").expect("nobody else writes");
    }
}

tower_idempotency::store_conformance!(Sqlite);
tower_idempotency::store_conformance!(Sqlite, write_lock);
tower_idempotency::store_conformance!(Sqlite, faults);
