//! A holder that was passed commits nothing and is answered by rule 11.

use axum::{Router, response::IntoResponse, routing::post};
use deadpool_sqlite::{Config, Runtime};
use http::{HeaderMap, HeaderValue, StatusCode};
use lab::exchange::{HeldRequest, post as request, send};
use tokio::time::advance;
use tower_idempotency::{
    IdempotencyLayer, SqliteStore,
    idempotency::{Claim, Recording, Scope},
    store::{Held, Status},
};

use crate::tracker::{Failure, HOUR, SECOND, Stop, Tracker, file, reason, seen, sending};

/// Rule 11: its own fingerprint is the record's.
#[tokio::test]
async fn one_whose_key_was_finished_by_the_same_request_gets_the_recorded_answer() {
    let (tracker, stop) = (Tracker::open().await, Stop::default());
    let app = app(tracker.layer(), &stop);
    let passed = sending(&app, stopping(request("k", "slow page")));
    stop.reached().await;
    free(&tracker).await;
    let successor = send(&app, request("k", "slow page")).await;

    stop.let_go();
    let passed = passed.await.unwrap();

    assert_eq!(seen(&successor), (201, "slow page", Some("false")));
    assert_eq!(seen(&passed), (201, "slow page", Some("true")));
    assert_eq!(tracker.reports(), ["slow page"]);
}

/// Rule 11.
#[tokio::test]
async fn one_whose_successor_still_runs_gets_409_and_the_successor_commits() {
    let (tracker, stop) = (Tracker::open().await, Stop::default());
    let app = app(tracker.layer(), &stop);
    let passed = sending(&app, stopping(request("k", "slow page")));
    stop.reached().await;
    free(&tracker).await;
    let second_stop = Stop::default();
    let second_app = self::app(tracker.layer(), &second_stop);
    let successor = sending(&second_app, stopping(request("k", "slow page")));
    second_stop.reached().await;

    stop.let_go();
    let passed = passed.await.unwrap();
    second_stop.let_go();
    let successor = successor.await.unwrap();

    assert_eq!((passed.status.as_u16(), passed.replayed(), passed.header("retry-after")), (409, None, Some("1")));
    assert_eq!(reason(&passed), "TakenOver");
    assert_eq!(seen(&successor), (201, "slow page", Some("false")));
    assert_eq!(tracker.reports(), ["slow page"]);
}

/// Rule 11.
#[tokio::test]
async fn one_whose_key_is_free_gets_409_and_a_repeat_runs() {
    let (tracker, stop) = (Tracker::open().await, Stop::default());
    let app = app(tracker.layer(), &stop);
    let passed = sending(&app, stopping(request("k", "slow page")));
    stop.reached().await;
    free(&tracker).await;

    stop.let_go();
    let passed = passed.await.unwrap();

    assert_eq!((passed.status.as_u16(), &*reason(&passed)), (409, "TakenOver"));
    assert!(tracker.reports().is_empty());
    assert_eq!(seen(&send(&app, request("k", "slow page")).await), (201, "slow page", Some("false")));
}

/// Rule 11.
#[tokio::test]
async fn one_whose_key_was_closed_without_its_response_gets_410() {
    let (tracker, stop) = (Tracker::open().await, Stop::default());
    let app = app(tracker.layer(), &stop);
    let passed = sending(&app, stopping(request("k", "slow page")));
    stop.reached().await;
    free(&tracker).await;
    let mut secret = request("k", "slow page");
    secret.headers_mut().insert("x-secret", HeaderValue::from_static("yes"));
    let successor = send(&app, secret).await;

    stop.let_go();
    let passed = passed.await.unwrap();

    assert_eq!(successor.status, StatusCode::CREATED);
    assert_eq!((passed.status.as_u16(), passed.replayed(), &*reason(&passed)), (410, Some("true"), "NotReplayable"));
    assert_eq!(tracker.reports(), ["slow page"]);
}

/// V8, by a clock: A's lease lapses, B takes over, fails and releases; C, which sends something else under the same
/// key, commits; A wakes.
#[tokio::test]
async fn one_whose_key_another_request_finished_gets_409_and_nothing_of_that_answer() {
    let (tracker, stop) = (Tracker::open().await, Stop::default());
    let (app, failing) = (app(tracker.layer(), &stop), self::failing(&tracker.ahead(HOUR).await));
    let a = sending(&app, stopping(request("k", "slow page")));
    stop.reached().await;

    let b = send(&failing, request("k", "slow page")).await;
    assert_eq!((b.status.as_u16(), tracker.status("k").await), (500, Status::Unknown), "taken over and released");
    let c = send(&app, request("k", "wrong total")).await;
    stop.let_go();
    let a = a.await.unwrap();

    assert_eq!(seen(&c), (201, "wrong total", Some("false")));
    assert_eq!((a.status.as_u16(), a.replayed(), &*reason(&a)), (409, None, "TakenOver"));
    assert!(!a.text().contains("wrong total"));
    assert_eq!(tracker.reports(), ["wrong total"]);
    assert_eq!(seen(&send(&app, request("k", "wrong total")).await), (201, "wrong total", Some("true")));
}

/// Rule 11: the look-up fails, since the application holds the only connection that reads.
#[tokio::test(start_paused = true)]
async fn one_whose_record_cannot_be_looked_up_gets_409() {
    let (tracker, stop) = (Tracker::open().await, Stop::default());
    let pool = Config::new(tracker.db()).builder(Runtime::Tokio1).unwrap().max_size(1).build().unwrap();
    let store = SqliteStore::with_pool(pool.clone()).await.unwrap();
    let layer = IdempotencyLayer::new(store, Scope::shared());
    let app = app(layer.clone(), &stop);
    let passed = sending(&app, stopping(request("k", "slow page")));
    stop.reached().await;
    assert_eq!(layer.force_release(&tracker.key("k")).await.unwrap(), Held::Yes);
    send(&app, request("k", "slow page")).await;

    let _only = pool.get().await.unwrap();
    stop.let_go();
    let passed = passed.await.unwrap();

    assert_eq!((passed.status.as_u16(), &*reason(&passed)), (409, "TakenOver"));
    assert_eq!(tracker.reports(), ["slow page"]);
}

/// Rule 11: lapsing alone changes nothing. The writer was busy for longer than the lease, and renewed nothing.
#[tokio::test(start_paused = true)]
async fn one_whose_lease_lapsed_and_that_nobody_passed_commits() {
    let (tracker, stop) = (Tracker::open().await, Stop::default());
    let app = app(tracker.layer().store_timeout(HOUR), &stop);
    let slow = sending(&app, stopping(request("k", "slow page")));
    let writer = tracker.keep_waiting(&stop).await;

    advance(11 * SECOND).await;
    assert!(matches!(tracker.status("k").await, Status::Lapsed { .. }));
    drop(writer);

    assert_eq!(seen(&slow.await.unwrap()), (201, "slow page", Some("false")));
    assert_eq!(tracker.reports(), ["slow page"]);
}

/// Rule 11: whatever it says instead of passing its error on.
#[tokio::test]
async fn one_that_answers_200_all_the_same_gets_409() {
    let (tracker, stop) = (Tracker::open().await, Stop::default());
    let stopped = stop.clone();
    let app = tracker.app(async move |claim: Claim<SqliteStore>| {
        stopped.here().await;
        claim.commit(file("slow page")).await.unwrap_err();
        "filed"
    });
    let passed = sending(&app, request("k", "slow page"));
    stop.reached().await;
    free(&tracker).await;

    stop.let_go();
    let passed = passed.await.unwrap();

    assert_eq!((passed.status.as_u16(), &*reason(&passed)), (409, "TakenOver"));
    assert_eq!(tracker.status("k").await, Status::Unknown, "nothing was recorded");
}

/// Commits its body as a report; stops before that where the request says so.
fn app(layer: IdempotencyLayer<SqliteStore>, stop: &Stop) -> Router {
    let stop = stop.clone();
    let handler = async move |claim: Claim<SqliteStore>, headers: HeaderMap, title: String| {
        if headers.contains_key("x-stop") {
            stop.here().await;
        }
        let secret = headers.contains_key("x-secret");
        let commit = claim.commit(move |tx| {
            let mut created = file(&title)(tx)?.into_response();
            if secret {
                created.extensions_mut().insert(Recording::CloseWithoutKeeping);
            }
            Ok::<_, Failure>(created)
        });
        commit.await
    };
    Router::new().route("/reports", post(handler)).layer(layer)
}

fn failing(tracker: &Tracker) -> Router {
    tracker.app(async |claim: Claim<SqliteStore>| {
        assert_eq!(claim.attempt(), 2, "took over");
        StatusCode::INTERNAL_SERVER_ERROR
    })
}

/// No header is part of the fingerprint but the content type.
fn stopping(mut request: HeldRequest) -> HeldRequest {
    request.headers_mut().insert("x-stop", HeaderValue::from_static("yes"));
    request
}

/// Its holder is passed, without waiting for a lease.
async fn free(tracker: &Tracker) {
    assert_eq!(tracker.layer().force_release(&tracker.key("k")).await.unwrap(), Held::Yes);
}
