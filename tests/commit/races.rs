//! Fifty requests with one key at the same instant, through two stores on one file (V1, V2).

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use axum::Router;
use futures_util::future::join_all;
use lab::exchange::{Answer, post, send};
use tokio::sync::Barrier;
use tower_idempotency::{SqliteStore, idempotency::Claim};

use crate::tracker::{Stop, Tracker, file, seen, sending};

const CROWD: usize = 50;

/// V1, V2.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn fifty_requests_at_once_are_one_run_and_each_other_gets_409_or_the_replay() {
    let tracker = Tracker::open().await;
    let beside = tracker.beside().await;
    let runs = Arc::new(AtomicUsize::new(0));
    let apps = [&tracker, &beside].map(|tracker| {
        let runs = Arc::clone(&runs);
        tracker.app(async move |claim: Claim<SqliteStore>| {
            runs.fetch_add(1, Ordering::Relaxed);
            claim.commit(file("slow page")).await
        })
    });
    for round in 1..=5 {
        let answers = at_once(&apps, &format!("race {round}")).await;

        let firsts = answers.iter().filter(|answer| answer.replayed() == Some("false"));
        assert_eq!(firsts.map(seen).collect::<Vec<_>>(), [(201, "slow page", Some("false"))], "round {round}");
        for answer in answers.iter().filter(|answer| answer.replayed() != Some("false")) {
            match answer.status.as_u16() {
                201 => assert_eq!(seen(answer), (201, "slow page", Some("true"))),
                status => assert_eq!(status, 409, "{answer:?}"),
            }
        }
        assert_eq!(runs.load(Ordering::Relaxed), round);
        assert_eq!(tracker.reports().len(), round);
    }
}

/// V1, V2: as long as it runs, each other is refused.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn forty_nine_of_fifty_get_409_while_the_one_runs_and_the_replay_afterwards() {
    let tracker = Tracker::open().await;
    let beside = tracker.beside().await;
    let stop = Stop::default();
    let apps = [&tracker, &beside].map(|tracker| {
        let stop = stop.clone();
        tracker.app(async move |claim: Claim<SqliteStore>| {
            stop.here().await;
            claim.commit(file("slow page")).await
        })
    });
    let first = sending(&apps[0], post("k", "{}"));
    stop.reached().await;

    let refused = at_once(&apps, "k").await;
    stop.let_go();
    let first = first.await.unwrap();
    let replayed = at_once(&apps, "k").await;

    assert!(refused.iter().all(|answer| answer.status.as_u16() == 409));
    assert_eq!(seen(&first), (201, "slow page", Some("false")));
    assert!(replayed.iter().all(|answer| seen(answer) == (201, "slow page", Some("true"))));
    assert_eq!(tracker.reports(), ["slow page"]);
}

/// Sends a crowd of requests with one key, each from a task of its own, half of them to each app.
async fn at_once(apps: &[Router; 2], key: &str) -> Vec<Answer> {
    let start = Arc::new(Barrier::new(CROWD));
    let requests = (0..CROWD).map(|n| {
        let (app, start, request) = (apps[n % 2].clone(), Arc::clone(&start), post(key, "{}"));
        tokio::spawn(async move {
            start.wait().await;
            send(&app, request).await
        })
    });
    join_all(requests.collect::<Vec<_>>()).await.into_iter().map(Result::unwrap).collect()
}
