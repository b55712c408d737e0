//! Which failures are worth another try.

use std::error::Error;

use tower_idempotency::{
    PostgresStore, Store,
    store::{Held, postgres::sqlx},
};

use crate::shop::{SECOND, Shop, acquired, outcome, pool, request};

#[tokio::test]
async fn without_the_table_the_error_is_permanent_and_says_what_to_do() {
    let shop = Shop::open().await;
    let store = PostgresStore::builder(shop.pool.clone()).schema("no such schema").build().unwrap();

    let error = store.claim(&request("k")).await.unwrap_err();

    assert!(!error.is_transient());
    assert!(error.source().unwrap().to_string().contains("migrate"), "{error:?}");
}

#[tokio::test]
async fn a_pool_that_is_exhausted_is_transient_and_one_that_is_closed_is_permanent() {
    let url = lab::servers::postgres::shared_url();
    let shop = Shop::open().await;
    let small = sqlx::postgres::PgPoolOptions::new().max_connections(1).acquire_timeout(SECOND / 10);
    let small = small.connect(&url).await.unwrap();
    let store = PostgresStore::builder(small.clone()).schema(&shop.schema).build().unwrap();
    let held = small.acquire().await.unwrap();

    assert!(store.claim(&request("k")).await.unwrap_err().is_transient());
    drop(held);
    acquired(store.claim(&request("k")).await);
    small.close().await;
    assert!(!store.claim(&request("k")).await.unwrap_err().is_transient());
}

#[tokio::test]
async fn a_server_that_is_not_there_is_transient() {
    let nowhere = sqlx::postgres::PgPoolOptions::new().acquire_timeout(SECOND);
    let store = PostgresStore::new(nowhere.connect_lazy("postgres://postgres@127.0.0.1:1/postgres").unwrap());

    assert!(store.claim(&request("k")).await.unwrap_err().is_transient());
}

/// Damaged data is an error, never an absent record.
#[tokio::test]
async fn a_damaged_response_is_a_permanent_error() {
    let shop = Shop::open().await;
    let token = acquired(shop.store.claim(&request("k")).await);
    assert_eq!(shop.store.complete(&token, outcome("made")).await.unwrap(), Held::Yes);
    shop.run("UPDATE {}.records SET response = 'damaged'").await;

    assert!(!shop.store.claim(&request("k")).await.unwrap_err().is_transient());
}

/// A question that is given up leaves no connection behind that would answer it to the next.
#[tokio::test]
async fn a_question_that_is_dropped_at_any_moment_spoils_no_connection() {
    let shop = Shop::with(1).await;
    for micros in (0..2000).step_by(40) {
        let key = format!("k{micros}");
        let asked = request(&key);
        let given_up = tokio::time::timeout(std::time::Duration::from_micros(micros), shop.store.claim(&asked));
        drop(given_up.await);
        let token = acquired(shop.store.claim(&request(&format!("next {key}"))).await);
        assert_eq!(shop.store.complete(&token, outcome("made")).await.unwrap(), Held::Yes);
    }
    let kept = pool(&lab::servers::postgres::shared_url(), 1).await;
    let other = PostgresStore::builder(kept).schema(&shop.schema).build().unwrap();
    for micros in (0..2000).step_by(40) {
        let claimed = other.claim(&request(&format!("next k{micros}"))).await.unwrap();
        assert!(matches!(claimed, tower_idempotency::store::Claimed::Done(_)), "kept for others: {claimed:?}");
    }
}
