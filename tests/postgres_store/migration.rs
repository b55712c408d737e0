//! The tables: made once, by whoever comes first, under the names that were asked for.

use futures_util::future::join_all;
use tower_idempotency::{
    PostgresStore, Store,
    store::{Held, postgres::MigrateError},
};

use crate::shop::{Shop, acquired, outcome, pool, request, run};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_that_migrate_at_once_and_again_make_the_tables_once() {
    let shop = Shop::with(8).await;
    for round in 0..10 {
        let store = named(&shop, &format!("{}_{round}", shop.schema), "records");

        for made in join_all((0..8).map(|_| store.migrate())).await {
            made.unwrap();
        }

        acquired(store.claim(&request("k")).await);
        store.migrate().await.unwrap();
        assert!(store.status(&request("k").key).await.is_ok(), "what is there stays");
    }
}

/// Where the snapshot is taken before the lock is waited for, what the first one made is not there.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_that_migrate_at_once_see_what_the_first_one_made_whatever_the_default_isolation_is() {
    let shop = Shop::open().await;
    let url = lab::servers::postgres::shared_url();
    let and = if url.contains('?') { '&' } else { '?' };
    let pool = pool(&format!("{url}{and}options=-c%20default_transaction_isolation=serializable"), 8).await;
    for round in 0..10 {
        let schema = format!("{}_{round}", shop.schema);
        let store = PostgresStore::builder(pool.clone()).schema(schema).build().unwrap();
        for made in join_all((0..8).map(|_| store.migrate())).await {
            made.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_tables_whose_schema_is_new_are_made_at_once() {
    let shop = Shop::with(8).await;
    for round in 0..20 {
        let schema = format!("{}_{round}", shop.schema);
        let stores = ["a", "b", "c", "d"].map(|table| named(&shop, &schema, table));
        for made in join_all(stores.iter().map(PostgresStore::migrate)).await {
            made.unwrap();
        }
    }
}

#[tokio::test]
async fn any_name_is_a_name() {
    let shop = Shop::open().await;
    let store = named(&shop, &format!("{} \"Läden\"; --", shop.schema), "It's \\ a table");
    store.migrate().await.unwrap();

    let token = acquired(store.claim(&request("k")).await);
    assert_eq!(store.renew(&token, request("k").lease).await.unwrap(), Held::Yes);
    assert_eq!(store.complete(&token, outcome("made")).await.unwrap(), Held::Yes);
    assert_eq!(store.forget(token.key()).await.unwrap(), Held::Yes);
}

#[tokio::test]
async fn two_tables_in_one_schema_are_two_stores() {
    let shop = Shop::open().await;
    let other = named(&shop, &shop.schema, "others");
    other.migrate().await.unwrap();

    assert_eq!(acquired(shop.store.claim(&request("k")).await).fence(), 1);
    assert_eq!(acquired(other.claim(&request("k")).await).fence(), 1);
}

#[tokio::test]
async fn the_text_of_the_migration_makes_the_same_tables_by_hand_and_in_a_transaction() {
    let shop = Shop::open().await;
    let store = named(&shop, &format!("{}_by_hand", shop.schema), "keys");

    let mut tx = shop.pool.begin().await.unwrap();
    run("", &mut tx, &store.migration()).await.unwrap();
    tx.commit().await.unwrap();

    store.migrate().await.unwrap();
    acquired(store.claim(&request("k")).await);
}

#[tokio::test]
async fn a_table_of_another_layout_is_refused_and_left() {
    let shop = Shop::open().await;
    shop.run("COMMENT ON TABLE {}.records IS 'tower-idempotency: layout 99'").await;
    assert!(matches!(shop.store.migrate().await, Err(MigrateError::OtherLayout)));
    let foreign = named(&shop, &shop.schema, "orders");
    assert!(matches!(foreign.migrate().await, Err(MigrateError::OtherLayout)));
}

fn named(shop: &Shop, schema: &str, table: &str) -> PostgresStore {
    PostgresStore::builder(shop.pool.clone()).schema(schema).table(table).build().unwrap()
}
