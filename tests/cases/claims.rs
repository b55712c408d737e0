//! V1 to V6: who gets the key. Each case is a function of the store, so that each store meets it.

use std::{sync::Arc, time::Duration};

use http::StatusCode;
use lab::{
    app::{App, Hold},
    clock::until,
    exchange::{Answer, post},
    gate::{Gate, GatedStore, Verb},
    problem,
};
use tokio::sync::{Barrier, Semaphore};
use tower_idempotency::{
    IdempotencyKey, MemoryStore, Store,
    store::{ClaimRequest, Claimed, Fingerprint, ScopedKey},
};

use crate::{LEASE, held, shared};

/// V1: 50 requests with one key start at the same instant: the handler runs once, each other gets 409 or the replay.
async fn fifty_at_once<S: Store>(store: S) {
    let app = App::numbered(&shared(store));
    let start = Arc::new(Barrier::new(50));
    let requests: Vec<_> = (0..50)
        .map(|_| {
            let (app, start) = (app.clone(), Arc::clone(&start));
            tokio::spawn(async move {
                start.wait().await;
                app.send(post("k", "{}")).await
            })
        })
        .collect();
    for request in requests {
        assert_ran_or_lost(&request.await.unwrap());
    }
    assert_eq!(app.runs(), 1);
}

fn assert_ran_or_lost(answer: &Answer) {
    match answer.status {
        StatusCode::CREATED => assert_eq!(answer.text(), "run 1"),
        _ => assert_eq!(problem::kind(answer), (409, "InProgress".into())),
    }
}

/// V2: losers of a claim that all stand at the store's door at once get 409 or a replay, never a 5xx.
async fn losers_at_the_door<S: Store>(store: S) {
    let (store, door) = (GatedStore::new(store), Arc::new(Semaphore::new(0)));
    store.set(Verb::Claim, Gate::Permit(Arc::clone(&door)));
    let app = App::numbered(&shared(store.clone()));
    let requests: Vec<_> = (0..50).map(|_| app.start(post("k", "{}"))).collect();
    until(|| store.calls(Verb::Claim) == 50).await;
    door.add_permits(50);
    for request in requests {
        assert_ran_or_lost(&request.await.unwrap());
    }
    assert_eq!(app.runs(), 1);
}

/// V3: the second request has another body while the first still runs: 422, and the record is untouched.
async fn another_body_while_the_first_runs<S: Store>(store: S) {
    let hold = Hold::new();
    let app = held(&shared(store), &hold);
    let first = app.start(post("k", "1"));
    hold.reached().await;

    assert_eq!(problem::kind(&app.send(post("k", "2")).await), (422, "KeyReused".into()));
    assert_eq!(problem::kind(&app.send(post("k", "1")).await), (409, "InProgress".into()));

    hold.let_go(1);
    assert_eq!(first.await.unwrap().replayed(), Some("false"));
    assert_eq!(app.send(post("k", "1")).await.replayed(), Some("true"));
}

/// V4: the winner finishes while the loser's claim is under way: a replay.
async fn the_winner_finishes_while_the_loser_claims<S: Store>(store: S) {
    let (store, door) = (GatedStore::new(store), Arc::new(Semaphore::new(0)));
    let hold = Hold::new();
    let app = held(&shared(store.clone()), &hold);
    let winner = app.start(post("k", "{}"));
    hold.reached().await;
    store.set_once(Verb::Claim, Gate::Permit(Arc::clone(&door)));
    let loser = app.start(post("k", "{}"));
    until(|| store.calls(Verb::Claim) == 2).await;

    hold.let_go(1);
    winner.await.unwrap();
    door.add_permits(1);

    let loser = loser.await.unwrap();
    assert_eq!((loser.text(), loser.replayed()), ("run 1", Some("true")));
}

/// V5: a purge deletes the record while a claim is under way: the claim is decided again and runs guarded.
async fn a_purge_while_a_claim_is_under_way<S: Store>(store: S) {
    let (store, door, hold) = (GatedStore::new(store), Arc::new(Semaphore::new(0)), Hold::new());
    let app = held(&shared(store.clone()).retention(Duration::from_secs(60)).without_purge(), &hold);
    hold.let_go(1);
    app.send(post("k", "{}")).await;
    hold.reached().await;
    tokio::time::advance(Duration::from_secs(60)).await;
    store.set_once(Verb::Claim, Gate::Permit(Arc::clone(&door)));
    let second = app.start(post("k", "{}"));
    until(|| store.calls(Verb::Claim) == 2).await;

    assert_eq!(store.purge(10).await.unwrap(), 1);
    door.add_permits(1);
    hold.reached().await;

    assert_eq!(problem::kind(&app.send(post("k", "{}")).await), (409, "InProgress".into()));
    hold.let_go(1);
    assert_eq!(second.await.unwrap().text(), "run 2");
    assert_eq!(app.send(post("k", "{}")).await.text(), "run 2");
}

/// V6: the process died after its claim; lease 10 s, retention 24 h: a repeat takes over after the lease.
async fn a_dead_process<S: Store>(store: S) {
    let (parts, _) = post("k", "").into_parts();
    let claim = ClaimRequest {
        key: ScopedKey::new("", &IdempotencyKey::parse("k").unwrap()),
        fingerprint: Fingerprint::exact(&parts, b"{}"),
        lease: LEASE,
        retention: Duration::from_secs(24 * 60 * 60),
    };
    assert!(matches!(store.claim(&claim).await, Ok(Claimed::Acquired { .. })));
    let app = App::numbered(&shared(store));

    tokio::time::advance(LEASE - Duration::from_millis(1)).await;
    assert_eq!(problem::kind(&app.send(post("k", "{}")).await), (409, "InProgress".into()));
    tokio::time::advance(Duration::from_millis(1)).await;
    assert_eq!(app.send(post("k", "{}")).await.text(), "run 1");
}

mod on_memory {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn v01_of_fifty_requests_at_the_same_instant_one_runs() {
        fifty_at_once(MemoryStore::new()).await;
    }

    #[tokio::test(start_paused = true)]
    async fn v02_no_loser_of_a_claim_sees_a_server_error() {
        losers_at_the_door(MemoryStore::new()).await;
    }

    #[tokio::test(start_paused = true)]
    async fn v03_another_body_is_422_while_the_first_still_runs() {
        another_body_while_the_first_runs(MemoryStore::new()).await;
    }

    #[tokio::test(start_paused = true)]
    async fn v04_a_loser_whose_winner_has_finished_gets_the_replay() {
        the_winner_finishes_while_the_loser_claims(MemoryStore::new()).await;
    }

    #[tokio::test(start_paused = true)]
    async fn v05_a_claim_that_meets_a_purge_runs_guarded() {
        a_purge_while_a_claim_is_under_way(MemoryStore::new()).await;
    }

    #[tokio::test(start_paused = true)]
    async fn v06_a_repeat_takes_over_after_the_lease_and_not_after_the_retention() {
        a_dead_process(MemoryStore::new()).await;
    }
}
