//! `Claim` as an extractor: what a handler that asks for one is told.

use std::time::Duration;

use axum::{
    Router,
    handler::Handler,
    response::Response,
    routing::{get, post},
};
use bytes::Bytes;
use http::StatusCode;
use lab::exchange::{self, post_without_key, send};
use tower_idempotency::{
    IdempotencyLayer, MemoryStore, SqliteStore,
    idempotency::{Claim, Rejection, RejectionKind, Scope},
};

use crate::{
    log,
    tracker::{Failure, Tracker, file, reason, seen},
};

#[tokio::test]
async fn without_a_layer_it_is_500_and_a_line_that_names_the_missing_layer() {
    log::start();
    let app = Router::new().route("/reports", post(commit));

    let answer = send(&app, exchange::post("k", "{}")).await;

    assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(log::count("no IdempotencyLayer<tower_idempotency::store::sqlite::store::SqliteStore> guards"), 1);
    assert_eq!(log::count("path=\"/reports\""), 1);
}

#[tokio::test]
async fn a_method_that_the_layer_does_not_guard_is_500_and_the_line_names_it() {
    log::start();
    let tracker = Tracker::open().await;
    let app = Router::new().route("/reports", get(commit)).layer(tracker.layer());

    let answer = send(&app, exchange::get("/reports")).await;

    assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(log::count("method=GET path=\"/reports\""), 1);
}

#[tokio::test]
async fn a_claim_on_another_store_than_the_layers_is_500_and_a_line_that_names_the_missing_one() {
    log::start();
    let app =
        Router::new().route("/reports", post(commit)).layer(IdempotencyLayer::new(MemoryStore::new(), Scope::shared()));

    let answer = send(&app, exchange::post("k", "{}")).await;

    assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(log::count("SqliteStore> guards this request"), 1);
}

#[tokio::test]
async fn without_a_key_it_is_the_layers_400() {
    let tracker = Tracker::open().await;

    let answer = send(&tracker.app(commit), post_without_key("{}")).await;

    assert_eq!((answer.status.as_u16(), answer.replayed(), &*reason(&answer)), (400, None, "MissingKey"));
    assert_eq!(answer.header("content-type"), Some("application/problem+json"));
}

/// Rule 19.
#[tokio::test]
async fn without_a_key_it_is_rendered_as_the_layers_own_refusals_are() {
    fn render(rejection: &Rejection) -> http::Response<Bytes> {
        assert!(matches!(rejection.kind(), RejectionKind::MissingKey));
        http::Response::builder().status(rejection.status()).body("a key, please".into()).unwrap()
    }
    let tracker = Tracker::open().await;
    let app = Router::new().route("/reports", post(commit)).layer(tracker.layer().with_rejection_response(render));

    let answer = send(&app, post_without_key("{}")).await;

    assert_eq!(seen(&answer), (400, "a key, please", None));
}

#[tokio::test]
async fn an_optional_claim_is_there_with_a_key_and_only_then() {
    async fn handler(claim: Option<Claim<SqliteStore>>) -> Result<String, Failure> {
        match claim {
            Some(claim) => Ok(format!("claimed {}", claim.key().as_str())),
            None => Ok("not claimed".into()),
        }
    }
    let tracker = Tracker::open().await;
    let app = tracker.app(handler);

    assert_eq!(send(&app, exchange::post("k", "{}")).await.text(), "claimed k");
    assert_eq!(send(&app, post_without_key("{}")).await.text(), "not claimed");
    let bare = Router::new().route("/reports", post(handler));
    assert_eq!(send(&bare, exchange::post("k", "{}")).await.text(), "not claimed");
}

/// Rule 17: there is no claim to commit with.
#[tokio::test]
async fn served_unprotected_it_is_the_layers_503_and_a_handler_without_a_claim_runs() {
    let tracker = Tracker::open_with(|builder| builder.busy_timeout(Duration::from_millis(20))).await;
    let lock = tracker.connection();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();

    let with_a_claim = send(&unprotected(&tracker, commit), exchange::post("k", "{}")).await;
    let handler = async |claim: Option<Claim<SqliteStore>>| format!("{}", claim.is_some());
    let without = send(&unprotected(&tracker, handler), exchange::post("k", "{}")).await;

    assert_eq!((with_a_claim.status.as_u16(), &*reason(&with_a_claim)), (503, "StoreUnavailable"));
    assert_eq!(with_a_claim.header("retry-after"), Some("1"));
    assert_eq!(seen(&without), (200, "false", None));
    drop(lock);
    assert!(tracker.reports().is_empty());
}

async fn commit(claim: Claim<SqliteStore>) -> Result<Response, Failure> {
    claim.commit(file("slow page")).await
}

fn unprotected<H, T>(tracker: &Tracker, handler: H) -> Router
where
    H: Handler<T, ()>,
    T: 'static,
{
    Router::new().route("/reports", post(handler)).layer(tracker.layer().serve_unprotected_when_the_store_fails())
}
