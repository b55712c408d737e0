//! Without prepared statements: what PgBouncer in transaction mode asks of a client.

use std::time::Duration;

use tower_idempotency::{
    PostgresStore, Store,
    store::{ClaimRequest, Claimed, Held},
};

use crate::shop::{SECOND, Shop, acquired, outcome, request};

/// Nothing is left on a connection that the next statement, on another one, would miss.
#[tokio::test]
async fn as_text_each_verb_is_one_message_and_leaves_nothing_on_the_connection() {
    let shop = Shop::with(1).await;
    let store = PostgresStore::builder(shop.pool.clone()).schema(&shop.schema).without_prepared_statements();
    every_verb(&store.build().unwrap()).await;

    assert_eq!(left(&shop).await, (0, 0));
}

/// The guard of the test above: it sees what is left.
#[tokio::test]
async fn prepared_statements_are_left_on_the_connection_and_nothing_else_is() {
    let shop = Shop::with(1).await;
    every_verb(&shop.store).await;

    let (statements, settings) = left(&shop).await;
    assert!(statements > 5, "{statements}");
    assert_eq!(settings, 0, "no lock_timeout outlasts its statement");
}

async fn every_verb(store: &PostgresStore) {
    let token = acquired(store.claim(&ClaimRequest { lease: Duration::ZERO, ..request("k") }).await);
    assert_eq!(store.renew(&token, SECOND).await.unwrap(), Held::Yes);
    assert_eq!(store.complete(&token, outcome("made")).await.unwrap(), Held::Yes);
    assert!(matches!(store.claim(&request("k")).await, Ok(Claimed::Done(_))));
    store.lookup(&request("k")).await.unwrap();
    store.status(token.key()).await.unwrap();
    assert_eq!(store.forget(token.key()).await.unwrap(), Held::Yes);
    let token = acquired(store.claim(&request("k")).await);
    assert_eq!(store.release(&token).await.unwrap(), Held::Yes);
    assert_eq!(store.force_release(token.key()).await.unwrap(), Held::No);
    store.purge(10).await.unwrap();
}

/// Prepared statements of the store's, and settings, on the one connection.
async fn left(shop: &Shop) -> (i64, i64) {
    // In two parts, or the question would count itself.
    let ours = "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%\"rec' || 'ords\"%'";
    let statements = shop.count(ours).await;
    let settings = "SELECT count(*) FROM pg_settings WHERE name = 'lock_timeout' AND setting <> '0'";
    (statements, shop.count(settings).await)
}
