//! A shop that takes orders: a store, claims on it, and closures that write.

use std::{
    sync::mpsc::{Receiver, Sender, channel},
    time::Duration,
};

use bytes::Bytes;
use http::{Response, StatusCode};
use rusqlite::Connection;
use tempfile::TempDir;
use tokio::sync::oneshot;

use crate::{
    IdempotencyKey,
    idempotency::{Claim, CommitError, CommitErrorKind, CommitState, Ended, Recorder},
    store::{
        ClaimRequest, Claimed, Fingerprint, ScopedKey, Store, Token,
        sqlite::{SqliteStore, Tx},
    },
};

pub(super) const LEASE: Duration = Duration::from_secs(9);
/// How long a call of the store may take.
pub(super) const LIMIT: Duration = Duration::from_secs(5);

pub(super) struct Shop {
    folder: TempDir,
    pub(super) store: SqliteStore,
}

pub(super) struct Order {
    pub(super) claim: Claim<SqliteStore>,
    pub(super) token: Token,
    state: CommitState,
}

impl Shop {
    pub(super) async fn open() -> Self {
        let folder = TempDir::new().unwrap();
        let set_up = |connection: &Connection| {
            connection.execute_batch(
                "PRAGMA foreign_keys = ON;
                 CREATE TABLE IF NOT EXISTS orders (note TEXT NOT NULL UNIQUE);
                 CREATE TABLE IF NOT EXISTS wholes (id INTEGER PRIMARY KEY);
                 CREATE TABLE IF NOT EXISTS parts (whole REFERENCES wholes DEFERRABLE INITIALLY DEFERRED)",
            )
        };
        let builder = SqliteStore::builder(folder.path().join("shop.db")).with_set_up(set_up);
        let store = builder.busy_timeout(Duration::from_millis(50)).open().await.unwrap();
        Self { folder, store }
    }

    pub(super) async fn claim(&self, key: &str) -> Order {
        self.claim_with(key, 1024).await
    }

    pub(super) async fn claim_with(&self, key: &str, limit: usize) -> Order {
        let Ok(Claimed::Acquired { token, attempt }) = self.store.claim(&request(key)).await else {
            panic!("{key} is taken")
        };
        let state = CommitState::new();
        let claim = Claim::new(
            self.store.clone(),
            IdempotencyKey::parse(key).unwrap(),
            token.clone(),
            attempt,
            state.clone(),
            (recorder(limit), LIMIT),
        );
        Order { claim, token, state }
    }

    pub(super) async fn outcome(&self, key: &str) -> String {
        match self.store.claim(&request(key)).await.unwrap() {
            Claimed::Done(response) => format!("done: {}", String::from_utf8_lossy(&response.body)),
            Claimed::NotReplayable(status) => format!("closed: {status}"),
            Claimed::InFlight { .. } => "in flight".to_owned(),
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn connection(&self) -> Connection {
        Connection::open(self.folder.path().join("shop.db")).unwrap()
    }

    pub(super) fn orders(&self) -> Vec<String> {
        let connection = self.connection();
        let mut orders = connection.prepare("SELECT note FROM orders ORDER BY note").unwrap();
        orders.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    }
}

impl Order {
    pub(super) async fn ended(&self) -> String {
        match self.state.end(Duration::from_secs(60)).await {
            Ended::Open => "open".to_owned(),
            Ended::Committed(response) => format!("committed: {}", String::from_utf8_lossy(response.body())),
            Ended::Passed => "passed".to_owned(),
            Ended::Unknown => "unknown".to_owned(),
            Ended::Left | Ended::Joined(_) => panic!("no closure holds a transaction"),
        }
    }
}

/// Holds a closure inside the writer until it is opened.
pub(super) struct Gate {
    entered: oneshot::Receiver<()>,
    open: Sender<()>,
}

impl Gate {
    pub(super) async fn entered(&mut self) {
        (&mut self.entered).await.unwrap();
    }

    pub(super) fn open(&self) {
        self.open.send(()).unwrap();
    }
}

pub(super) fn gated(note: &'static str) -> (Gate, impl FnOnce(&Tx<'_>) -> Result<Response<Bytes>, ShopError> + Send) {
    let (enter, entered) = oneshot::channel();
    let (open, opened): (_, Receiver<()>) = channel();
    let closure = move |tx: &Tx<'_>| {
        enter.send(()).unwrap();
        opened.recv().unwrap();
        insert(note)(tx)
    };
    (Gate { entered, open }, closure)
}

#[derive(Debug)]
pub(super) enum ShopError {
    SoldOut,
    #[expect(dead_code, reason = "read by whoever reads a failed test")]
    Sql(rusqlite::Error),
    Commit(CommitError),
}

impl From<rusqlite::Error> for ShopError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<CommitError> for ShopError {
    fn from(error: CommitError) -> Self {
        Self::Commit(error)
    }
}

pub(super) fn insert(note: &str) -> impl FnOnce(&Tx<'_>) -> Result<Response<Bytes>, ShopError> + Send + use<> {
    let note = note.to_owned();
    move |tx| {
        tx.prepare_cached("INSERT INTO orders VALUES (?1)")?.execute([&note])?;
        Ok(created(&note))
    }
}

pub(super) fn created(body: &str) -> Response<Bytes> {
    Response::builder().status(StatusCode::CREATED).body(body.to_owned().into()).unwrap()
}

pub(super) fn kind<T: std::fmt::Debug>(refused: Result<T, ShopError>) -> CommitErrorKind {
    commit_error(refused).kind()
}

pub(super) fn commit_error<T: std::fmt::Debug>(refused: Result<T, ShopError>) -> CommitError {
    match refused {
        Err(ShopError::Commit(error)) => error,
        other => panic!("{other:?}"),
    }
}

fn request(key: &str) -> ClaimRequest {
    ClaimRequest {
        key: ScopedKey::new("shop", &IdempotencyKey::parse(key).unwrap()),
        fingerprint: Fingerprint::of(b"POST /orders", b"", b""),
        lease: LEASE,
        retention: 100 * LEASE,
    }
}

pub(in crate::store::sqlite) fn recorder(limit: usize) -> Recorder {
    Recorder { limit, ..Recorder::default() }
}
