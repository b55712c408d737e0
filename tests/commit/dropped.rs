//! A commit in the writer's queue is awaited, whatever has become of the handler or of its caller (V32, rules 11 and 14).

use std::sync::Arc;

use axum::{Router, extract::State, response::Response, routing::post};
use futures_util::FutureExt;
use http::StatusCode;
use lab::exchange::{post as request, send};
use tokio::{
    sync::Notify,
    time::{advance, timeout},
};
use tower_http::timeout::TimeoutLayer;
use tower_idempotency::{
    IdempotencyLayer, SqliteStore,
    idempotency::{Claim, CommitErrorKind},
    store::{Status, sqlite::Tx},
};

use crate::tracker::{Failure, SECOND, Stop, Tracker, file, reason, seen, sending};

/// V32.
#[tokio::test(start_paused = true)]
async fn the_commit_of_a_handler_that_a_timeout_layer_dropped_is_the_answer() {
    let tracker = Tracker::open().await;
    let handler = Handler::default();
    let app = cut_after_a_second(&tracker, &handler, |tx| file("slow page")(tx));
    let first = sending(&app, request("k", "{}"));
    let writer = tracker.keep_waiting(&handler.stop).await;

    advance(SECOND).await;
    handler.dropped.notified().await;
    assert!(!first.is_finished(), "the layer waits for the commit");
    drop(writer);

    assert_eq!(seen(&first.await.unwrap()), (201, "slow page", Some("false")));
    assert_eq!(seen(&send(&app, request("k", "{}")).await), (201, "slow page", Some("true")));
    assert_eq!(tracker.reports(), ["slow page"]);
}

/// V32, rule 13: the answer that counts then is the timeout's, and a repeat runs at once.
#[tokio::test(start_paused = true)]
async fn a_dropped_handler_whose_commit_is_rolled_back_leaves_the_answer_to_the_timeout_layer() {
    let tracker = Tracker::open().await;
    let handler = Handler::default();
    let app = cut_after_a_second(&tracker, &handler, |tx| {
        file("slow page")(tx)?;
        Err(Failure::NoSuchModule)
    });
    let first = sending(&app, request("k", "{}"));
    let writer = tracker.keep_waiting(&handler.stop).await;

    advance(SECOND).await;
    handler.dropped.notified().await;
    drop(writer);

    assert_eq!(seen(&first.await.unwrap()), (504, "", Some("false")));
    assert_eq!(tracker.status("k").await, Status::Unknown, "released");
    assert!(tracker.reports().is_empty());
}

/// Rule 11.
#[tokio::test(start_paused = true)]
async fn a_commit_under_way_when_max_run_ends_is_the_answer() {
    let tracker = Tracker::open().await;
    let handler = Handler::default();
    let app = under(tracker.layer().max_run(SECOND), &handler, |tx| file("slow page")(tx));
    let first = sending(&app, request("k", "{}"));
    let writer = tracker.keep_waiting(&handler.stop).await;

    advance(SECOND).await;
    handler.dropped.notified().await;
    assert!(!first.is_finished(), "the layer waits for the commit");
    drop(writer);

    assert_eq!(seen(&first.await.unwrap()), (201, "slow page", Some("false")));
    assert_eq!(tracker.reports(), ["slow page"]);
}

/// Rules 11 and 13.
#[tokio::test(start_paused = true)]
async fn a_commit_that_is_rolled_back_after_max_run_is_503_and_a_release() {
    let tracker = Tracker::open().await;
    let handler = Handler::default();
    let app = under(tracker.layer().max_run(SECOND), &handler, |_| Err(Failure::NoSuchModule));
    let first = sending(&app, request("k", "{}"));
    let writer = tracker.keep_waiting(&handler.stop).await;

    advance(SECOND).await;
    handler.dropped.notified().await;
    drop(writer);

    let first = first.await.unwrap();
    assert_eq!((first.status.as_u16(), &*reason(&first)), (503, "RunTimedOut"));
    assert_eq!(tracker.status("k").await, Status::Unknown, "released");
}

/// "Dropping the returned future does not call the commit off": the handler lives and answers for nothing.
#[tokio::test(start_paused = true)]
async fn a_handler_that_gives_its_commit_up_answers_with_it_all_the_same() {
    let tracker = Tracker::open().await;
    let (stop, gave_up) = (Stop::default(), Arc::new(Notify::new()));
    let (stopped, given_up) = (stop.clone(), Arc::clone(&gave_up));
    let app = tracker.app(async move |claim: Claim<SqliteStore>| {
        stopped.here().await;
        assert!(timeout(SECOND, claim.commit(file("slow page"))).await.is_err());
        let again = claim.commit(file("once more")).now_or_never().unwrap();
        assert!(matches!(again, Err(Failure::Commit(error)) if error.kind() == CommitErrorKind::UnderWay));
        given_up.notify_one();
        StatusCode::GATEWAY_TIMEOUT
    });
    let first = sending(&app, request("k", "{}"));
    let writer = tracker.keep_waiting(&stop).await;

    advance(SECOND).await;
    gave_up.notified().await;
    drop(writer);

    assert_eq!(seen(&first.await.unwrap()), (201, "slow page", Some("false")));
    assert_eq!(tracker.reports(), ["slow page"]);
}

/// Rule 14, V13.
#[tokio::test(start_paused = true)]
async fn a_commit_in_the_queue_when_the_caller_leaves_is_kept_and_drained_waits_for_it() {
    let tracker = Tracker::open().await;
    let handler = Handler::default();
    let layer = tracker.layer();
    let app = under(layer.clone(), &handler, |tx| file("slow page")(tx));
    let first = sending(&app, request("k", "{}"));
    let writer = tracker.keep_waiting(&handler.stop).await;

    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    let drained = tokio::spawn(async move { layer.drained().await });
    tokio::task::yield_now().await;
    assert!(!drained.is_finished());
    drop(writer);

    drained.await.unwrap();
    assert_eq!(seen(&send(&app, request("k", "{}")).await), (201, "slow page", Some("true")));
    assert_eq!(tracker.reports(), ["slow page"]);
}

/// What a test sees of its handler.
#[derive(Clone, Default)]
struct Handler {
    /// Before its commit.
    stop: Stop,
    dropped: Arc<Notify>,
}

type Work = fn(&Tx<'_>) -> Result<(StatusCode, String), Failure>;

fn cut_after_a_second(tracker: &Tracker, handler: &Handler, work: Work) -> Router {
    let timeout = TimeoutLayer::with_status_code(StatusCode::GATEWAY_TIMEOUT, SECOND);
    routes(handler, work).layer(timeout).layer(tracker.layer())
}

fn under(layer: IdempotencyLayer<SqliteStore>, handler: &Handler, work: Work) -> Router {
    routes(handler, work).layer(layer)
}

fn routes(handler: &Handler, work: Work) -> Router {
    Router::new().route("/reports", post(commit)).with_state((handler.clone(), work))
}

async fn commit(
    State((handler, work)): State<(Handler, Work)>,
    claim: Claim<SqliteStore>,
) -> Result<Response, Failure> {
    let _tells = TellsWhenDropped(handler.dropped);
    handler.stop.here().await;
    claim.commit(work).await
}

struct TellsWhenDropped(Arc<Notify>);

impl Drop for TellsWhenDropped {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}
