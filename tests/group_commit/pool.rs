//! The application's own pool: its hooks and pragmas are in force in a closure.

use std::time::Duration;

use axum::response::IntoResponse;
use deadpool_sqlite::{Config, Hook, HookError, Pool, Runtime};
use http::StatusCode;
use rusqlite::Connection;
use tempfile::TempDir;
use tower_idempotency::SqliteStore;

use crate::{
    plan::{Plan, insert},
    shop::{Shop, set_up},
};

/// A shop on a pool whose hook prepares each connection.
async fn shop_on_a_pool() -> (Pool, Shop) {
    let folder = TempDir::new().unwrap();
    let Ok(builder) = Config::new(folder.path().join("shop.db")).builder(Runtime::Tokio1);
    let prepare = |connection: &Connection| {
        connection.busy_timeout(Duration::from_secs(5))?;
        connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -4321")?;
        set_up(connection)
    };
    let hook = Hook::sync_fn(move |connection, _| {
        let connection = connection.lock().map_err(|_| HookError::message("poisoned"))?;
        prepare(&connection).map_err(HookError::Backend)
    });
    let pool = builder.max_size(2).post_create(hook).build().unwrap();
    let store = SqliteStore::with_pool(pool.clone()).await.unwrap();
    (pool, Shop::on(folder, store))
}

#[tokio::test(start_paused = true)]
async fn a_closure_finds_the_pragmas_of_the_pool() {
    let (_pool, shop) = shop_on_a_pool().await;
    let [looked] = shop
        .in_one_group([("look", {
            Plan::commit(|tx| {
                let pragma = |name| tx.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
                let found = (pragma("foreign_keys")?, pragma("synchronous")?, pragma("cache_size")?);
                Ok((StatusCode::CREATED, format!("{found:?}")).into_response())
            })
        })])
        .await;
    assert_eq!(looked.text(), "(1, 2, -4321)");
}

/// A foreign key that the pool's pragma enforces fails at its statement, if it is not deferred: only its own order.
#[tokio::test(start_paused = true)]
async fn a_foreign_key_that_is_not_deferred_fails_only_its_own_order() {
    let (_pool, shop) = shop_on_a_pool().await;
    shop.connection().execute_batch("CREATE TABLE items (whole REFERENCES wholes)").unwrap();
    let violates = Plan::commit(|tx| {
        tx.execute("INSERT INTO items VALUES (99)", [])?;
        insert("foul")(tx)
    });
    let [before, foul, after] =
        shop.in_one_group([("b", Plan::order("b")), ("foul", violates), ("a", Plan::order("a"))]).await;
    assert_eq!((before.status.as_u16(), foul.status.as_u16(), after.status.as_u16()), (201, 500, 201));
    assert_eq!(foul.text(), "FOREIGN KEY constraint failed");
    assert_eq!(shop.orders(), ["b", "a"]);
}

/// The writer waits for a transaction of the application's own, within the busy timeout of the pool.
#[tokio::test]
async fn an_order_waits_for_a_transaction_of_the_application() {
    let (pool, shop) = shop_on_a_pool().await;
    let own = pool.get().await.unwrap();
    let begun = own.interact(|connection| connection.execute_batch("BEGIN IMMEDIATE")).await;
    begun.unwrap().unwrap();
    let order = shop.start("order");
    let written =
        own.interact(|connection| connection.execute_batch("INSERT INTO orders VALUES ('of the application'); COMMIT"));
    written.await.unwrap().unwrap();

    assert_eq!(order.await.unwrap().text(), "order");
    assert_eq!(shop.orders(), ["of the application", "order"]);
}
