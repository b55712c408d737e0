//! The same questions with a guard off, and the damage that the guard prevents: each promise has been seen red.

use std::time::Duration;

use http::StatusCode;
use lab::exchange::{post, send};
use tower_idempotency::{
    PostgresStore, Store,
    idempotency::Claim,
    store::{
        Claimed, Held,
        postgres::sqlx::{self, AssertSqlSafe},
    },
};

use crate::shop::{Failure, SECOND, Shop, Stop, acquired, at_once, order, request, sending};

/// Why a claim looks first, and inserts only where nothing is seen.
#[tokio::test]
async fn an_insert_that_does_nothing_on_conflict_waits_for_an_open_transaction_and_a_claim_does_not() {
    let shop = Shop::open().await;
    let token = acquired(shop.store.claim(&request("k")).await);
    let _holder = shop.paused_before_its_commit(&token).await;

    let naive = format!(
        "SET lock_timeout = '500ms'; INSERT INTO {0}.records SELECT * FROM {0}.records ON CONFLICT DO NOTHING",
        shop.schema
    );
    let waited = sqlx::raw_sql(AssertSqlSafe(naive)).execute(&shop.pool).await.unwrap_err();

    assert_eq!(waited.as_database_error().unwrap().code().unwrap(), "55P03", "it waited until its limit");
    assert!(matches!(at_once(shop.store.claim(&request("k"))).await, Ok(Claimed::InFlight { .. })));
}

/// Why a renewal skips what is locked.
#[tokio::test]
async fn an_update_waits_for_an_open_transaction_and_a_renewal_does_not() {
    let shop = Shop::open().await;
    let token = acquired(shop.store.claim(&request("k")).await);
    let _holder = shop.paused_before_its_commit(&token).await;

    let naive = format!("SET lock_timeout = '500ms'; UPDATE {}.records SET lease_until = now()", shop.schema);
    let waited = sqlx::raw_sql(AssertSqlSafe(naive)).execute(&shop.pool).await.unwrap_err();

    assert_eq!(waited.as_database_error().unwrap().code().unwrap(), "55P03", "it waited until its limit");
    assert!(at_once(shop.store.renew(&token, SECOND)).await.unwrap_err().is_transient());
}

/// Why `Claim::begin` is a task: sqlx leaves the transaction open, and a write "by itself" is in it.
#[tokio::test]
async fn a_begin_of_sqlx_that_is_dropped_lends_its_open_transaction_to_the_next() {
    let shop = Shop::with(1).await;
    let mut spoiled = 0;
    for micros in (0..3000).step_by(10) {
        drop(tokio::time::timeout(Duration::from_micros(micros), shop.pool.begin()).await);
        let mut next = shop.pool.acquire().await.unwrap();
        let open = sqlx::raw_sql("SAVEPOINT only_in_a_transaction").execute(&mut *next).await.is_ok();
        spoiled += usize::from(open);
        sqlx::raw_sql("ROLLBACK").execute(&mut *next).await.unwrap();
    }

    assert!(spoiled > 0, "sqlx rolls it back now: begin needs no task");
}

/// Where a handler writes.
#[derive(Clone, Copy)]
enum Write {
    /// On a connection of its own: the guard is off.
    Outside,
    /// In the transaction of its claim.
    Within,
}

#[tokio::test]
async fn a_write_outside_by_a_holder_that_was_passed_is_made_twice() {
    assert_eq!(orders_after_a_takeover_before_the_write(Write::Outside).await, 2);
}

/// Rule 11, V8.
#[tokio::test]
async fn a_write_within_by_a_holder_that_was_passed_is_made_once() {
    assert_eq!(orders_after_a_takeover_before_the_write(Write::Within).await, 1);
}

async fn orders_after_a_takeover_before_the_write(how: Write) -> usize {
    let (shop, stop) = (Shop::open().await, Stop::default());
    let (schema, pool, stopped) = (shop.schema.clone(), shop.pool.clone(), stop.clone());
    let app = shop.app(async move |claim: Claim<PostgresStore>| {
        if claim.fence() == 1 {
            stopped.here().await;
        }
        let title = format!("tea {}", claim.fence());
        match how {
            Write::Outside => order(&mut *pool.acquire().await?, &schema, &title).await?,
            Write::Within => {
                let mut tx = claim.begin().await?;
                order(&mut tx, &schema, &title).await?;
                tx.complete(StatusCode::CREATED).await?;
            }
        }
        Ok::<_, Failure>(StatusCode::CREATED)
    });
    let held_up = sending(&app, post("k", "{}"));
    stop.reached().await;
    assert_eq!(shop.store.force_release(&shop.key("k")).await.unwrap(), Held::Yes);
    send(&app, post("k", "{}")).await;
    stop.let_go();
    held_up.await.unwrap();
    shop.orders().await.len()
}
