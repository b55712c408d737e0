//! `begin`, then `complete`, `rollback`, or neither.

use axum::{Router, body::Body, response::Response};
use futures_util::{FutureExt, future::BoxFuture};
use http::StatusCode;
use lab::exchange::{post, send};
use tower_idempotency::{
    idempotency::{Claim, CommitErrorKind},
    store::{
        Status,
        postgres::{
            ClaimTx, PostgresStore,
            sqlx::{self, PgConnection, Postgres, Transaction},
        },
    },
};

use crate::shop::{Failure, Shop, order, reason, seen};

#[tokio::test]
async fn the_write_and_the_key_are_kept_together_and_replayed() {
    let shop = Shop::open().await;
    let app = ordering(&shop, |tx, schema| async move { order(tx, &schema, "tea").await }.boxed());

    let first = send(&app, post("k", "{}")).await;
    let repeat = send(&app, post("k", "{}")).await;

    assert_eq!(seen(&first), (201, "ordered", Some("false")));
    assert_eq!(seen(&repeat), (201, "ordered", Some("true")));
    assert_eq!(shop.orders().await, ["tea"]);
}

/// It is used as sqlx's own transaction, by the handler and by helpers of either kind.
#[tokio::test]
async fn a_transaction_of_a_claim_is_used_as_sqlx_uses_its_own() {
    async fn on_a_connection(connection: &mut PgConnection) -> i32 {
        sqlx::query_scalar("SELECT 2").fetch_one(connection).await.unwrap()
    }
    async fn in_a_transaction(tx: &mut Transaction<'_, Postgres>) -> i32 {
        sqlx::query_scalar("SELECT 3").fetch_one(&mut **tx).await.unwrap()
    }
    let shop = Shop::open().await;
    let app = shop.app(async move |claim: Claim<PostgresStore>| {
        let mut tx = claim.begin().await?;
        let one: i32 = sqlx::query_scalar("SELECT 1").fetch_one(&mut *tx).await?;
        let sum = one + on_a_connection(&mut tx).await + in_a_transaction(tx.transaction()).await;
        tx.complete((StatusCode::CREATED, sum.to_string())).await.map_err(Failure::from)
    });

    assert_eq!(seen(&send(&app, post("k", "{}")).await), (201, "6", Some("false")));
}

#[tokio::test]
async fn a_handler_that_fails_before_it_completes_writes_nothing_and_a_repeat_runs() {
    let shop = Shop::open().await;
    let app = ordering(&shop, |tx, schema| {
        async move {
            order(tx, &schema, "tea").await?;
            Err(Failure::Sql(sqlx::Error::RowNotFound))
        }
        .boxed()
    });

    assert_eq!(send(&app, post("k", "{}")).await.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(shop.orders().await.is_empty());
    assert_eq!(shop.status("k").await, Status::Unknown, "it was released");
}

/// Rule 13: what it ends with is kept.
#[tokio::test]
async fn a_refusal_after_a_dropped_transaction_is_recorded() {
    let shop = Shop::open().await;
    let app = ordering(&shop, |tx, schema| {
        async move {
            order(tx, &schema, "tea").await?;
            Err(Failure::SoldOut)
        }
        .boxed()
    });

    assert_eq!(seen(&send(&app, post("k", "{}")).await), (404, "", Some("false")));
    assert_eq!(seen(&send(&app, post("k", "{}")).await), (404, "", Some("true")));
    assert!(shop.orders().await.is_empty());
}

/// V30: no success with nothing committed.
#[tokio::test]
async fn success_on_a_transaction_that_was_begun_and_left_becomes_500_and_a_repeat_runs() {
    let shop = Shop::open().await;
    for status in [StatusCode::OK, StatusCode::SEE_OTHER] {
        let schema = shop.schema.clone();
        let app = shop.app(async move |claim: Claim<PostgresStore>| {
            let mut tx = claim.begin().await?;
            order(&mut tx, &schema, "tea").await?;
            Ok::<_, Failure>(status)
        });

        let answer = send(&app, post("k", "{}")).await;

        assert_eq!((answer.status.as_u16(), answer.replayed(), &*reason(&answer)), (500, None, "NothingCommitted"));
        assert!(shop.orders().await.is_empty());
        assert_eq!(shop.status("k").await, Status::Unknown, "it was released");
    }
}

#[tokio::test]
async fn success_after_a_rollback_on_purpose_is_success() {
    let shop = Shop::open().await;
    let schema = shop.schema.clone();
    let app = shop.app(async move |claim: Claim<PostgresStore>| {
        let mut tx = claim.begin().await?;
        order(&mut tx, &schema, "tea").await?;
        tx.rollback().await?;
        Ok::<_, Failure>((StatusCode::OK, "nothing to order"))
    });

    assert_eq!(seen(&send(&app, post("k", "{}")).await), (200, "nothing to order", Some("false")));
    assert_eq!(seen(&send(&app, post("k", "{}")).await), (200, "nothing to order", Some("true")));
    assert!(shop.orders().await.is_empty());
}

/// One that was rolled back on purpose does not speak for another.
#[tokio::test]
async fn success_after_one_transaction_was_left_and_another_rolled_back_becomes_500() {
    let shop = Shop::open().await;
    let schema = shop.schema.clone();
    let app = shop.app(async move |claim: Claim<PostgresStore>| {
        let (mut left, back) = (claim.begin().await?, claim.begin().await?);
        back.rollback().await?;
        order(&mut left, &schema, "tea").await?;
        Ok::<_, Failure>(StatusCode::OK)
    });

    let answer = send(&app, post("k", "{}")).await;

    assert_eq!((answer.status.as_u16(), &*reason(&answer)), (500, "NothingCommitted"));
    assert!(shop.orders().await.is_empty());
}

/// The handler had nothing in its hand to complete or to roll back.
#[tokio::test]
async fn success_after_a_transaction_that_could_not_begin_is_success() {
    let shop = Shop::open().await;
    let app = shop.app(async move |claim: Claim<PostgresStore>| {
        let refused = claim.begin_with("BEGIN AND THEN WHAT").await.map(drop).unwrap_err();
        assert_eq!(refused.kind(), CommitErrorKind::RolledBack);
        Ok::<_, Failure>((StatusCode::ACCEPTED, "later"))
    });

    assert_eq!(seen(&send(&app, post("k", "{}")).await), (202, "later", Some("false")));
    assert_eq!(seen(&send(&app, post("k", "{}")).await), (202, "later", Some("true")));
}

/// Its COMMIT would be a rollback without an error.
#[tokio::test]
async fn a_transaction_that_has_failed_cannot_be_completed() {
    let shop = Shop::open().await;
    let app = ordering(&shop, |tx, schema| {
        async move {
            order(tx, &schema, "tea").await?;
            assert!(sqlx::query("SELECT 1 / 0").execute(&mut **tx).await.is_err());
            Ok(())
        }
        .boxed()
    });

    assert_eq!(send(&app, post("k", "{}")).await.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(shop.orders().await.is_empty());
    assert_eq!(shop.status("k").await, Status::Unknown, "it was released");
}

/// A deferred constraint is looked at by the COMMIT.
#[tokio::test]
async fn a_commit_that_the_server_refuses_is_rolled_back_and_may_be_tried_again() {
    let shop = Shop::open().await;
    let schema = shop.schema.clone();
    let app = shop.app(async move |claim: Claim<PostgresStore>| {
        let mut tx = claim.begin().await?;
        order(&mut tx, &schema, "tea").await?;
        order(&mut tx, &schema, "tea").await?;
        let refused = tx.complete("twice").await.unwrap_err();
        assert_eq!(refused.kind(), CommitErrorKind::RolledBack);
        let mut tx = claim.begin().await?;
        order(&mut tx, &schema, "tea").await?;
        tx.complete((StatusCode::CREATED, "once")).await.map_err(Failure::from)
    });

    assert_eq!(seen(&send(&app, post("k", "{}")).await), (201, "once", Some("false")));
    assert_eq!(shop.orders().await, ["tea"]);
}

/// A handler that is dropped while it begins leaves no connection in an open transaction.
#[tokio::test]
async fn a_begin_that_is_dropped_leaves_no_open_transaction_in_the_pool() {
    let shop = Shop::with(1).await;
    for micros in (0..1500).step_by(30) {
        let app = shop.app(async move |claim: Claim<PostgresStore>| {
            let begin = tokio::time::timeout(std::time::Duration::from_micros(micros), claim.begin());
            drop(begin.await);
            StatusCode::NO_CONTENT
        });
        send(&app, post(&format!("k{micros}"), "{}")).await;
        let mut next = shop.pool.acquire().await.unwrap();
        let open = shop.run_on(&mut next, "SAVEPOINT only_in_a_transaction").await;
        assert!(open.is_err(), "after {micros} us");
    }

    shop.run("INSERT INTO {}.orders VALUES ('by itself')").await;
    assert_eq!(shop.beside().await.orders().await, ["by itself"], "a write by itself is committed at once");
}

#[tokio::test]
async fn a_streaming_response_is_refused_and_rolled_back() {
    let shop = Shop::open().await;
    let schema = shop.schema.clone();
    let app = shop.app(async move |claim: Claim<PostgresStore>| -> Result<Response, Failure> {
        let mut tx = claim.begin().await?;
        order(&mut tx, &schema, "tea").await?;
        let stream = futures_util::stream::iter([Ok::<_, std::io::Error>("chunk")]);
        let refused = tx.complete(Body::from_stream(stream)).await.unwrap_err();
        assert_eq!(refused.kind(), CommitErrorKind::StreamingBody);
        Err(refused.into())
    });

    assert_eq!(send(&app, post("k", "{}")).await.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(shop.orders().await.is_empty());
}

type Work = for<'a> fn(&'a mut ClaimTx, String) -> BoxFuture<'a, Result<(), Failure>>;

/// An app whose handler does this in the transaction of its claim, and completes it.
fn ordering(shop: &Shop, work: Work) -> Router {
    let schema = shop.schema.clone();
    shop.app(async move |claim: Claim<PostgresStore>| {
        let mut tx = claim.begin().await?;
        work(&mut tx, schema.clone()).await?;
        tx.complete((StatusCode::CREATED, "ordered")).await.map_err(Failure::from)
    })
}
