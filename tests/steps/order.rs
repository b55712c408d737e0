//! The same choice gives the same steps.

use std::time::Duration;

use futures_util::FutureExt;
use lab::{
    bug_tracker::{Implementation, table},
    fault_matrix::Scene,
    harness::KeySource,
    steps::{Choice, Fencing, Recorder, order::Order, rows::KeyTable},
    watch::{Before, Name, Witness},
};
use rusqlite::Connection;
use tokio::task::JoinSet;

use crate::lines::{cell, lines, played};

/// Side by side, so that they disturb each other.
async fn six_times(choice: Choice) -> Vec<Vec<String>> {
    let mut playing = JoinSet::new();
    for _ in 0..6 {
        playing.spawn(async move { lines(&played(choice).await) });
    }
    playing.join_all().await
}

async fn is_the_same_each_time(choice: Choice) {
    let mut plays = six_times(choice).await;
    plays.dedup();
    assert_eq!(plays.len(), 1, "{choice:?}: {plays:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_requests_at_once_are_the_same_each_time() {
    for implementation in Implementation::ALL {
        is_the_same_each_time(cell(implementation, KeySource::ToolCall, Scene::Concurrent)).await;
        is_the_same_each_time(cell(implementation, KeySource::PerAttempt, Scene::Concurrent)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_slow_request_is_the_same_each_time() {
    for fencing in Fencing::ALL {
        is_the_same_each_time(Choice::TakenOver { key_source: KeySource::Business, fencing }).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_request_at_a_time_is_the_same_each_time() {
    for scene in [Scene::LostResponse, Scene::Crash, Scene::NewId, Scene::NewTitle] {
        is_the_same_each_time(cell(Implementation::KeyAtomic, KeySource::Business, scene)).await;
    }
}

/// On one thread too, where whoever reads the tables holds the others up.
#[tokio::test]
async fn one_thread_gives_the_steps_of_many() {
    let choice = cell(Implementation::KeySplit, KeySource::ToolCall, Scene::Concurrent);
    let here = lines(&played(choice).await);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap();

    let there = runtime.spawn(async move { lines(&played(choice).await) }).await.unwrap();

    runtime.shutdown_background();
    assert_eq!(here, there);
}

#[tokio::test]
async fn steps_are_numbered_from_one_and_go_forward_in_time() {
    let played = played(cell(Implementation::KeyAtomic, KeySource::ToolCall, Scene::Concurrent)).await;

    let numbers: Vec<_> = played.steps.iter().map(|step| step.number).collect();
    assert_eq!(numbers, (1..=played.steps.len()).collect::<Vec<_>>());
    assert!(played.steps.is_sorted_by_key(|step| step.at_ms));
}

/// Else the requests of a play that is dropped were held for as long as a handler may take.
#[tokio::test]
async fn a_play_that_is_over_holds_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("bugs.db");
    table::create(&Connection::open(&db).unwrap()).unwrap();
    let order = Order::TakenOver { lease: Duration::from_secs(1) };
    let recorder = Recorder::open(&db, KeyTable::Nowhere, order).unwrap();
    let second = Name { client: 2, attempt: 1 };

    let while_it_plays = recorder.hold(second, Before::Sending).now_or_never();
    recorder.let_all_go();

    assert_eq!((while_it_plays, recorder.hold(second, Before::Sending).now_or_never()), (None, Some(())));
}
