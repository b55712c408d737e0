//! Who waits for whom: races, locks, and jobs that share a commit.

use std::{
    error::Error as _,
    sync::atomic::{AtomicUsize, Ordering},
};

use futures_util::future::join_all;
use rusqlite::Connection;
use tower_idempotency::{
    SqliteStore, Store,
    store::{Claimed, Found, Held, Outcome, Status},
};

use crate::{Folder, LEASE, acquired, other_request, request, response};

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
