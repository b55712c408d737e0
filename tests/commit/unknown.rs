//! A commit that is not answered in time: 503 and no release; the record decides (V37, rule 17).

use std::sync::Arc;

use axum::{Router, response::Response, routing::post};
use http::StatusCode;
use lab::exchange::{Answer, post as request, send};
use tokio::{sync::Notify, task::JoinHandle, time::advance};
use tower_idempotency::{
    SqliteStore,
    idempotency::{Claim, CommitErrorKind},
    store::{Status, sqlite::Tx},
};

use crate::tracker::{Failure, HeldWriter, SECOND, Stop, Tracker, file, reason, seen, sending};

/// V37.
#[tokio::test(start_paused = true)]
async fn a_commit_that_never_answers_is_503_and_the_repeat_gets_what_was_committed_after_all() {
    let tracker = Tracker::open().await;
    let (app, writer, first) = commit_that_waits(&tracker, |tx| file("slow page")(tx)).await;

    let first = first.await.unwrap();
    let meanwhile = send(&app, request("k", "{}")).await;

    assert_eq!((first.status.as_u16(), first.replayed(), first.header("retry-after")), (503, None, Some("1")));
    assert_eq!(reason(&first), "OutcomeUnknown");
    assert_eq!((meanwhile.status.as_u16(), &*reason(&meanwhile)), (409, "InProgress"), "it was not released");
    assert!(tracker.reports().is_empty());

    drop(writer);
    done(&tracker).await;
    assert_eq!(seen(&send(&app, request("k", "{}")).await), (201, "slow page", Some("true")));
    assert_eq!(tracker.reports(), ["slow page"]);
}

/// V37: the record says that nothing was committed.
#[tokio::test(start_paused = true)]
async fn an_unanswered_commit_that_is_rolled_back_after_all_leaves_its_key_to_lapse() {
    let tracker = Tracker::open().await;
    let (app, writer, first) = commit_that_waits(&tracker, |tx| {
        file("slow page")(tx)?;
        Err(Failure::NoSuchModule)
    })
    .await;
    assert_eq!(reason(&first.await.unwrap()), "OutcomeUnknown");

    drop(writer);
    let within_the_lease = send(&app, request("k", "{}")).await;
    advance(10 * SECOND).await;
    let after_the_lease = send(&app, request("k", "{}")).await;

    assert_eq!(within_the_lease.status, StatusCode::CONFLICT);
    assert_eq!(after_the_lease.status, StatusCode::NOT_FOUND, "it ran");
    assert!(tracker.reports().is_empty());
}

/// V37: the handler is told "unknown", and the layer, which waits on, knows.
#[tokio::test(start_paused = true)]
async fn a_commit_that_answers_after_the_handlers_patience_and_within_the_layers_is_the_answer() {
    let tracker = Tracker::open().await;
    let (stop, told) = (Stop::default(), Arc::new(Notify::new()));
    let (stopped, tell) = (stop.clone(), Arc::clone(&told));
    let app = tracker.app(async move |claim: Claim<SqliteStore>| {
        stopped.here().await;
        let unknown = claim.commit(file("slow page")).await;
        assert!(matches!(&unknown, Err(Failure::Commit(error)) if error.kind() == CommitErrorKind::Unknown));
        tell.notify_one();
        unknown
    });
    let first = sending(&app, request("k", "{}"));
    let writer = tracker.keep_waiting(&stop).await;

    advance(5 * SECOND).await;
    told.notified().await;
    drop(writer);

    assert_eq!(seen(&first.await.unwrap()), (201, "slow page", Some("false")));
    assert_eq!(tracker.reports(), ["slow page"]);
}

/// A request whose commit the store has not answered within the second that handler and layer each wait.
async fn commit_that_waits(
    tracker: &Tracker,
    work: fn(&Tx<'_>) -> Result<(StatusCode, String), Failure>,
) -> (Router, HeldWriter, JoinHandle<Answer>) {
    let (stop, told) = (Stop::default(), Arc::new(Notify::new()));
    let (stopped, tell) = (stop.clone(), Arc::clone(&told));
    let handler = async move |claim: Claim<SqliteStore>| -> Result<Response, Failure> {
        if claim.fence() == 1 {
            stopped.here().await;
        }
        let answer = claim.commit(work).await;
        tell.notify_one();
        answer
    };
    let app = Router::new().route("/reports", post(handler)).layer(tracker.layer().store_timeout(SECOND));
    let first = sending(&app, request("k", "{}"));
    let writer = tracker.keep_waiting(&stop).await;
    advance(SECOND).await;
    told.notified().await;
    advance(SECOND).await;
    (app, writer, first)
}

/// Asks until the record says so; each question is a read, which no writer delays.
async fn done(tracker: &Tracker) {
    while !matches!(tracker.status("k").await, Status::Done { .. }) {}
}
