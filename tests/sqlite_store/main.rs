//! What `SqliteStore` promises of its file: what survives, who waits for whom, and what it refuses to open.
//!
//! `cargo test --test sqlite_store`
#![cfg(feature = "sqlite")]

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use rusqlite::Connection;
use tempfile::TempDir;
use tower_idempotency::{
    IdempotencyKey, SqliteStore,
    store::{ClaimRequest, Claimed, Fingerprint, ScopedKey, StoreError, StoredResponse, Token},
};

mod connections;
mod kept;
mod leases;
mod opening;
mod waiting;

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);
const LEASE: Duration = Duration::from_secs(10);

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    /// For a test that needs only the store: the folder goes with the test's process.
    fn kept(self) -> &'static Self {
        Box::leak(Box::new(self))
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    fn file(&self) -> std::path::PathBuf {
        self.path("store.db")
    }

    async fn store(&self) -> SqliteStore {
        SqliteStore::open(self.file()).await.unwrap()
    }

    /// A store whose clock shows this much after a fixed time.
    async fn at(&self, later: Duration) -> SqliteStore {
        SqliteStore::builder(self.file()).wall_clock(epoch() + later).open().await.unwrap()
    }

    fn impatient(&self) -> tower_idempotency::store::sqlite::SqliteStoreBuilder {
        SqliteStore::builder(self.file()).busy_timeout(Duration::from_millis(20))
    }

    fn connection(&self) -> Connection {
        Connection::open(self.file()).unwrap()
    }

    fn write_lock(&self) -> Connection {
        let connection = self.connection();
        connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        connection
    }

    fn count(&self, table: &str) -> i64 {
        self.connection().query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
    }

    fn pragma(&self, name: &str) -> String {
        self.connection().pragma_query_value(None, name, |row| row.get(0)).unwrap()
    }
}

fn epoch() -> SystemTime {
    SystemTime::UNIX_EPOCH + 500_000 * HOUR
}

fn request(key: &str) -> ClaimRequest {
    ClaimRequest {
        key: ScopedKey::new("tests", &IdempotencyKey::parse(key).unwrap()),
        fingerprint: Fingerprint::of(b"POST /", b"", b"body"),
        lease: LEASE,
        retention: 24 * HOUR,
    }
}

/// The same key on another body.
fn other_request(key: &str) -> ClaimRequest {
    ClaimRequest { fingerprint: Fingerprint::of(b"POST /", b"", b"other body"), ..request(key) }
}

fn response(body: &'static str) -> StoredResponse {
    let mut headers = HeaderMap::new();
    headers.append("x-line", "one".parse().unwrap());
    headers.append("x-line", "two".parse().unwrap());
    StoredResponse { status: StatusCode::CREATED, headers, body: Bytes::from_static(body.as_bytes()) }
}

fn acquired(claimed: Result<Claimed, StoreError>) -> Token {
    match claimed {
        Ok(Claimed::Acquired { token, .. }) => token,
        other => panic!("not acquired: {other:?}"),
    }
}
