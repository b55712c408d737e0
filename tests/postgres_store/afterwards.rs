//! What happens beside a commit and after it: the committed response is the answer.

use std::sync::Arc;

use axum::{Router, body::Body, response::Response, routing::post as route};
use http::StatusCode;
use lab::exchange::{post, send};
use tokio::sync::Notify;
use tower_idempotency::{
    idempotency::{Claim, CommitErrorKind},
    store::postgres::PostgresStore,
};

use crate::shop::{Failure, SECOND, Shop, Stop, order, reason, seen, sending};

/// V31.
#[tokio::test]
async fn whatever_happens_after_the_commit_the_committed_response_is_the_answer() {
    let shop = Shop::open().await;
    for (n, end) in ["fail", "panic", "other"].into_iter().enumerate() {
        let schema = shop.schema.clone();
        let app = shop.app(async move |claim: Claim<PostgresStore>| -> Result<Response, Failure> {
            let mut tx = claim.begin().await?;
            order(&mut tx, &schema, &format!("tea {n}")).await?;
            tx.complete((StatusCode::CREATED, "ordered")).await?;
            match end {
                "fail" => Err(Failure::SoldOut),
                "panic" => panic!("after the commit"),
                _ => Ok(Response::new(Body::from("something else"))),
            }
        });

        assert_eq!(seen(&send(&app, post(end, "{}")).await), (201, "ordered", Some("false")), "{end}");
        assert_eq!(seen(&send(&app, post(end, "{}")).await), (201, "ordered", Some("true")), "{end}");
    }
    assert_eq!(shop.orders().await.len(), 3);
}

/// V31.
#[tokio::test]
async fn a_second_commit_of_a_claim_or_of_its_clone_runs_nothing() {
    let shop = Shop::open().await;
    let schema = shop.schema.clone();
    let app = shop.app(async move |claim: Claim<PostgresStore>| {
        let second = claim.clone().begin().await?;
        let mut tx = claim.begin().await?;
        order(&mut tx, &schema, "tea").await?;
        let response = tx.complete((StatusCode::CREATED, "first")).await?;
        let refused = second.complete("second").await.unwrap_err();
        assert_eq!(refused.kind(), CommitErrorKind::AlreadyCommitted);
        assert_eq!(claim.begin().await.unwrap_err().kind(), CommitErrorKind::AlreadyCommitted);
        Ok::<_, Failure>(response)
    });

    assert_eq!(seen(&send(&app, post("k", "{}")).await), (201, "first", Some("false")));
    assert_eq!(shop.orders().await, ["tea"]);
}

/// V32: the handler is dropped while its commit is under way.
#[tokio::test]
async fn a_commit_under_way_is_awaited_though_the_handler_was_dropped() {
    let shop = Shop::open().await;
    // The INSERT waits for this at its commit, where its constraint is looked at.
    let mut blocker = shop.pool.begin().await.unwrap();
    order(&mut blocker, &shop.schema, "tea").await.unwrap();
    let (schema, begun) = (shop.schema.clone(), Arc::new(Notify::new()));
    let begins = Arc::clone(&begun);
    let handler = async move |claim: Claim<PostgresStore>| {
        let mut tx = claim.begin().await?;
        order(&mut tx, &schema, "tea").await?;
        begins.notify_one();
        tx.complete((StatusCode::CREATED, "ordered")).await.map_err(Failure::from)
    };
    let cut_off = tower_http::timeout::TimeoutLayer::with_status_code(StatusCode::GATEWAY_TIMEOUT, SECOND / 2);
    let app = Router::new().route("/reports", route(handler)).layer(cut_off).layer(shop.layer());
    let first = sending(&app, post("k", "{}"));
    begun.notified().await;
    tokio::time::sleep(SECOND).await;
    assert!(!first.is_finished(), "the layer waits for the commit");

    blocker.rollback().await.unwrap();

    assert_eq!(seen(&first.await.unwrap()), (201, "ordered", Some("false")));
    assert_eq!(shop.orders().await, ["tea"]);
}

/// A clone that outlives its handler commits nothing.
#[tokio::test]
async fn a_transaction_that_outlives_its_handler_cannot_be_completed() {
    let (shop, stop) = (Shop::open().await, Stop::default());
    let (refused, hear) = tokio::sync::oneshot::channel();
    let (refused, stopped) = (Arc::new(std::sync::Mutex::new(Some(refused))), stop.clone());
    let schema = shop.schema.clone();
    let app = shop.app(async move |claim: Claim<PostgresStore>| {
        let mut tx = claim.begin().await?;
        let (refused, stopped, schema) = (refused.lock().unwrap().take().unwrap(), stopped.clone(), schema.clone());
        tokio::spawn(async move {
            stopped.here().await;
            order(&mut tx, &schema, "tea").await.unwrap();
            refused.send(tx.complete("late").await.unwrap_err().kind()).unwrap();
        });
        Ok::<_, Failure>(StatusCode::ACCEPTED)
    });

    let answer = send(&app, post("k", "{}")).await;
    stop.let_go();

    assert_eq!(reason(&answer), "NothingCommitted");
    assert_eq!(hear.await.unwrap(), CommitErrorKind::Ended);
    assert!(shop.orders().await.is_empty());
}
