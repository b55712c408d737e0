//! What `SqliteStore` promises of its file: what survives, who waits for whom, and what it refuses to open.
#![cfg(feature = "sqlite")]

use std::{
    error::Error as _,
    fs, io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use deadpool_sqlite::{Config, Hook, HookError, Pool, Runtime};
use futures_util::future::join_all;
use http::{HeaderMap, StatusCode};
use rusqlite::Connection;
use tempfile::TempDir;
use tokio::{sync::mpsc, time::advance};
use tower_idempotency::{
    IdempotencyKey, SqliteStore, Store,
    store::{
        ClaimRequest, Claimed, Fingerprint, Found, Held, Outcome, ScopedKey, Status, StoreError, StoredResponse, Token,
        sqlite::{OpenError, OpenErrorKind, Synchronous},
    },
};

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);
const LEASE: Duration = Duration::from_secs(10);

#[tokio::test]
async fn what_was_acknowledged_is_there_after_reopening() {
    let folder = Folder::new();
    let store = folder.store().await;
    let first = acquired(store.claim(&request("done")).await);
    assert_eq!(store.complete(&first, Outcome::Response(response("made"))).await.unwrap(), Held::Yes);
    let second = acquired(store.claim(&request("closed")).await);
    let closed = Outcome::NotReplayable(StatusCode::ACCEPTED);
    assert_eq!(store.complete(&second, closed).await.unwrap(), Held::Yes);
    let third = acquired(store.claim(&request("running")).await);
    drop(store);

    let store = folder.store().await;
    assert!(matches!(store.claim(&request("done")).await, Ok(Claimed::Done(kept)) if kept == response("made")));
    assert!(matches!(store.claim(&request("closed")).await, Ok(Claimed::NotReplayable(StatusCode::ACCEPTED))));
    assert!(matches!(store.claim(&request("running")).await, Ok(Claimed::InFlight { .. })));
    assert_eq!(store.renew(&third, LEASE).await.unwrap(), Held::Yes);
    assert_eq!(store.release(&third).await.unwrap(), Held::Yes);
}

#[tokio::test]
async fn fences_rise_across_release_forgetting_purge_and_reopening() {
    let folder = Folder::new();
    let mut last = 0;
    for round in 0..3 {
        let store = folder.store().await;
        let released = acquired(store.claim(&request("a")).await);
        assert_eq!(store.release(&released).await.unwrap(), Held::Yes);
        let forgotten = acquired(store.claim(&request("a")).await);
        assert_eq!(store.forget(forgotten.key()).await.unwrap(), Held::Yes);
        assert!(last < released.fence() && released.fence() < forgotten.fence(), "round {round}");
        last = forgotten.fence();
    }
}

/// V1, V2.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn fifty_claims_through_two_stores_on_one_file_have_one_winner_and_no_error() {
    let folder = Folder::new();
    let stores = [folder.store().await, folder.store().await];
    for round in 0..10 {
        let claims = (0..50).map(|n| {
            let store = stores[n % 2].clone();
            tokio::spawn(async move { store.claim(&request(&format!("race {round}"))).await })
        });
        let claimed: Vec<_> = join_all(claims).await.into_iter().map(|claim| claim.unwrap().unwrap()).collect();
        let winners = claimed.iter().filter(|claimed| matches!(claimed, Claimed::Acquired { .. })).count();
        let refused = claimed.iter().filter(|claimed| matches!(claimed, Claimed::InFlight { .. })).count();
        assert_eq!((winners, refused), (1, 49), "round {round}");
    }
}

/// V1: two processes start at the same instant.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn stores_that_make_the_same_new_file_at_once_all_open() {
    for _ in 0..30 {
        let folder = Folder::new();
        let opening = (0..8).map(|n| {
            let store = SqliteStore::open(folder.file());
            tokio::spawn(async move { acquired(store.await.unwrap().claim(&request(&n.to_string())).await).fence() })
        });
        let mut fences: Vec<_> = join_all(opening).await.into_iter().map(Result::unwrap).collect();
        fences.sort_unstable();
        assert_eq!(fences, [1, 2, 3, 4, 5, 6, 7, 8]);
    }
}

/// V4.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn losers_while_the_winner_finishes_see_in_flight_or_the_response() {
    let folder = Folder::new();
    let (winner, loser) = (folder.store().await, folder.store().await);
    for round in 0..20 {
        let request = request(&format!("race {round}"));
        let token = acquired(winner.claim(&request).await);
        let losing = (0..10).map(|_| {
            let (loser, request) = (loser.clone(), request.clone());
            tokio::spawn(async move { loser.claim(&request).await.unwrap() })
        });
        let losing: Vec<_> = losing.collect();
        assert_eq!(winner.complete(&token, Outcome::Response(response("made"))).await.unwrap(), Held::Yes);
        for claimed in join_all(losing).await {
            assert!(matches!(claimed.unwrap(), Claimed::InFlight { .. } | Claimed::Done(_)));
        }
        assert!(matches!(loser.claim(&request).await.unwrap(), Claimed::Done(_)));
    }
}

/// Rule 4 of the store contract.
#[tokio::test]
async fn answers_that_change_nothing_need_no_write_lock() {
    let folder = Folder::new();
    let store = folder.impatient().open().await.unwrap();
    let done = acquired(store.claim(&request("done")).await);
    assert_eq!(store.complete(&done, Outcome::Response(response("made"))).await.unwrap(), Held::Yes);
    acquired(store.claim(&request("running")).await);

    let _lock = folder.write_lock();
    assert!(matches!(store.claim(&request("done")).await, Ok(Claimed::Done(_))));
    assert!(matches!(store.claim(&request("running")).await, Ok(Claimed::InFlight { .. })));
    assert!(matches!(store.claim(&other_request("done")).await, Ok(Claimed::Mismatch(differs)) if differs.body));
    assert!(matches!(store.lookup(&request("absent")).await, Ok(Found::Absent)));
    assert!(matches!(store.status(done.key()).await, Ok(Status::Done { replayable: true, .. })));
    let opened_meanwhile = folder.impatient().open().await.unwrap();
    assert!(matches!(opened_meanwhile.claim(&request("done")).await, Ok(Claimed::Done(_))));
}

/// Rule 5 of the store contract.
#[tokio::test]
async fn a_locked_database_is_a_transient_error_and_never_a_no() {
    let folder = Folder::new();
    let store = folder.impatient().open().await.unwrap();
    let token = acquired(store.claim(&request("held")).await);

    let lock = folder.write_lock();
    let errors = [
        store.claim(&request("new")).await.map(drop),
        store.renew(&token, LEASE).await.map(drop),
        store.release(&token).await.map(drop),
        store.complete(&token, Outcome::Response(response("made"))).await.map(drop),
    ];
    for error in errors {
        let error = error.unwrap_err();
        assert!(error.is_transient());
        assert_eq!(error.source().unwrap().to_string(), "database is locked");
    }
    drop(lock);
    assert_eq!(store.release(&token).await.unwrap(), Held::Yes);
}

/// V11.
#[tokio::test(start_paused = true)]
async fn a_lease_from_a_clock_that_was_set_back_lapses_after_its_own_length() {
    let folder = Folder::new();
    let ahead = folder.at(HOUR).await;
    let first = acquired(ahead.claim(&request("a")).await);

    let store = folder.at(Duration::ZERO).await;
    assert!(matches!(store.lookup(&request("a")).await, Ok(Found::InFlight { lease_left: LEASE })));
    assert!(matches!(store.claim(&request("a")).await, Ok(Claimed::InFlight { lease_left: LEASE })));
    advance(LEASE - SECOND).await;
    assert!(matches!(store.claim(&request("a")).await, Ok(Claimed::InFlight { lease_left: SECOND })));
    advance(SECOND).await;
    assert!(matches!(store.claim(&request("a")).await, Ok(Claimed::Acquired { attempt: 2, .. })));
    assert_eq!(ahead.complete(&first, Outcome::Response(response("late"))).await.unwrap(), Held::No);
}

/// V11.
#[tokio::test(start_paused = true)]
async fn a_cut_lease_that_is_renewed_goes_on() {
    let folder = Folder::new();
    let ahead = folder.at(HOUR).await;
    let token = acquired(ahead.claim(&request("a")).await);
    let store = folder.at(Duration::ZERO).await;

    for _ in 0..5 {
        assert!(matches!(store.claim(&request("a")).await, Ok(Claimed::InFlight { lease_left: LEASE })));
        advance(LEASE / 2).await;
        assert_eq!(ahead.renew(&token, LEASE).await.unwrap(), Held::Yes);
    }
    assert_eq!(ahead.complete(&token, Outcome::Response(response("made"))).await.unwrap(), Held::Yes);
    assert!(matches!(store.claim(&request("a")).await, Ok(Claimed::Done(_))));
}

/// V11.
#[tokio::test(start_paused = true)]
async fn a_clock_set_forward_lapses_a_lease_and_its_holder_can_finish_nothing() {
    let folder = Folder::new();
    let behind = folder.at(Duration::ZERO).await;
    let passed = acquired(behind.claim(&request("a")).await);

    let store = folder.at(HOUR).await;
    let token = acquired(store.claim(&request("a")).await);
    assert!(token.fence() > passed.fence());
    assert_eq!(behind.complete(&passed, Outcome::Response(response("late"))).await.unwrap(), Held::No);
    assert_eq!(behind.renew(&passed, LEASE).await.unwrap(), Held::No);
    assert_eq!(store.complete(&token, Outcome::Response(response("made"))).await.unwrap(), Held::Yes);
}

/// V6.
#[tokio::test(start_paused = true)]
async fn a_dead_holder_is_passed_after_its_lease_and_not_before() {
    let store = Folder::new().kept().store().await;
    acquired(store.claim(&request("a")).await);
    advance(LEASE - Duration::from_millis(1)).await;
    assert!(matches!(store.claim(&request("a")).await, Ok(Claimed::InFlight { .. })));
    advance(Duration::from_millis(1)).await;
    assert!(matches!(store.lookup(&request("a")).await, Ok(Found::Lapsed)));
    assert!(matches!(store.claim(&request("a")).await, Ok(Claimed::Acquired { attempt: 2, .. })));
}

/// V7.
#[tokio::test(start_paused = true)]
async fn a_passed_holder_touches_nothing_of_its_successor() {
    let store = Folder::new().kept().store().await;
    let passed = acquired(store.claim(&request("a")).await);
    advance(LEASE).await;
    let token = acquired(store.claim(&request("a")).await);

    assert_eq!(store.release(&passed).await.unwrap(), Held::No);
    assert_eq!(store.renew(&passed, HOUR).await.unwrap(), Held::No);
    assert_eq!(store.complete(&passed, Outcome::Response(response("late"))).await.unwrap(), Held::No);
    assert!(matches!(store.claim(&request("a")).await, Ok(Claimed::InFlight { lease_left: LEASE })));
    assert_eq!(store.complete(&token, Outcome::Response(response("made"))).await.unwrap(), Held::Yes);
    assert!(matches!(store.claim(&request("a")).await, Ok(Claimed::Done(kept)) if kept == response("made")));
}

/// V8.
#[tokio::test(start_paused = true)]
async fn a_holder_that_slept_through_a_release_cannot_overwrite_what_came_after() {
    let store = Folder::new().kept().store().await;
    let sleeper = acquired(store.claim(&request("a")).await);
    advance(LEASE).await;
    let successor = acquired(store.claim(&request("a")).await);
    assert_eq!(store.release(&successor).await.unwrap(), Held::Yes);
    let third = acquired(store.claim(&other_request("a")).await);
    assert_eq!(store.complete(&third, Outcome::Response(response("third"))).await.unwrap(), Held::Yes);

    assert_eq!(store.complete(&sleeper, Outcome::Response(response("first"))).await.unwrap(), Held::No);
    assert!(matches!(store.claim(&other_request("a")).await, Ok(Claimed::Done(kept)) if kept == response("third")));
}

/// Rule 3 of the store contract.
#[tokio::test]
async fn a_completion_whose_answer_was_lost_can_be_asked_for_again() {
    let store = Folder::new().kept().store().await;
    let token = acquired(store.claim(&request("a")).await);
    for _ in 0..2 {
        assert_eq!(store.complete(&token, Outcome::Response(response("made"))).await.unwrap(), Held::Yes);
    }
    assert_eq!(store.complete(&token, Outcome::Response(response("other"))).await.unwrap(), Held::No);
    assert_eq!(store.complete(&token, Outcome::NotReplayable(StatusCode::CREATED)).await.unwrap(), Held::No);
    assert_eq!(store.release(&token).await.unwrap(), Held::No);
    assert!(matches!(store.claim(&request("a")).await, Ok(Claimed::Done(kept)) if kept == response("made")));
}

/// V36.
#[tokio::test(start_paused = true)]
async fn a_run_that_outlasts_the_retention_is_kept_and_retained_in_full_afterwards() {
    let store = Folder::new().kept().store().await;
    let request = ClaimRequest { retention: 60 * SECOND, ..request("a") };
    let token = acquired(store.claim(&request).await);
    for _ in 0..24 {
        advance(LEASE / 2).await;
        assert_eq!(store.renew(&token, LEASE).await.unwrap(), Held::Yes);
        assert_eq!(store.purge(100).await.unwrap(), 0);
    }
    assert_eq!(store.complete(&token, Outcome::Response(response("made"))).await.unwrap(), Held::Yes);
    advance(59 * SECOND).await;
    assert!(matches!(store.claim(&request).await, Ok(Claimed::Done(_))));
    advance(SECOND).await;
    assert!(matches!(store.status(&request.key).await, Ok(Status::Unknown)));
    assert!(matches!(store.claim(&request).await, Ok(Claimed::Acquired { attempt: 1, .. })));
}

/// V28.
#[tokio::test(start_paused = true)]
async fn purge_deletes_in_batches_what_is_past_its_retention_and_nothing_else() {
    let folder = Folder::new();
    let store = folder.store().await;
    for n in 0..25 {
        let token = acquired(store.claim(&ClaimRequest { retention: SECOND, ..request(&n.to_string()) }).await);
        assert_eq!(store.complete(&token, Outcome::Response(response("made"))).await.unwrap(), Held::Yes);
    }
    let done = acquired(store.claim(&request("done")).await);
    assert_eq!(store.complete(&done, Outcome::Response(response("made"))).await.unwrap(), Held::Yes);
    let live = acquired(store.claim(&ClaimRequest { retention: Duration::ZERO, ..request("live") }).await);
    assert_eq!(store.purge(10).await.unwrap(), 0);

    advance(SECOND).await;
    for deleted in [10, 10, 5, 0] {
        assert_eq!(store.purge(10).await.unwrap(), deleted);
    }
    assert_eq!(store.renew(&live, LEASE).await.unwrap(), Held::Yes);
    assert!(matches!(store.status(done.key()).await, Ok(Status::Done { .. })));
    assert_eq!(folder.count("tower_idempotency_records"), 2);
}

#[tokio::test(start_paused = true)]
async fn the_status_of_a_key_tells_since_when_and_how_it_ended() {
    let folder = Folder::new();
    let store = folder.at(Duration::ZERO).await;
    let key = request("a").key;
    assert_eq!(store.status(&key).await.unwrap(), Status::Unknown);
    let token = acquired(store.claim(&request("a")).await);
    assert_eq!(store.status(&key).await.unwrap(), Status::InProgress { since: epoch() });
    advance(LEASE).await;
    assert_eq!(store.status(&key).await.unwrap(), Status::Lapsed { since: epoch() });
    assert_eq!(store.complete(&token, Outcome::Response(response("made"))).await.unwrap(), Held::Yes);
    let done = Status::Done { status: StatusCode::CREATED, at: epoch() + LEASE, replayable: true };
    assert_eq!(store.status(&key).await.unwrap(), done);
}

#[tokio::test]
async fn a_freed_key_leaves_its_holder_nothing_and_a_finished_one_is_not_freed() {
    let store = Folder::new().kept().store().await;
    let passed = acquired(store.claim(&request("a")).await);
    assert_eq!(store.force_release(passed.key()).await.unwrap(), Held::Yes);
    assert_eq!(store.complete(&passed, Outcome::Response(response("late"))).await.unwrap(), Held::No);
    let token = acquired(store.claim(&request("a")).await);
    assert_eq!(store.complete(&token, Outcome::Response(response("made"))).await.unwrap(), Held::Yes);
    assert_eq!(store.force_release(token.key()).await.unwrap(), Held::No);
    assert_eq!(store.forget(token.key()).await.unwrap(), Held::Yes);
    assert_eq!(store.forget(token.key()).await.unwrap(), Held::No);
}

#[tokio::test(start_paused = true)]
async fn the_longest_durations_are_only_long() {
    let store = Folder::new().kept().store().await;
    let request = ClaimRequest { lease: Duration::MAX, retention: Duration::MAX, ..request("a") };
    let token = acquired(store.claim(&request).await);
    advance(24 * HOUR).await;
    assert!(matches!(store.claim(&request).await, Ok(Claimed::InFlight { .. })));
    assert_eq!(store.renew(&token, Duration::MAX).await.unwrap(), Held::Yes);
    assert_eq!(store.complete(&token, Outcome::Response(response("made"))).await.unwrap(), Held::Yes);
    assert!(matches!(store.claim(&request).await, Ok(Claimed::Done(_))));
}

#[tokio::test]
async fn jobs_that_wait_together_share_one_commit() {
    static COMMITS: AtomicUsize = AtomicUsize::new(0);
    let folder = Folder::new();
    let count = |connection: &Connection| {
        connection.wal_hook(Some(|_, _| {
            COMMITS.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }));
        Ok(())
    };
    let store = SqliteStore::builder(folder.file()).with_set_up(count).open().await.unwrap();
    let mut tokens = Vec::new();
    for n in 0..20 {
        tokens.push(acquired(store.claim(&request(&n.to_string())).await));
    }
    let before = COMMITS.load(Ordering::Relaxed);
    assert_eq!(before, 21, "one for the tables, one for each claim that came alone");

    // On one thread each of these is queued before the writer's task runs.
    let released = join_all(tokens.iter().map(|token| store.release(token))).await;

    assert!(released.into_iter().all(|held| held.unwrap() == Held::Yes));
    assert_eq!(COMMITS.load(Ordering::Relaxed) - before, 1);
}

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

/// V33: a full disk rolls the whole transaction back.
#[tokio::test]
async fn a_full_disk_acknowledges_nothing_that_it_did_not_keep() {
    let folder = Folder::new();
    let bounded = |connection: &Connection| connection.pragma_update(None, "max_page_count", 60);
    let store = SqliteStore::builder(folder.file()).with_set_up(bounded).open().await.unwrap();
    let mut tokens = Vec::new();
    for n in 0..40 {
        tokens.push(acquired(store.claim(&request(&n.to_string())).await));
    }
    let big = Outcome::Response(StoredResponse { body: vec![b'x'; 16_000].into(), ..response("") });
    let (completed, renewed) = tokio::join!(
        join_all(tokens.iter().map(|token| store.complete(token, big.clone()))),
        join_all(tokens.iter().map(|token| store.renew(token, LEASE))),
    );

    let kept = completed.iter().filter(|held| matches!(held, Ok(Held::Yes))).count();
    assert!(0 < kept && kept < tokens.len(), "{kept}");
    for (token, completed) in tokens.iter().zip(completed) {
        let status = store.status(token.key()).await.unwrap();
        match completed {
            Ok(held) => assert!(held == Held::Yes && matches!(status, Status::Done { .. }), "{status:?}"),
            Err(error) => assert!(error.is_transient() && matches!(status, Status::InProgress { .. }), "{status:?}"),
        }
    }
    assert!(renewed.into_iter().all(|held| held.unwrap() == Held::Yes), "renewals go on");
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
