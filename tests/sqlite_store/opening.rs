//! What cannot be opened, and what is damaged.

use std::{error::Error as _, fs, time::Duration};

use deadpool_sqlite::{Config, Pool, Runtime};
use rusqlite::Connection;
use tower_idempotency::{
    SqliteStore, Store,
    store::{
        Held, Outcome,
        sqlite::{OpenError, OpenErrorKind},
    },
};

use crate::{Folder, LEASE, acquired, request, response};

#[tokio::test]
async fn a_database_in_memory_is_refused() {
    for name in [":memory:", "", "file::memory:", "file:shared?mode=memory&cache=shared", "file:/shared?vfs=memdb"] {
        let error = SqliteStore::open(name).await.unwrap_err();
        assert!(matches!(error.kind(), OpenErrorKind::InMemory | OpenErrorKind::NoWal), "{name}: {error}");
        let Ok(builder) = Config::new(name).builder(Runtime::Tokio1);
        let pool: Pool = builder.max_size(1).build().unwrap();
        assert_eq!(SqliteStore::with_pool(pool.clone()).await.unwrap_err().kind(), OpenErrorKind::InMemory, "{name}");
        assert_eq!(pool.status().available, 1, "the refused pool has lost nothing");
    }
    let error = SqliteStore::open(":memory:").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot keep idempotency keys in :memory:: each connection to a database in memory would be another database"
    );
}

#[tokio::test]
async fn what_cannot_be_opened_is_told_by_name() {
    let folder = Folder::new();
    let text = folder.path("notes.txt");
    fs::write(&text, "this is not a database, however long it is".repeat(100)).unwrap();
    let locked = folder.path("locked.db");
    let lock = Connection::open(&locked).unwrap();
    lock.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; CREATE TABLE t (x)").unwrap();
    let read_only = folder.path("read_only.db");
    let _opened = SqliteStore::open(&read_only).await.unwrap();
    let other = folder.path("other.db");
    SqliteStore::open(&other).await.unwrap();
    Connection::open(&other).unwrap().execute("UPDATE tower_idempotency_fence SET layout = 99", []).unwrap();

    let cases = [
        (folder.0.path().to_owned(), OpenErrorKind::IsDirectory, "it is a directory"),
        (folder.path("missing/store.db"), OpenErrorKind::MissingFolder, "its folder does not exist"),
        (text, OpenErrorKind::NotADatabase, "it is not an SQLite database"),
        (locked, OpenErrorKind::Locked, "another connection keeps it locked"),
        // By URI, since a superuser may write what is marked read-only.
        (format!("file:{}?mode=ro", read_only.display()).into(), OpenErrorKind::ReadOnly, "it cannot be written"),
        (other, OpenErrorKind::OtherLayout, "its tables have the layout of another version"),
    ];
    for (file, kind, text) in cases {
        let opened: Result<_, OpenError> =
            SqliteStore::builder(&file).busy_timeout(Duration::from_millis(20)).open().await;
        let error = opened.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}: {:?}", error.source());
        assert_eq!(error.to_string(), format!("cannot keep idempotency keys in {}: {text}", file.display()));
    }
}

#[tokio::test]
async fn a_set_up_that_fails_is_an_error_of_opening() {
    let folder = Folder::new();
    let set_up = |connection: &Connection| connection.execute_batch("no such statement");
    let error = SqliteStore::builder(folder.file()).with_set_up(set_up).open().await.unwrap_err();
    assert_eq!(error.kind(), OpenErrorKind::Failed);
    assert!(error.source().unwrap().to_string().contains("syntax error"));
}

#[tokio::test]
async fn damaged_records_and_missing_tables_are_permanent_errors() {
    let folder = Folder::new();
    let store = folder.store().await;
    let token = acquired(store.claim(&request("a")).await);
    assert_eq!(store.complete(&token, Outcome::Response(response("made"))).await.unwrap(), Held::Yes);
    folder.connection().execute("UPDATE tower_idempotency_records SET response = x'00'", []).unwrap();
    assert!(!store.claim(&request("a")).await.unwrap_err().is_transient());
    folder.connection().execute("DROP TABLE tower_idempotency_records", []).unwrap();
    assert!(!store.claim(&request("a")).await.unwrap_err().is_transient());
    assert!(!store.renew(&token, LEASE).await.unwrap_err().is_transient());
}
