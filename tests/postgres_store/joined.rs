//! `complete_in`: a completion in a transaction of the application's. Only the record says whether that was committed.

use std::sync::{Arc, Mutex};

use axum::response::Response;
use http::StatusCode;
use lab::exchange::{post, send};
use tower_idempotency::{
    idempotency::{Claim, CommitErrorKind},
    store::{Held, Status, Store, postgres::PostgresStore},
};

use crate::shop::{Failure, SECOND, Shop, Stop, order, reason, seen, sending};

/// How the application ends its transaction.
#[derive(Clone, Copy)]
enum End {
    Commit,
    RollBack,
    Drop,
}

/// An app that orders and completes in a transaction of its own, ends it, and answers with this.
fn app(shop: &Shop, end: End, answer: fn(Response) -> Result<Response, Failure>) -> axum::Router {
    let (pool, schema) = (shop.pool.clone(), shop.schema.clone());
    shop.app(async move |claim: Claim<PostgresStore>| {
        let mut tx = pool.begin().await?;
        order(&mut tx, &schema, "tea").await?;
        let response = claim.complete_in(&mut tx, (StatusCode::CREATED, "ordered")).await?;
        match end {
            End::Commit => tx.commit().await?,
            End::RollBack => tx.rollback().await?,
            End::Drop => drop(tx),
        }
        answer(response)
    })
}

#[tokio::test]
async fn committed_it_is_the_answer_and_is_replayed() {
    let shop = Shop::open().await;
    let app = app(&shop, End::Commit, Ok);

    assert_eq!(seen(&send(&app, post("k", "{}")).await), (201, "ordered", Some("false")));
    assert_eq!(seen(&send(&app, post("k", "{}")).await), (201, "ordered", Some("true")));
    assert_eq!(shop.orders().await, ["tea"]);
}

/// V31: the record decides, whatever the handler says.
#[tokio::test]
async fn committed_it_is_the_answer_whatever_the_handler_says_then() {
    let shop = Shop::open().await;
    let failing = app(&shop, End::Commit, |_| Err(Failure::SoldOut));

    assert_eq!(seen(&send(&failing, post("k", "{}")).await), (201, "ordered", Some("false")));
    assert_eq!(seen(&send(&failing, post("k", "{}")).await), (201, "ordered", Some("true")));
}

/// V30: no 200 without the write.
#[tokio::test]
async fn rolled_back_success_becomes_500_and_a_repeat_runs() {
    let shop = Shop::open().await;
    for end in [End::RollBack, End::Drop] {
        let answer = send(&app(&shop, end, Ok), post("k", "{}")).await;

        assert_eq!((answer.status.as_u16(), answer.replayed(), &*reason(&answer)), (500, None, "NothingCommitted"));
        assert!(shop.orders().await.is_empty());
        assert_eq!(shop.status("k").await, Status::Unknown, "it was released");
    }
    assert_eq!(seen(&send(&app(&shop, End::Commit, Ok), post("k", "{}")).await), (201, "ordered", Some("false")));
}

/// Rule 13.
#[tokio::test]
async fn rolled_back_a_refusal_is_recorded_as_ever() {
    let shop = Shop::open().await;
    let refusing = app(&shop, End::RollBack, |_| Err(Failure::SoldOut));

    assert_eq!(seen(&send(&refusing, post("k", "{}")).await), (404, "", Some("false")));
    assert_eq!(seen(&send(&refusing, post("k", "{}")).await), (404, "", Some("true")));
    assert!(shop.orders().await.is_empty());
}

#[tokio::test]
async fn rolled_back_it_may_be_completed_again_in_another_transaction() {
    let shop = Shop::open().await;
    let (pool, schema) = (shop.pool.clone(), shop.schema.clone());
    let app = shop.app(async move |claim: Claim<PostgresStore>| {
        let mut tx = pool.begin().await?;
        order(&mut tx, &schema, "tea").await?;
        claim.complete_in(&mut tx, "first").await?;
        tx.rollback().await?;
        let mut tx = pool.begin().await?;
        order(&mut tx, &schema, "tea").await?;
        let response = claim.complete_in(&mut tx, (StatusCode::CREATED, "second")).await?;
        tx.commit().await?;
        Ok::<_, Failure>(response)
    });

    assert_eq!(seen(&send(&app, post("k", "{}")).await), (201, "second", Some("false")));
    assert_eq!(shop.orders().await, ["tea"]);
}

/// V31: commit twice.
#[tokio::test]
async fn committed_it_cannot_be_completed_again_and_the_first_response_stands() {
    let shop = Shop::open().await;
    let (pool, schema) = (shop.pool.clone(), shop.schema.clone());
    let app = shop.app(async move |claim: Claim<PostgresStore>| {
        let mut tx = pool.begin().await?;
        order(&mut tx, &schema, "tea").await?;
        claim.complete_in(&mut tx, (StatusCode::CREATED, "first")).await?;
        tx.commit().await?;
        let mut tx = pool.begin().await?;
        let refused = claim.complete_in(&mut tx, "second").await.unwrap_err();
        assert_eq!(refused.kind(), CommitErrorKind::AlreadyCommitted);
        assert_eq!(claim.begin().await.unwrap_err().kind(), CommitErrorKind::UnderWay);
        Ok::<_, Failure>(StatusCode::OK)
    });

    assert_eq!(seen(&send(&app, post("k", "{}")).await), (201, "first", Some("false")));
    assert_eq!(seen(&send(&app, post("k", "{}")).await), (201, "first", Some("true")));
}

/// Rule 17: whether it will be committed nobody knows.
#[tokio::test]
async fn a_transaction_that_is_still_open_when_the_handler_ends_is_503_and_the_record_decides() {
    let shop = Shop::open().await;
    let left = Arc::new(Mutex::new(None));
    let (pool, schema, leave) = (shop.pool.clone(), shop.schema.clone(), Arc::clone(&left));
    let handler = async move |claim: Claim<PostgresStore>| {
        let mut tx = pool.begin().await?;
        order(&mut tx, &schema, "tea").await?;
        let response = claim.complete_in(&mut tx, (StatusCode::CREATED, "ordered")).await?;
        *leave.lock().unwrap() = Some(tx);
        Ok::<_, Failure>(response)
    };
    let route = axum::routing::post(handler);
    let app = axum::Router::new().route("/reports", route).layer(shop.layer().store_timeout(SECOND));

    let first = send(&app, post("k", "{}")).await;
    let meanwhile = send(&app, post("k", "{}")).await;
    let tx = left.lock().unwrap().take().unwrap();
    tx.commit().await.unwrap();

    assert_eq!((first.status.as_u16(), &*reason(&first)), (503, "OutcomeUnknown"));
    assert_eq!((meanwhile.status.as_u16(), &*reason(&meanwhile)), (409, "InProgress"), "it was not released");
    assert_eq!(seen(&send(&app, post("k", "{}")).await), (201, "ordered", Some("true")));
    assert_eq!(shop.orders().await, ["tea"]);
}

/// Rule 11: what it wrote is rolled back.
#[tokio::test]
async fn a_holder_that_was_passed_completes_nothing_and_gets_the_answer_of_its_successor() {
    let (shop, stop) = (Shop::open().await, Stop::default());
    let (pool, schema, stopped) = (shop.pool.clone(), shop.schema.clone(), stop.clone());
    let app = shop.app(async move |claim: Claim<PostgresStore>| {
        if claim.fence() == 1 {
            stopped.here().await;
        }
        let mut tx = pool.begin().await?;
        order(&mut tx, &schema, &format!("tea {}", claim.fence())).await?;
        let response = claim.complete_in(&mut tx, (StatusCode::CREATED, claim.fence().to_string())).await;
        if let Err(error) = &response {
            assert_eq!(error.kind(), CommitErrorKind::Passed);
        }
        let response = response?;
        tx.commit().await?;
        Ok::<_, Failure>(response)
    });
    let passed = sending(&app, post("k", "{}"));
    stop.reached().await;
    assert_eq!(shop.store.force_release(&shop.key("k")).await.unwrap(), Held::Yes);
    let successor = send(&app, post("k", "{}")).await;

    stop.let_go();

    assert_eq!(seen(&successor), (201, "2", Some("false")));
    assert_eq!(seen(&passed.await.unwrap()), (201, "2", Some("true")));
    assert_eq!(shop.orders().await, ["tea 2"]);
}

/// The handler is dropped with its transaction open: rolled back, though the layer hears nothing of it.
#[tokio::test]
async fn a_handler_that_is_dropped_after_it_completed_and_before_it_committed_leaves_nothing() {
    let shop = Shop::open().await;
    let (pool, schema) = (shop.pool.clone(), shop.schema.clone());
    let handler = async move |claim: Claim<PostgresStore>| {
        let mut tx = pool.begin().await?;
        order(&mut tx, &schema, "tea").await?;
        claim.complete_in(&mut tx, (StatusCode::CREATED, "ordered")).await?;
        std::future::pending::<()>().await;
        Ok::<_, Failure>(StatusCode::CREATED)
    };
    let cut_off = tower_http::timeout::TimeoutLayer::with_status_code(StatusCode::GATEWAY_TIMEOUT, SECOND / 2);
    let route = axum::routing::post(handler);
    let app = axum::Router::new().route("/reports", route).layer(cut_off).layer(shop.layer());

    assert_eq!(send(&app, post("k", "{}")).await.status, StatusCode::GATEWAY_TIMEOUT);
    assert_eq!(shop.status("k").await, Status::Unknown, "released, as after every 5xx");
    assert!(shop.orders().await.is_empty());
}
