//! One commit for each claim, whoever holds a clone of it (V31).

use futures_util::FutureExt;
use http::StatusCode;
use lab::exchange::{post, send};
use tokio::sync::mpsc;
use tower_idempotency::{
    SqliteStore,
    idempotency::{Claim, CommitErrorKind},
};

use crate::tracker::{Failure, Stop, Tracker, file, seen, sending};

/// V31.
#[tokio::test]
async fn a_second_commit_is_an_error_and_runs_nothing() {
    let tracker = Tracker::open().await;
    let app = tracker.app(async |claim: Claim<SqliteStore>| {
        claim.commit(file("first")).await?;
        let second = claim.commit(file("second")).await;
        assert_eq!(kind(&second), CommitErrorKind::AlreadyCommitted);
        second
    });

    let first = send(&app, post("k", "{}")).await;
    let repeat = send(&app, post("k", "{}")).await;

    assert_eq!(seen(&first), (201, "first", Some("false")));
    assert_eq!(seen(&repeat), (201, "first", Some("true")));
    assert_eq!(tracker.reports(), ["first"]);
}

/// V31.
#[tokio::test]
async fn a_commit_from_a_clone_while_another_is_under_way_is_an_error_and_runs_nothing() {
    let tracker = Tracker::open().await;
    let app = tracker.app(async |claim: Claim<SqliteStore>| {
        let clone = claim.clone();
        // The first is handed to the writer before the second is polled.
        let (first, second) = tokio::join!(claim.commit(file("first")), clone.commit(file("second")));
        assert_eq!(kind(&second), CommitErrorKind::UnderWay);
        first
    });

    let answer = send(&app, post("k", "{}")).await;

    assert_eq!(seen(&answer), (201, "first", Some("false")));
    assert_eq!(tracker.reports(), ["first"]);
}

/// V31.
#[tokio::test]
async fn a_commit_from_a_clone_that_outlives_the_handler_is_an_error_and_runs_nothing() {
    let tracker = Tracker::open().await;
    for (key, status) in [("recorded", StatusCode::CREATED), ("released", StatusCode::INTERNAL_SERVER_ERROR)] {
        let (keep, mut kept) = mpsc::unbounded_channel();
        let app = tracker.app(async move |claim: Claim<SqliteStore>| {
            keep.send(claim).unwrap();
            status
        });
        let answer = send(&app, post(key, "{}")).await;

        let claim: Claim<SqliteStore> = kept.recv().await.unwrap();
        let late = tokio::spawn(async move { claim.commit(file("late")).await }).await.unwrap();

        assert_eq!(kind(&late), CommitErrorKind::Ended, "{key}");
        assert_eq!(seen(&answer), (status.as_u16(), "", Some("false")));
    }
    assert!(tracker.reports().is_empty());
}

/// V31: the clone began while the handler ran, and the handler ended before the commit did.
#[tokio::test]
async fn a_commit_that_a_task_began_is_awaited_when_the_handler_ends() {
    let tracker = Tracker::open().await;
    let stop = Stop::default();
    let stopped = stop.clone();
    let (begin, mut begun) = mpsc::unbounded_channel();
    let app = tracker.app(async move |claim: Claim<SqliteStore>| {
        stopped.here().await;
        let mut commit = Box::pin(async move { claim.commit(file("of the task")).await });
        assert!((&mut commit).now_or_never().is_none(), "it waits for the writer");
        begin.send(tokio::spawn(commit)).unwrap();
        (StatusCode::OK, "of the handler")
    });
    let request = sending(&app, post("k", "{}"));
    let writer = tracker.keep_waiting(&stop).await;
    let task = begun.recv().await.unwrap();
    assert!(!request.is_finished());

    drop(writer);

    let answer = request.await.unwrap();
    assert!(task.await.unwrap().is_ok());
    assert_eq!(seen(&answer), (201, "of the task", Some("false")));
    assert_eq!(tracker.reports(), ["of the task"]);
}

fn kind<T: std::fmt::Debug>(refused: &Result<T, Failure>) -> CommitErrorKind {
    match refused {
        Err(Failure::Commit(error)) => error.kind(),
        other => panic!("{other:?}"),
    }
}
