//! The application's own transactions, and levels of isolation.

use std::time::Duration;

use http::StatusCode;
use lab::exchange::{post, send};
use tower_idempotency::{
    PostgresStore, Store,
    idempotency::{Claim, CommitErrorKind},
    store::{ClaimRequest, Claimed, Fingerprint, Held},
};

use crate::shop::{Failure, Shop, acquired, order, outcome, pool, request, run, seen};

/// V29.
#[tokio::test]
async fn no_verb_of_the_store_touches_a_transaction_that_the_application_has_open() {
    let shop = Shop::open().await;
    let mut tx = shop.pool.begin().await.unwrap();
    order(&mut tx, &shop.schema, "before").await.unwrap();

    let token = acquired(shop.store.claim(&request("k")).await);
    assert!(matches!(shop.store.claim(&request("k")).await, Ok(Claimed::InFlight { .. })));
    let other = ClaimRequest { fingerprint: Fingerprint::of(b"POST /", b"", b"other"), ..request("k") };
    assert!(matches!(shop.store.claim(&other).await, Ok(Claimed::Mismatch(_))));
    assert_eq!(shop.store.complete(&token, outcome("made")).await.unwrap(), Held::Yes);

    order(&mut tx, &shop.schema, "after").await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(shop.orders().await, ["after", "before"]);
}

/// The store asks for nothing but what READ COMMITTED gives; a database that is set to more costs it a question.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_pool_whose_default_is_serializable_serves_the_store_too() {
    let shop = Shop::open().await;
    let url = lab::servers::postgres::shared_url();
    let and = if url.contains('?') { '&' } else { '?' };
    let url = format!("{url}{and}options=-c%20default_transaction_isolation=serializable");
    let store = PostgresStore::builder(pool(&url, 8).await).schema(&shop.schema).build().unwrap();

    for round in 0..10 {
        let asked = request(&format!("k{round}"));
        acquired(store.claim(&ClaimRequest { lease: Duration::ZERO, ..asked.clone() }).await);
        let claims = futures_util::future::join_all((0..30).map(|_| store.claim(&asked))).await;
        let mut granted = claims.into_iter().filter_map(|claimed| match claimed.expect("a lost race is no error") {
            Claimed::Acquired { token, .. } => Some(token),
            _ => None,
        });
        let token = granted.next().expect("one");
        assert!(granted.next().is_none());
        assert_eq!(store.complete(&token, outcome("made")).await.unwrap(), Held::Yes);
    }
}

/// 40001: the lease was renewed since the transaction's snapshot.
#[tokio::test]
async fn a_completion_that_meets_a_renewal_after_its_snapshot_is_rolled_back_and_may_be_tried_again() {
    let shop = Shop::open().await;
    let (schema, pool) = (shop.schema.clone(), shop.pool.clone());
    let app = shop.app(async move |claim: Claim<PostgresStore>| {
        let mut tx = claim.begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ").await?;
        order(&mut tx, &schema, "tea").await?;
        // As a renewal does, while the handler works.
        let touch = format!("UPDATE {schema}.records SET lease_until = lease_until + interval '1s'");
        run(&schema, &mut *pool.acquire().await?, &touch).await?;
        let refused = tx.complete("first").await.unwrap_err();
        assert_eq!(refused.kind(), CommitErrorKind::RolledBack);
        let mut tx = claim.begin_with("BEGIN ISOLATION LEVEL SERIALIZABLE").await?;
        order(&mut tx, &schema, "tea").await?;
        tx.complete((StatusCode::CREATED, "second")).await.map_err(Failure::from)
    });

    assert_eq!(seen(&send(&app, post("k", "{}")).await), (201, "second", Some("false")));
    assert_eq!(shop.orders().await, ["tea"]);
}
