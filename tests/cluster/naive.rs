//! What the same ledger finds under a store that checks, then acts, and does not look at who completes.
//!
//! Three servers with the crate's own layer stand behind the same proxy, on one Postgres. Two requests of each report meet
//! between the check and the act: a gate there opens when both have checked, so it is no luck that they do.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{Json, Router, extract::State, routing::post};
use futures_util::future::join_all;
use http::StatusCode;
use lab::{
    exchange::{self, Answer},
    servers::postgres,
    wire::Server,
};
use serde_json::{Value, json};
use tokio::sync::Barrier;
use tower_idempotency::{
    IdempotencyLayer,
    idempotency::{Claim, Scope},
    store::{
        ClaimRequest, Claimed, Found, Held, Outcome, ScopedKey, Status, Store, StoreError, StoredResponse, Token,
        postgres::sqlx::{self, PgPool, Row},
    },
};

use crate::{
    ledger::{Ledger, Reports},
    proxy::Proxy,
};

const SCHEMA: &str = "CREATE SCHEMA naive;
    CREATE TABLE naive.keys (key bytea PRIMARY KEY, response bytea);
    CREATE TABLE naive.reports (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, title text NOT NULL)";

const REPORTS: usize = 20;

/// Looks, then writes: two statements.
#[derive(Clone)]
struct CheckThenAct {
    pool: PgPool,
    gate: Gate,
}

/// Between the check and the act: nobody acts until two have checked the same key. Clones share it.
#[derive(Clone, Default)]
struct Gate(Arc<Mutex<HashMap<ScopedKey, Arc<Barrier>>>>);

impl Gate {
    async fn both_have_checked(&self, key: &ScopedKey) {
        let barrier = {
            let mut gates = self.0.lock().expect("nobody panics while it is held");
            Arc::clone(gates.entry(key.clone()).or_insert_with(|| Arc::new(Barrier::new(2))))
        };
        barrier.wait().await;
    }
}

impl Store for CheckThenAct {
    async fn claim(&self, request: &ClaimRequest) -> Result<Claimed, StoreError> {
        let key = request.key.as_bytes();
        let check = sqlx::query("SELECT response FROM naive.keys WHERE key = $1").bind(key);
        match check.fetch_optional(&self.pool).await.map_err(StoreError::transient)? {
            Some(row) => Ok(match row.get::<Option<Vec<u8>>, _>(0) {
                Some(response) => Claimed::Done(StoredResponse::from_bytes(response).map_err(StoreError::permanent)?),
                None => Claimed::InFlight { lease_left: Duration::from_secs(1) },
            }),
            None => {
                self.gate.both_have_checked(&request.key).await;
                let act = sqlx::query("INSERT INTO naive.keys (key) VALUES ($1) ON CONFLICT DO NOTHING").bind(key);
                act.execute(&self.pool).await.map_err(StoreError::transient)?;
                Ok(Claimed::Acquired { token: Token::new(request.key.clone(), 1), attempt: 1 })
            }
        }
    }

    /// Whoever comes, and whoever came before.
    async fn complete(&self, token: &Token, outcome: Outcome) -> Result<Held, StoreError> {
        let Outcome::Response(response) = outcome else { panic!("it is short") };
        sqlx::query("UPDATE naive.keys SET response = $2 WHERE key = $1")
            .bind(token.key().as_bytes())
            .bind(response.to_bytes())
            .execute(&self.pool)
            .await
            .map_err(StoreError::transient)?;
        Ok(Held::Yes)
    }

    async fn lookup(&self, _: &ClaimRequest) -> Result<Found, StoreError> {
        Ok(Found::Absent)
    }

    async fn renew(&self, _: &Token, _: Duration) -> Result<Held, StoreError> {
        Ok(Held::Yes)
    }

    async fn release(&self, _: &Token) -> Result<Held, StoreError> {
        Ok(Held::No)
    }

    async fn status(&self, _: &ScopedKey) -> Result<Status, StoreError> {
        Ok(Status::Unknown)
    }

    async fn force_release(&self, _: &ScopedKey) -> Result<Held, StoreError> {
        Ok(Held::No)
    }

    async fn forget(&self, _: &ScopedKey) -> Result<Held, StoreError> {
        Ok(Held::No)
    }

    async fn purge(&self, _: u32) -> Result<u64, StoreError> {
        Ok(0)
    }
}

async fn submit(
    State(pool): State<PgPool>,
    _claim: Claim<CheckThenAct>,
    Json(report): Json<Value>,
) -> (StatusCode, Json<Value>) {
    let insert = sqlx::query_scalar("INSERT INTO naive.reports (title) VALUES ($1) RETURNING id");
    let id: i64 = insert.bind(report["title"].as_str()).fetch_one(&pool).await.expect("it is there");
    (StatusCode::CREATED, Json(json!({ "report_id": id })))
}

async fn serve(url: &str, gate: &Gate) -> Server {
    let pool = PgPool::connect(url).await.expect("it answers");
    let store = CheckThenAct { pool: pool.clone(), gate: gate.clone() };
    let layer = IdempotencyLayer::new(store, Scope::shared());
    Server::start(Router::new().route("/reports", post(submit)).with_state(pool).layer(layer)).await
}

/// On a connection of its own: the next server's.
async fn file(proxy: &Proxy, number: usize) -> Answer {
    let report = json!({ "title": format!("report {number}") }).to_string();
    lab::wire::send(proxy.address, exchange::post(&format!("naive-{number}"), report)).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_checks_then_acts_is_caught_with_each_report() {
    let server = postgres::Postgres::start();
    let pool = PgPool::connect(&server.url()).await.unwrap();
    sqlx::raw_sql(SCHEMA).execute(&pool).await.unwrap();
    let (gate, url) = (Gate::default(), server.url());
    let servers = join_all((0..3).map(|_| serve(&url, &gate))).await;
    let proxy = Proxy::to(servers.iter().map(|server| server.address).collect()).await;

    let mut ledger = Ledger::default();
    for number in 0..REPORTS {
        let title = format!("report {number}");
        for answer in join_all([file(&proxy, number), file(&proxy, number)]).await {
            assert_eq!(answer.status, StatusCode::CREATED, "{answer:?}");
            let told: Value = serde_json::from_slice(&answer.body).unwrap();
            ledger.acknowledged(&title, told["report_id"].as_i64().unwrap());
        }
    }

    let mut reports = Reports::new();
    for row in sqlx::query("SELECT title, id FROM naive.reports ORDER BY id").fetch_all(&pool).await.unwrap() {
        reports.entry(row.get(0)).or_default().push(row.get(1));
    }
    let broken = ledger.broken(&reports);
    assert!(reports.values().all(|ids| ids.len() == 2), "each is filed twice: {reports:?}");
    assert_eq!(broken.len(), 2 * REPORTS, "two answers, and two reports: {broken:?}");
}
