//! The store: reads on the pool's connections, writes through the writer.

use std::{path::PathBuf, sync::Arc, time::Duration};

use deadpool_sqlite::Pool;
use rusqlite::Connection;
use tokio::runtime::Handle;

use super::{
    builder::{self, SqliteStoreBuilder},
    columns::Columns,
    error::{self, OpenError},
    records,
    writer::Writer,
};
use crate::store::{
    ClaimRequest, Claimed, Found, Held, Outcome, ScopedKey, Status, Store, StoreError, Token, clock::Clock,
};

/// Keeps records in an SQLite file, and commits the handler's writes together with the completion of its key.
///
/// [The module's page](crate::store::sqlite) says what it promises and what it asks for. A clone is another handle on the same store;
/// when the last is dropped the writer finishes what it has in hand and ends.
#[derive(Clone, Debug)]
pub struct SqliteStore {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// `None` only while this is dropped.
    readers: Option<Pool>,
    writer: Writer,
    clock: Clock,
    runtime: Handle,
}

impl SqliteStore {
    /// Opens a file, made if it does not exist, with the [default settings](SqliteStoreBuilder).
    ///
    /// # Errors
    ///
    /// [`OpenError`], whose [kind](OpenError::kind) says what to change.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub async fn open(file: impl Into<PathBuf>) -> Result<Self, OpenError> {
        Self::builder(file).open().await
    }

    /// Settings for a store on a file of its own, or on the application's file through connections of its own.
    pub fn builder(file: impl Into<PathBuf>) -> SqliteStoreBuilder {
        SqliteStoreBuilder::new(file.into())
    }

    /// A store in the application's database, through the application's pool.
    ///
    /// One connection is taken out of the pool for the writer, whose place the pool may fill; look-ups and replays
    /// take a connection for a moment. The pool's hooks and pragmas apply to both: the store changes no setting, and
    /// warns if the journal mode is not WAL or `synchronous` is below FULL. A commit hook on the writer's connection
    /// is replaced.
    ///
    /// # Errors
    ///
    /// [`OpenError`], whose [kind](OpenError::kind) says what to change.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub async fn with_pool(pool: Pool) -> Result<Self, OpenError> {
        builder::open_pool(pool).await
    }

    pub(super) fn new(readers: Pool, writer: Writer, clock: Clock) -> Self {
        Self { inner: Arc::new(Inner { readers: Some(readers), writer, clock, runtime: Handle::current() }) }
    }

    pub(super) fn writer(&self) -> &Writer {
        &self.inner.writer
    }

    async fn read<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection, i64) -> rusqlite::Result<T> + Send + 'static,
    {
        let readers = self.inner.readers.as_ref().expect("a handle is left");
        let connection = readers.get().await.map_err(error::no_connection)?;
        let clock = self.inner.clock;
        let read = connection.interact(move |connection| work(connection, clock.now_millis())).await;
        read.map_err(|panic| StoreError::transient(panic.to_string()))?.map_err(error::failed)
    }
}

impl Store for SqliteStore {
    async fn claim(&self, request: &ClaimRequest) -> Result<Claimed, StoreError> {
        // Rule 4: what needs no change is answered without the writer, which judges once more what does.
        let asked = request.clone();
        let judged = self.read(move |connection, now| records::judge(connection, &asked, now)).await?;
        if let Some(answer) = judged.settled() {
            return Ok(answer);
        }
        let asked = request.clone();
        let claim = move |connection: &Connection, now| records::claim(connection, &asked, now);
        self.writer().ask(Some(request.lease), claim).await
    }

    async fn lookup(&self, request: &ClaimRequest) -> Result<Found, StoreError> {
        let request = request.clone();
        self.read(move |connection, now| records::judge(connection, &request, now)).await.map(Found::from)
    }

    async fn renew(&self, token: &Token, lease: Duration) -> Result<Held, StoreError> {
        let token = token.clone();
        let renew = move |connection: &Connection, now| records::renew(connection, &token, lease, now);
        self.writer().renew(lease, renew).await
    }

    async fn complete(&self, token: &Token, outcome: Outcome) -> Result<Held, StoreError> {
        let (token, outcome) = (token.clone(), Columns::from(&outcome));
        self.writer().ask(None, move |connection, now| records::complete(connection, &token, &outcome, now)).await
    }

    async fn release(&self, token: &Token) -> Result<Held, StoreError> {
        let token = token.clone();
        self.writer().ask(None, move |connection, now| records::release(connection, &token, now)).await
    }

    async fn status(&self, key: &ScopedKey) -> Result<Status, StoreError> {
        let key = key.clone();
        self.read(move |connection, now| records::status(connection, &key, now)).await
    }

    async fn force_release(&self, key: &ScopedKey) -> Result<Held, StoreError> {
        let asked = key.clone();
        let free = move |connection: &Connection, now| records::force_release(connection, &asked, now);
        let freed = self.writer().ask(None, free).await?;
        if let Held::Yes = freed {
            tracing::warn!("an unfinished key was freed by hand: its holder can complete nothing");
        }
        Ok(freed)
    }

    async fn forget(&self, key: &ScopedKey) -> Result<Held, StoreError> {
        let key = key.clone();
        self.writer().ask(None, move |connection, now| records::forget(connection, &key, now)).await
    }

    async fn purge(&self, batch: u32) -> Result<u64, StoreError> {
        self.writer().ask(None, move |connection, now| records::purge(connection, batch, now)).await
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // A pool closes its connections on blocking threads, and panics where there is no runtime to have them.
        let _runtime = self.runtime.enter();
        drop(self.readers.take());
    }
}
