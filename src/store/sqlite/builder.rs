//! Opening: settings, connections, tables.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::{Duration, SystemTime},
};

use deadpool_sqlite::{Config, Hook, HookError, Object, Pool, Runtime};
use rusqlite::{Connection, ErrorCode, OptionalExtension, TransactionBehavior};

use super::{
    SqliteStore,
    error::{OpenError, OpenErrorKind},
    group::Groups,
    writer::Writer,
};
use crate::store::clock::Clock;

/// The version of `schema.sql`.
const LAYOUT: i64 = 1;

/// Statements of the store and of its closures that stay prepared on the writer's connection; rusqlite keeps 16.
const PREPARED: usize = 128;

/// What a committed transaction survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Synchronous {
    /// A power cut: the log is synced before anything is acknowledged (`PRAGMA synchronous = FULL`).
    #[default]
    Full,
    /// A crash of the process. **A power cut may lose what was acknowledged last**, and a repeat then runs again
    /// (`PRAGMA synchronous = NORMAL`).
    Normal,
}

type SetUp = dyn Fn(&Connection) -> rusqlite::Result<()> + Send + Sync;

/// Settings of a [`SqliteStore`] that opens its own connections.
///
/// # Default
///
/// - [`synchronous`](Self::synchronous): [`Synchronous::Full`]
/// - [`busy_timeout`](Self::busy_timeout): 5 s
/// - [`read_connections`](Self::read_connections): 4
/// - [`wall_clock`](Self::wall_clock): the host's
/// - [`with_set_up`](Self::with_set_up): nothing
#[must_use]
pub struct SqliteStoreBuilder {
    file: PathBuf,
    synchronous: Synchronous,
    busy_timeout: Duration,
    read_connections: usize,
    wall_clock: Option<SystemTime>,
    set_up: Arc<SetUp>,
}

impl SqliteStoreBuilder {
    pub(super) fn new(file: PathBuf) -> Self {
        Self {
            file,
            synchronous: Synchronous::default(),
            busy_timeout: Duration::from_secs(5),
            read_connections: 4,
            wall_clock: None,
            set_up: Arc::new(|_| Ok(())),
        }
    }

    /// What a committed transaction survives; [`Synchronous::Full`] by default.
    pub fn synchronous(mut self, synchronous: Synchronous) -> Self {
        self.synchronous = synchronous;
        self
    }

    /// How long a connection waits for another process's lock, 5 s by default; then the answer is a
    /// [transient](crate::store::StoreError::is_transient) error.
    pub fn busy_timeout(mut self, timeout: Duration) -> Self {
        // SQLite counts it in milliseconds of 31 bits.
        self.busy_timeout = timeout.min(Duration::from_millis(i32::MAX.unsigned_abs().into()));
        self
    }

    /// How many connections look-ups and replays share, 4 by default and 1 at least. They are opened when needed.
    pub fn read_connections(mut self, connections: usize) -> Self {
        self.read_connections = connections.max(1);
        self
    }

    /// The time that the store's clock shows when it opens, for tests and simulations; the host's by default.
    pub fn wall_clock(mut self, start: SystemTime) -> Self {
        self.wall_clock = Some(start);
        self
    }

    /// Prepares each of the store's connections after its own pragmas: `PRAGMA foreign_keys`, functions, tables that
    /// [`commit`](crate::idempotency::Claim::commit_response) writes to. Nothing by default. A commit hook set here
    /// is replaced by the store's.
    pub fn with_set_up<F>(mut self, set_up: F) -> Self
    where
        F: Fn(&Connection) -> rusqlite::Result<()> + Send + Sync + 'static,
    {
        self.set_up = Arc::new(set_up);
        self
    }

    /// Opens the file, made if it does not exist, and makes the store's tables.
    ///
    /// # Errors
    ///
    /// [`OpenError`], whose [kind](OpenError::kind) says what to change.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub async fn open(self) -> Result<SqliteStore, OpenError> {
        let file = self.file.clone();
        self.open_own().await.map_err(|error| error.at(file))
    }

    async fn open_own(self) -> Result<SqliteStore, OpenError> {
        let Self { file, synchronous, busy_timeout, read_connections, wall_clock, set_up } = self;
        let Ok(builder) = Config::new(file).builder(Runtime::Tokio1);
        let pool = builder
            .max_size(read_connections)
            .post_create(Hook::async_fn(move |connection, _| {
                let set_up = Arc::clone(&set_up);
                Box::pin(async move {
                    let prepared = connection.interact(move |connection| {
                        connection.busy_timeout(busy_timeout)?;
                        set_wal(connection, busy_timeout)?;
                        connection.pragma_update(None, "synchronous", synchronous.value())?;
                        set_up(connection)
                    });
                    let prepared = prepared.await.map_err(|panic| HookError::message(panic.to_string()))?;
                    prepared.map_err(HookError::Backend)
                })
            }))
            .build()
            .expect("no time limit is set");
        let clock = wall_clock.map_or_else(Clock::sample, Clock::starting_at);
        let writer = open_writer(&pool, clock, demand_wal).await?;
        Ok(SqliteStore::new(pool, writer, clock))
    }
}

impl fmt::Debug for SqliteStoreBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStoreBuilder")
            .field("file", &self.file)
            .field("synchronous", &self.synchronous)
            .field("busy_timeout", &self.busy_timeout)
            .field("read_connections", &self.read_connections)
            .field("wall_clock", &self.wall_clock)
            .finish_non_exhaustive()
    }
}

impl Synchronous {
    fn value(self) -> &'static str {
        match self {
            Self::Full => "FULL",
            Self::Normal => "NORMAL",
        }
    }
}

/// The application's pool: what it set on its connections stands, and is only looked at.
pub(super) async fn open_pool(pool: Pool) -> Result<SqliteStore, OpenError> {
    let clock = Clock::sample();
    let writer = open_writer(&pool, clock, warn_of_weak_settings).await?;
    Ok(SqliteStore::new(pool, writer, clock))
}

async fn open_writer<F>(pool: &Pool, clock: Clock, journal: F) -> Result<Writer, OpenError>
where
    F: FnOnce(&Connection) -> Result<(), OpenError> + Send + 'static,
{
    let connection = pool.get().await.map_err(OpenError::of_pool)?;
    let prepared = connection.interact(move |connection| {
        refuse_what_cannot_be_shared(connection)?;
        journal(connection)?;
        connection.set_prepared_statement_cache_capacity(PREPARED);
        make_tables(connection)
    });
    prepared.await.map_err(|panic| OpenError::failed(panic.to_string()))??;
    // Taken for good, and only now: the pool may fill its place, and a database that was refused loses nothing.
    Ok(Writer::spawn(Object::take(connection), Groups::new(clock)))
}

fn refuse_what_cannot_be_shared(connection: &Connection) -> Result<(), OpenError> {
    if connection.path().is_none_or(|path| Path::new(path) == Path::new("")) {
        return Err(OpenErrorKind::InMemory.into());
    }
    if connection.is_readonly(rusqlite::MAIN_DB).map_err(OpenError::because)? {
        return Err(OpenErrorKind::ReadOnly.into());
    }
    Ok(())
}

/// Changes nothing, and takes no write lock, where the mode is WAL already.
fn set_wal(connection: &Connection, busy_timeout: Duration) -> rusqlite::Result<()> {
    // SQLite gives up at once, without its busy handler, where two connections change the journal mode.
    const PAUSE: Duration = Duration::from_millis(10);
    let mut waited = Duration::ZERO;
    loop {
        match connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())) {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && waited < busy_timeout => {
                thread::sleep(PAUSE);
                waited += PAUSE;
            }
            set => return set,
        }
    }
}

fn demand_wal(connection: &Connection) -> Result<(), OpenError> {
    let mode = journal_mode(connection).map_err(OpenError::because)?;
    if mode == "wal" { Ok(()) } else { Err(OpenErrorKind::NoWal.into()) }
}

fn journal_mode(connection: &Connection) -> rusqlite::Result<String> {
    connection.pragma_query_value(None, "journal_mode", |row| row.get(0))
}

fn warn_of_weak_settings(connection: &Connection) -> Result<(), OpenError> {
    const FULL: i64 = 2;
    let mode = journal_mode(connection).map_err(OpenError::because)?;
    let synchronous = connection.pragma_query_value(None, "synchronous", |row| row.get(0));
    let synchronous: i64 = synchronous.map_err(OpenError::because)?;
    if mode == "memory" {
        return Err(OpenErrorKind::InMemory.into());
    }
    if mode != "wal" {
        tracing::warn!(mode, "the pool's journal mode is not WAL: replays wait for writers, and writers for replays");
    }
    if synchronous < FULL {
        tracing::warn!(synchronous, "the pool's synchronous is below FULL: a power cut may lose acknowledged keys");
    }
    Ok(())
}

fn make_tables(connection: &mut Connection) -> Result<(), OpenError> {
    let layout = layout_of(connection).and_then(|found| match found {
        Some(layout) => Ok(layout),
        None => {
            let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            // Another process may have been first.
            if layout_of(&tx)?.is_none() {
                tx.execute_batch(include_str!("schema.sql"))?;
            }
            let made = layout_of(&tx)?.unwrap_or_default();
            tx.commit()?;
            Ok(made)
        }
    });
    match layout.map_err(OpenError::because)? {
        LAYOUT => Ok(()),
        _ => Err(OpenErrorKind::OtherLayout.into()),
    }
}

/// `None` without the store's tables.
fn layout_of(connection: &Connection) -> rusqlite::Result<Option<i64>> {
    // Not `table_exists`, which does not see what another process has made since this connection first looked.
    const MADE: &str = "SELECT 1 FROM main.sqlite_schema WHERE type = 'table' AND name = 'tower_idempotency_fence'";
    if !connection.prepare(MADE)?.exists([])? {
        return Ok(None);
    }
    let row = connection.query_row("SELECT layout FROM tower_idempotency_fence", [], |row| row.get(0)).optional()?;
    Ok(Some(row.unwrap_or_default()))
}
