//! Without prepared statements: what PgBouncer in transaction mode asks of a client. And PgBouncer itself, before a
//! server that it reaches over as few connections as make the test hard.
//!
//! `apt-get install pgbouncer`

use std::{error::Error, time::Duration};

use axum::{Router, handler::Handler};
use futures_util::future::join_all;
use http::StatusCode;
use lab::{
    exchange::{post, send},
    servers::{
        pgbouncer::{PgBouncer, knows_prepared_statements},
        postgres::shared_url,
    },
};
use tower_idempotency::{
    IdempotencyLayer, PostgresStore, Store,
    idempotency::{Claim, Scope},
    store::{
        ClaimRequest, Claimed, Held,
        postgres::{
            PostgresStoreBuilder,
            sqlx::{self, AssertSqlSafe, PgConnection},
        },
    },
};

use crate::shop::{Failure, SECOND, Shop, Stop, acquired, at_once, outcome, pool, request, seen, sending};

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
    every_verb_of(store, "k").await;
}

async fn every_verb_of(store: &PostgresStore, key: &str) {
    let request = || request(key);
    let token = acquired(store.claim(&ClaimRequest { lease: Duration::ZERO, ..request() }).await);
    assert_eq!(store.renew(&token, SECOND).await.unwrap(), Held::Yes);
    assert_eq!(store.complete(&token, outcome("made")).await.unwrap(), Held::Yes);
    assert!(matches!(store.claim(&request()).await, Ok(Claimed::Done(_))));
    store.lookup(&request()).await.unwrap();
    store.status(token.key()).await.unwrap();
    assert_eq!(store.forget(token.key()).await.unwrap(), Held::Yes);
    let token = acquired(store.claim(&request()).await);
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

/// One connection to the server for all of them: each statement may meet what another client left there.
#[tokio::test]
async fn behind_a_pooler_in_transaction_mode_as_text_many_clients_share_one_session() {
    let (shop, pooler) = (Shop::open().await, PgBouncer::before(&shared_url(), 1));
    let mut clients = Vec::new();
    for _ in 0..8 {
        clients.push(pooled(&shop, &pooler, PostgresStoreBuilder::without_prepared_statements).await);
    }

    for (n, store) in clients.iter().enumerate() {
        every_verb_of(store, &format!("k{n}")).await;
    }
    let asked = request("one for all");
    let claims = join_all((0..100).map(|n| clients[n % 8].claim(&asked))).await;
    let claims: Vec<_> = claims.into_iter().map(|claim| claim.expect("no error")).collect();
    let granted = claims.iter().filter(|claim| matches!(claim, Claimed::Acquired { .. })).count();
    assert_eq!(granted, 1, "{claims:?}");
}

/// The guard of the test above: the setting is needed where the pooler knows nothing of prepared statements.
#[tokio::test]
async fn behind_a_pooler_that_knows_no_prepared_statements_a_second_client_without_the_setting_fails() {
    let shop = Shop::open().await;
    let none = [("max_prepared_statements", "0")];
    let settings = if knows_prepared_statements() { &none[..] } else { &[] };
    let pooler = PgBouncer::with(&shared_url(), 1, settings);
    let clients = [pooled(&shop, &pooler, |builder| builder).await, pooled(&shop, &pooler, |builder| builder).await];

    acquired(clients[0].claim(&request("first")).await);
    let error = clients[1].claim(&request("second")).await.unwrap_err();

    assert!(error.source().unwrap().to_string().contains("prepared statement"), "{error:?}");
}

/// The setting is needed exactly where the pooler that is installed does not know them.
#[tokio::test]
async fn behind_a_pooler_prepared_statements_are_served_from_1_21_on() {
    let (shop, known) = (Shop::open().await, knows_prepared_statements());
    let settings = if known { &[("max_prepared_statements", "100")][..] } else { &[] };
    let pooler = PgBouncer::with(&shared_url(), 1, settings);
    let clients = [pooled(&shop, &pooler, |builder| builder).await, pooled(&shop, &pooler, |builder| builder).await];

    acquired(clients[0].claim(&request("first")).await);

    assert_eq!(clients[1].claim(&request("second")).await.is_ok(), known);
}

/// Through the layer: a commit of a claim, one of the application's that the claim joins, and a rollback; while the one
/// before is still open.
#[tokio::test]
async fn behind_a_pooler_handlers_commit_as_ever() {
    let (shop, pooler) = (Shop::open().await, PgBouncer::before(&shared_url(), 3));
    let (schema, store) =
        (&shop.schema, pooled(&shop, &pooler, PostgresStoreBuilder::without_prepared_statements).await);
    let pool = pool(pooler.url(), 2).await;
    let order = async |connection: &mut PgConnection, schema: &str, title: &str| {
        // Bound to no name: what is prepared lives as long as the transaction needs it.
        let sql = format!("INSERT INTO {schema}.orders VALUES ($1)");
        sqlx::query(AssertSqlSafe(sql)).bind(title.to_owned()).persistent(false).execute(connection).await.map(drop)
    };
    let stop = Stop::default();
    let (begins, stopped) = (schema.clone(), stop.clone());
    let begun = app(&store, async move |claim: Claim<PostgresStore>| {
        let mut tx = claim.begin().await?;
        order(&mut tx, &begins, "begun").await?;
        stopped.here().await;
        tx.complete((StatusCode::CREATED, "begun")).await.map_err(Failure::from)
    });
    let joins = schema.clone();
    let joined = app(&store, async move |claim: Claim<PostgresStore>| {
        let mut tx = pool.begin().await?;
        order(&mut tx, &joins, "joined").await?;
        let response = claim.complete_in(&mut tx, (StatusCode::CREATED, "joined")).await?;
        tx.commit().await?;
        Ok::<_, Failure>(response)
    });
    let leaves = schema.clone();
    let left = app(&store, async move |claim: Claim<PostgresStore>| {
        let mut tx = claim.begin().await?;
        order(&mut tx, &leaves, "left").await?;
        Ok::<_, Failure>(StatusCode::OK)
    });

    let first = sending(&begun, post("begun", "{}"));
    stop.reached().await;
    let meanwhile = at_once(send(&begun, post("begun", "{}"))).await;
    assert_eq!(meanwhile.status, StatusCode::CONFLICT);
    assert_eq!(seen(&send(&joined, post("joined", "{}")).await), (201, "joined", Some("false")));
    assert_eq!(send(&left, post("left", "{}")).await.status, StatusCode::INTERNAL_SERVER_ERROR);
    stop.let_go();

    assert_eq!(seen(&first.await.unwrap()), (201, "begun", Some("false")));
    for (app, key) in [(begun, "begun"), (joined, "joined")] {
        assert_eq!(seen(&send(&app, post(key, "{}")).await), (201, key, Some("true")));
    }
    assert_eq!(shop.orders().await, ["begun", "joined"]);
}

/// Behind the pooler too: no handler's transaction takes the connection of the renewals.
#[tokio::test]
async fn behind_a_pooler_a_renewal_waits_for_no_connection_of_the_applications_pool() {
    let (shop, pooler) = (Shop::open().await, PgBouncer::before(&shared_url(), 3));
    let pool = pool(pooler.url(), 2).await;
    let builder = PostgresStore::builder(pool.clone()).schema(&shop.schema).without_prepared_statements();
    let store = builder.build().unwrap();
    let token = acquired(store.claim(&request("k")).await);
    let _held = [pool.begin().await.unwrap(), pool.begin().await.unwrap()];

    assert_eq!(at_once(store.renew(&token, 60 * SECOND)).await.unwrap(), Held::Yes);
}

async fn pooled(
    shop: &Shop,
    pooler: &PgBouncer,
    set: impl FnOnce(PostgresStoreBuilder) -> PostgresStoreBuilder,
) -> PostgresStore {
    let pool = pool(pooler.url(), 2).await;
    set(PostgresStore::builder(pool)).schema(&shop.schema).build().unwrap()
}

fn app<H, T>(store: &PostgresStore, handler: H) -> Router
where
    H: Handler<T, ()>,
    T: 'static,
{
    let layer = IdempotencyLayer::new(store.clone(), Scope::shared());
    Router::new().route("/reports", axum::routing::post(handler)).layer(layer)
}
