//! `SqliteStore`: every promise of a store. Those of its own page are in `tests/sqlite_store`.

use tempfile::TempDir;
use tower_idempotency::{SqliteStore, store::sqlite::Synchronous};

use crate::Fixture;

struct Sqlite {
    store: SqliteStore,
    _folder: TempDir,
}

impl Fixture for Sqlite {
    type Store = SqliteStore;

    /// Nothing here cuts the power, so the file is not synced.
    async fn fresh() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = SqliteStore::builder(folder.path().join("keys.db")).synchronous(Synchronous::Normal).open().await;
        Self { store: store.expect("a new file"), _folder: folder }
    }

    fn store(&self) -> &SqliteStore {
        &self.store
    }
}

crate::every_promise!(Sqlite);
