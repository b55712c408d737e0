//! The store's connections and the application's pool: what is set on them, and when they are closed.

use std::{
    error::Error as _,
    io,
    sync::{
        Arc, Barrier, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use deadpool_sqlite::{Config, Hook, HookError, Runtime};
use rusqlite::Connection;
use tokio::sync::mpsc;
use tower_idempotency::{
    SqliteStore, Store,
    store::{Held, Outcome, StoreError, sqlite::Synchronous},
};

use crate::{Folder, LEASE, acquired, request, response};

#[tokio::test]
async fn each_own_connection_is_wal_and_as_synchronous_as_it_was_asked_to_be() {
    for (asked, value) in [(None, 2), (Some(Synchronous::Full), 2), (Some(Synchronous::Normal), 1)] {
        let folder = Folder::new();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let look = Arc::clone(&seen);
        let mut builder = SqliteStore::builder(folder.file()).with_set_up(move |connection| {
            let synchronous: i64 = connection.pragma_query_value(None, "synchronous", |row| row.get(0))?;
            look.lock().unwrap().push(synchronous);
            Ok(())
        });
        if let Some(asked) = asked {
            builder = builder.synchronous(asked);
        }
        let store = builder.open().await.unwrap();
        acquired(store.claim(&request("a")).await);

        assert_eq!(*seen.lock().unwrap(), [value, value], "the writer's connection and one to read");
        assert_eq!(folder.pragma("journal_mode"), "wal");
    }
}

/// SQLite 3.51.0 and 3.51.1 deadlock here within some twenty rounds, and with them the whole process.
#[test]
fn connections_on_one_file_may_close_at_the_same_instant() {
    const ROUNDS: usize = 200;
    let (ended, all_ended) = std::sync::mpsc::channel();
    for _ in 0..6 {
        let ended = ended.clone();
        thread::spawn(move || {
            let folder = Folder::new();
            folder.connection().pragma_update(None, "journal_mode", "WAL").unwrap();
            for _ in 0..ROUNDS {
                let closing = Barrier::new(3);
                thread::scope(|scope| {
                    for _ in 0..3 {
                        scope.spawn(|| {
                            let connection = folder.connection();
                            // WAL has to be in use.
                            connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())).unwrap();
                            closing.wait();
                            drop(connection);
                        });
                    }
                });
            }
            ended.send(()).unwrap();
        });
    }
    for _ in 0..6 {
        all_ended.recv_timeout(Duration::from_secs(120)).expect("no connection hangs as it closes");
    }
}

#[tokio::test]
async fn the_pool_of_an_application_keeps_its_size_and_its_hooks_apply() {
    let folder = Folder::new();
    folder.connection().pragma_update(None, "journal_mode", "WAL").unwrap();
    let hooked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&hooked);
    let Ok(builder) = Config::new(folder.file()).builder(Runtime::Tokio1);
    let pool = builder
        .max_size(1)
        .post_create(Hook::sync_fn(move |connection, _| {
            counted.fetch_add(1, Ordering::Relaxed);
            let connection = connection.lock().map_err(|_| HookError::message("poisoned"))?;
            connection.pragma_update(None, "foreign_keys", true).map_err(HookError::Backend)
        }))
        .build()
        .unwrap();

    let store = SqliteStore::with_pool(pool.clone()).await.unwrap();
    let token = acquired(store.claim(&request("a")).await);
    assert_eq!(store.complete(&token, Outcome::Response(response("made"))).await.unwrap(), Held::Yes);

    assert_eq!(hooked.load(Ordering::Relaxed), 2, "the writer's connection and one that reads");
    let running = acquired(store.claim(&request("b")).await);
    let only = pool.get().await.unwrap();
    assert_eq!((pool.status().size, pool.status().max_size), (1, 1));
    assert_eq!(store.renew(&running, LEASE).await.unwrap(), Held::Yes, "while the application holds the only one");
    drop((only, store));
    assert!(pool.get().await.is_ok(), "the application's pool outlives the store");
}

#[tokio::test]
async fn a_pool_whose_settings_are_weak_is_warned_about_and_not_changed() {
    let log = Log::default();
    let lines = log.clone();
    tracing_subscriber::fmt().with_writer(move || lines.clone()).with_ansi(false).init();
    let folder = Folder::new();
    let Ok(builder) = Config::new(folder.file()).builder(Runtime::Tokio1);
    let weaken = Hook::sync_fn(|connection, _| {
        let connection = connection.lock().map_err(|_| HookError::message("poisoned"))?;
        connection.pragma_update(None, "synchronous", "NORMAL").map_err(HookError::Backend)
    });
    let store = SqliteStore::with_pool(builder.post_create(weaken).build().unwrap()).await.unwrap();
    let token = acquired(store.claim(&request("a")).await);
    assert_eq!(store.release(&token).await.unwrap(), Held::Yes);

    assert_eq!(folder.pragma("journal_mode"), "delete");
    assert!(log.contains("the pool's journal mode is not WAL"));
    assert!(log.contains("the pool's synchronous is below FULL"));
}

#[tokio::test]
async fn all_connections_are_closed_when_the_last_handle_is_dropped() {
    let folder = Folder::new();
    let (open, mut all_closed) = mpsc::channel::<()>(1);
    let open = Mutex::new(vec![open.clone(), open]);
    // Each connection owns its hook, and with it one of the two senders.
    let hold = move |connection: &Connection| {
        let open = open.lock().unwrap().pop();
        connection.rollback_hook(Some(move || drop(open.clone())))
    };
    let store = SqliteStore::builder(folder.file()).read_connections(1).with_set_up(hold).open().await.unwrap();
    let token = acquired(store.claim(&request("a")).await);
    let clone = store.clone();
    drop(store);
    assert_eq!(clone.release(&token).await.unwrap(), Held::Yes);
    drop(clone);
    assert_eq!(all_closed.recv().await, None);
}

#[test]
fn a_store_whose_runtime_has_ended_answers_an_error_and_is_dropped_quietly() {
    let folder = Folder::new();
    let first = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (store, token) = first.block_on(async {
        let store = folder.store().await;
        let token = acquired(store.claim(&request("a")).await);
        (store, token)
    });
    drop(first);
    let second = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let error: StoreError = second.block_on(store.release(&token)).unwrap_err();
    assert!(!error.is_transient());
    assert_eq!(error.source().unwrap().to_string(), "the writer of the store has ended with its runtime");
    drop(second);
    drop(store);
}

/// What was logged, by any test of this process.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn contains(&self, text: &str) -> bool {
        String::from_utf8_lossy(&self.0.lock().unwrap()).contains(text)
    }
}

impl io::Write for Log {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(line)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
