//! Renewals have a connection of their own.

use std::time::Duration;

use futures_util::future::join_all;
use http::StatusCode;
use lab::exchange::{post, send};
use tower_idempotency::{
    Store,
    idempotency::Claim,
    store::{ClaimRequest, Found, Held, postgres::PostgresStore},
};

use crate::shop::{Failure, SECOND, Shop, Stop, acquired, at_once, order, request, sending};

/// Every connection is in a handler's transaction.
#[tokio::test]
async fn a_renewal_waits_for_no_connection_of_the_applications_pool() {
    let shop = Shop::with(2).await;
    let token = acquired(shop.store.claim(&request("k")).await);
    let _held = [shop.pool.begin().await.unwrap(), shop.pool.begin().await.unwrap()];

    assert_eq!(at_once(shop.store.renew(&token, 60 * SECOND)).await.unwrap(), Held::Yes);
}

/// Through the layer: handlers that hold the whole pool for three leases keep their keys.
#[tokio::test]
async fn handlers_that_hold_the_whole_pool_keep_their_leases() {
    let (shop, watch) = (Shop::with(2).await, Shop::open().await);
    let lease = Duration::from_millis(900);
    let stops = [Stop::default(), Stop::default()];
    let apps = stops.clone().map(|stop| {
        let schema = shop.schema.clone();
        let handler = async move |claim: Claim<PostgresStore>| {
            let mut tx = claim.begin().await?;
            order(&mut tx, &schema, claim.key().as_str()).await?;
            stop.here().await;
            tx.complete((StatusCode::CREATED, claim.attempt().to_string())).await.map_err(Failure::from)
        };
        axum::Router::new().route("/reports", axum::routing::post(handler)).layer(shop.layer().lease(lease))
    });
    let running = [sending(&apps[0], post("a", "{}")), sending(&apps[1], post("b", "{}"))];
    for stop in &stops {
        stop.reached().await;
    }
    let lapsed = format!("SELECT count(*) FROM {}.records WHERE lease_until <= clock_timestamp()", shop.schema);
    for _ in 0..9 {
        tokio::time::sleep(lease / 3).await;
        assert_eq!(watch.count(&lapsed).await, 0, "each lease is renewed");
    }
    for stop in &stops {
        stop.let_go();
    }

    for answer in running {
        assert_eq!(answer.await.unwrap().text(), "1");
    }
    assert_eq!(shop.orders().await, ["a", "b"]);
    assert_eq!(send(&apps[0], post("a", "{}")).await.replayed(), Some("true"));
}

/// In one round trip, whatever each of them is answered.
#[tokio::test]
async fn renewals_that_wait_together_are_each_answered_their_own() {
    let shop = Shop::open().await;
    let mut tokens = Vec::new();
    for n in 0..40 {
        tokens.push(acquired(shop.store.claim(&request(&format!("k{n}"))).await));
    }
    for token in tokens.iter().step_by(4) {
        assert_eq!(shop.store.release(token).await.unwrap(), Held::Yes);
    }
    let locked = shop.paused_before_its_commit(&tokens[1]).await;

    let twice = tokens.iter().chain(&tokens);
    let answers = join_all(twice.map(|token| shop.store.renew(token, 90 * SECOND))).await;

    for (n, answer) in answers.iter().enumerate() {
        match (n % 40, answer) {
            (1, Err(error)) => assert!(error.is_transient()),
            (n, Ok(held)) => assert_eq!(*held, if n % 4 == 0 { Held::No } else { Held::Yes }, "{n}"),
            other => panic!("{other:?}"),
        }
    }
    drop(locked);
    let found = shop.store.lookup(&request("k2")).await.unwrap();
    assert!(matches!(found, Found::InFlight { lease_left } if lease_left > 60 * SECOND), "{found:?}");
}

/// The one who asks for all may be dropped; the others ask again.
#[tokio::test]
async fn a_renewal_that_is_dropped_takes_no_other_with_it() {
    let shop = Shop::open().await;
    let token = acquired(shop.store.claim(&request("k")).await);
    let other = acquired(shop.store.claim(&ClaimRequest { ..request("other") }).await);
    for micros in (0..3000).step_by(100) {
        let dropped = tokio::time::timeout(Duration::from_micros(micros), shop.store.renew(&token, SECOND));
        let (_, kept) = tokio::join!(dropped, shop.store.renew(&other, 60 * SECOND));
        assert_eq!(kept.unwrap(), Held::Yes);
    }
}
