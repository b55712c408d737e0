//! Claims of one key at the same time, and what a replay costs.

use std::time::Duration;

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use http::StatusCode;
use lab::exchange::{post, send};
use tokio::{sync::Barrier, task::JoinSet};
use tower_idempotency::{
    Store,
    idempotency::Claim,
    store::{ClaimRequest, Claimed, Held, postgres::PostgresStore},
};

use crate::shop::{Shop, acquired, outcome, request};

/// V1, V2: two pools, as of two processes.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_a_hundred_claims_from_two_pools_is_granted_and_none_is_an_error() {
    let shop = Shop::open().await;
    let other = shop.beside().await;

    for round in 0..20 {
        let granted = at_the_same_time([&shop.store, &other.store], &request(&format!("k{round}"))).await;
        assert_eq!(granted, 1, "round {round}");
    }
}

/// V1, V2.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_a_hundred_takeovers_from_two_pools_is_granted_and_none_is_an_error() {
    let shop = Shop::open().await;
    let other = shop.beside().await;

    for round in 0..20 {
        let asked = request(&format!("k{round}"));
        acquired(shop.store.claim(&ClaimRequest { lease: Duration::ZERO, ..asked.clone() }).await);
        let granted = at_the_same_time([&shop.store, &other.store], &asked).await;
        assert_eq!(granted, 1, "round {round}");
    }
}

/// V1: through the layer.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_fifty_requests_at_the_same_time_one_runs_and_the_others_get_409_or_the_replay() {
    let shop = Shop::open().await;
    let other = shop.beside().await;
    let runs = Arc::new(AtomicUsize::new(0));
    let apps = [&shop, &other].map(|shop| {
        let runs = Arc::clone(&runs);
        shop.app(async move |_: Claim<PostgresStore>| {
            runs.fetch_add(1, Ordering::SeqCst);
            (StatusCode::CREATED, "ordered")
        })
    });
    let start = Arc::new(Barrier::new(50));
    let mut requests = JoinSet::new();
    for n in 0..50 {
        let (app, start) = (apps[n % 2].clone(), Arc::clone(&start));
        requests.spawn(async move {
            start.wait().await;
            send(&app, post("k", "{}")).await
        });
    }

    for answer in requests.join_all().await {
        match answer.status.as_u16() {
            201 => assert_eq!(answer.text(), "ordered"),
            status => assert_eq!(status, 409),
        }
    }
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}

/// V4 and V5, by chance: claims, completions and purges of keys that expire at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn claims_beside_purges_and_completions_are_always_decided() {
    let shop = Shop::with(8).await;
    let expiring = ClaimRequest { lease: Duration::ZERO, retention: Duration::ZERO, ..request("k") };
    let mut tasks = JoinSet::new();
    for n in 0..8 {
        let (store, asked) = (shop.store.clone(), expiring.clone());
        tasks.spawn(async move {
            for _ in 0..50 {
                match store.claim(&asked).await.expect("a lost race is no error") {
                    Claimed::Acquired { token, .. } if n % 2 == 0 => drop(store.complete(&token, outcome("o")).await),
                    Claimed::Acquired { .. } | Claimed::InFlight { .. } => drop(store.purge(10).await.unwrap()),
                    other => panic!("granted or in flight: {other:?}"),
                }
            }
        });
    }
    tasks.join_all().await;
}

/// Rule 4: nothing is written, so no transaction id is used up.
#[tokio::test]
async fn a_replay_and_a_refusal_write_nothing() {
    let shop = Shop::with(1).await;
    let token = acquired(shop.store.claim(&request("done")).await);
    assert_eq!(shop.store.complete(&token, outcome("made")).await.unwrap(), Held::Yes);
    acquired(shop.store.claim(&request("running")).await);
    let versions = "SELECT sum(xmin::text::bigint + xmax::text::bigint)::bigint FROM {}.records";
    let before = shop.count(versions).await;

    assert!(matches!(shop.store.claim(&request("done")).await, Ok(Claimed::Done(_))));
    assert!(matches!(shop.store.claim(&request("running")).await, Ok(Claimed::InFlight { .. })));

    assert_eq!(shop.count(versions).await, before, "no record was locked");
}

/// Rule 8, V8.
#[tokio::test]
async fn a_fence_rises_over_release_purge_and_takeover() {
    let shop = Shop::open().await;
    let mut last = 0;
    for _ in 0..3 {
        let first = acquired(shop.store.claim(&ClaimRequest { lease: Duration::ZERO, ..request("k") }).await);
        let second = acquired(shop.store.claim(&request("k")).await);
        assert!(last < first.fence() && first.fence() < second.fence());
        assert_eq!(shop.store.complete(&first, outcome("late")).await.unwrap(), Held::No);
        assert_eq!(shop.store.release(&second).await.unwrap(), Held::Yes);
        last = second.fence();
    }
}

/// How many of a hundred claims are granted; the others are in flight.
async fn at_the_same_time(stores: [&PostgresStore; 2], asked: &ClaimRequest) -> usize {
    let start = Arc::new(Barrier::new(100));
    let mut claims = JoinSet::new();
    for n in 0..100 {
        let (store, start, asked) = (stores[n % 2].clone(), Arc::clone(&start), asked.clone());
        claims.spawn(async move {
            start.wait().await;
            store.claim(&asked).await
        });
    }
    let claims = claims.join_all().await;
    claims
        .into_iter()
        .filter(|claimed| match claimed {
            Ok(Claimed::Acquired { .. }) => true,
            Ok(Claimed::InFlight { .. }) => false,
            other => panic!("granted or in flight: {other:?}"),
        })
        .count()
}
