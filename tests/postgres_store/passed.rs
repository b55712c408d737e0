//! A holder that was passed commits nothing and is answered by rule 11.

use std::time::Duration;

use http::StatusCode;
use lab::exchange::{post, send};
use tower_idempotency::{
    Store,
    idempotency::{Claim, CommitErrorKind},
    store::{ClaimRequest, Held, postgres::PostgresStore},
};

use crate::shop::{Failure, SECOND, Shop, Stop, acquired, order, outcome, reason, request, seen, sending};

fn app(shop: &Shop, stop: &Stop) -> axum::Router {
    let (schema, stopped) = (shop.schema.clone(), stop.clone());
    shop.app(async move |claim: Claim<PostgresStore>| {
        let mut tx = claim.begin().await?;
        order(&mut tx, &schema, &format!("tea {}", claim.fence())).await?;
        if claim.fence() == 1 {
            stopped.here().await;
        }
        let completed = tx.complete((StatusCode::CREATED, claim.fence().to_string())).await;
        if claim.fence() == 1 {
            assert_eq!(completed.as_ref().unwrap_err().kind(), CommitErrorKind::Passed);
        }
        completed.map_err(Failure::from)
    })
}

/// Rule 11: its own fingerprint is the record's.
#[tokio::test]
async fn one_whose_key_was_finished_by_the_same_request_gets_the_recorded_answer() {
    let (shop, stop) = (Shop::open().await, Stop::default());
    let app = app(&shop, &stop);
    let passed = sending(&app, post("k", "{}"));
    stop.reached().await;
    assert_eq!(shop.store.force_release(&shop.key("k")).await.unwrap(), Held::Yes);
    let successor = send(&app, post("k", "{}")).await;

    stop.let_go();

    assert_eq!(seen(&successor), (201, "2", Some("false")));
    assert_eq!(seen(&passed.await.unwrap()), (201, "2", Some("true")));
    assert_eq!(shop.orders().await, ["tea 2"]);
}

/// Rule 11, V8: never the answer to another request.
#[tokio::test]
async fn one_whose_key_belongs_to_another_request_now_gets_409() {
    let (shop, stop) = (Shop::open().await, Stop::default());
    let app = app(&shop, &stop);
    let passed = sending(&app, post("k", "{}"));
    stop.reached().await;
    assert_eq!(shop.store.force_release(&shop.key("k")).await.unwrap(), Held::Yes);
    send(&app, post("k", "another body")).await;

    stop.let_go();
    let passed = passed.await.unwrap();

    assert_eq!((passed.status.as_u16(), &*reason(&passed)), (409, "TakenOver"));
    assert_eq!(shop.orders().await, ["tea 2"]);
}

/// V7, on the store: its successor's claim is untouched each time.
#[tokio::test]
async fn a_passed_holder_touches_nothing_of_its_successor() {
    let shop = Shop::open().await;
    let passed = acquired(shop.store.claim(&ClaimRequest { lease: Duration::ZERO, ..request("k") }).await);
    let token = acquired(shop.store.claim(&request("k")).await);

    assert_eq!(shop.store.release(&passed).await.unwrap(), Held::No);
    assert_eq!(shop.store.renew(&passed, SECOND).await.unwrap(), Held::No);
    assert_eq!(shop.store.complete(&passed, outcome("late")).await.unwrap(), Held::No);
    assert_eq!(shop.store.complete(&token, outcome("made")).await.unwrap(), Held::Yes);
}
