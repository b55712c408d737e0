//! The steps of a commit on Postgres, each while the server is away.

use std::time::Duration;

use axum::{Router, routing::post as on_post};
use http::StatusCode;
use tower_idempotency::{
    PostgresStore,
    idempotency::{Claim, CommitError},
    store::{
        Status,
        postgres::sqlx::{self, AssertSqlSafe, PgConnection},
    },
};

use crate::{
    app::{App, Handler, layer, replayed, status},
    backend::{Away, Backend as _, Behind, OnPostgres, soon},
    verbs::in_each_way,
};

const LEASE: Duration = Duration::from_secs(6);

/// An application whose handler makes an order in a transaction of its claim.
struct Shop {
    behind: Behind<OnPostgres>,
    app: App,
}

impl Shop {
    async fn open(away: Away, lease: Duration) -> Self {
        let behind = Behind::<OnPostgres>::a_wire(away).await;
        let (handler, schema) = (Handler::new(), behind.server.schema.clone());
        let stops = handler.clone();
        let pool = behind.server.pool(behind.server.address());
        let table = format!("CREATE TABLE {schema}.orders (title text NOT NULL)");
        sqlx::raw_sql(AssertSqlSafe(table)).execute(&pool).await.unwrap();
        let ordering = async move |claim: Claim<PostgresStore>| {
            let run = stops.stops().await;
            let mut tx = claim.begin().await?;
            order(&mut tx, &schema).await.expect("the server is there");
            tx.complete((StatusCode::CREATED, format!("run {run}, attempt {}", claim.attempt()))).await
        };
        let router = Router::new().route("/reports", on_post(ordering)).layer(layer(&behind.store, lease));
        Self { behind, app: App { router, handler } }
    }

    async fn orders(&self) -> i64 {
        let pool = self.behind.server.pool(self.behind.server.address());
        let count = format!("SELECT count(*) FROM {}.orders", self.behind.server.schema);
        sqlx::query_scalar(AssertSqlSafe(count)).fetch_one(&pool).await.unwrap()
    }
}

async fn order(connection: &mut PgConnection, schema: &str) -> sqlx::Result<()> {
    let insert = format!("INSERT INTO {schema}.orders VALUES ('tea')");
    sqlx::raw_sql(AssertSqlSafe(insert)).execute(connection).await.map(drop)
}

/// Nothing was begun: 503, the key is given back, and a repeat runs as the first.
async fn beginning(away: Away) {
    let mut shop = Shop::open(away, 100 * LEASE).await;
    let first = shop.app.start();
    shop.app.handler.has_run(1).await;

    shop.behind.goes();
    shop.app.handler.open();
    let first = soon(first).await.unwrap();
    assert_eq!(first.status, 503, "{away:?}");
    shop.behind.returns().await;

    let repeat = shop.app.send_until_answered().await;
    assert_eq!(replayed(&repeat), (201, "run 2, attempt 1", Some("false")), "{away:?}");
    assert_eq!(shop.orders().await, 1, "{away:?}");
}

/// V37; rule 17: 503 and no release; the record decides.
async fn committing(away: Away) {
    let mut shop = Shop::open(away, LEASE).await;
    let first = shop.app.start();
    shop.app.handler.has_run(1).await;

    shop.behind.goes_at(b"COMMIT");
    shop.app.handler.open();
    shop.behind.has_gone().await;
    let first = soon(first).await.unwrap();
    assert_eq!(first.status, 503, "{away:?}");
    shop.behind.returns().await;
    let left = status(&shop.behind.direct).await;
    assert_ne!(left, Status::Unknown, "{away:?}: it was released");

    let repeat = shop.app.send_until_answered().await;
    match repeat.replayed() {
        Some("true") => assert_eq!(repeat.text(), "run 1, attempt 1", "{away:?}"),
        _ => assert_eq!(repeat.text(), "run 2, attempt 2", "{away:?}: not before the lease has lapsed"),
    }
    assert_eq!(shop.orders().await, 1, "{away:?}");
}

/// Rule 17, V30: the application's own commit; whether it happened could not be asked. 503 and no release.
async fn asking_the_record(away: Away) {
    let mut behind = Behind::<OnPostgres>::a_wire(away).await;
    let (handler, pool) = (Handler::new(), behind.server.pool(behind.wire.address()));
    let stops = handler.clone();
    let joining = async move |claim: Claim<PostgresStore>| {
        let mut tx = pool.begin().await.expect("the server is there");
        let response = claim.complete_in(&mut tx, (StatusCode::CREATED, "made")).await?;
        tx.commit().await.expect("the server is there");
        stops.stops().await;
        Ok::<_, CommitError>(response)
    };
    let router = Router::new().route("/reports", on_post(joining)).layer(layer(&behind.store, 100 * LEASE));
    let app = App { router, handler };
    let first = app.start();
    app.handler.has_run(1).await;

    behind.goes();
    app.handler.let_go();
    let first = soon(first).await.unwrap();
    assert_eq!(first.status, 503, "{away:?}");
    behind.returns().await;

    assert_eq!(replayed(&app.send_until_answered().await), (201, "made", Some("true")), "{away:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_that_could_not_begin_is_503_and_a_repeat_runs() {
    in_each_way(beginning).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_was_not_answered_is_503_and_its_key_is_not_released() {
    in_each_way(committing).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_look_up_after_the_applications_own_commit_that_is_not_answered_is_503_and_a_repeat_is_replayed() {
    in_each_way(asking_the_record).await;
}
