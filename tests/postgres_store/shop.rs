//! A shop: a schema of its own, with the store's table and the application's, and apps on it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    handler::Handler,
    response::{IntoResponse, Response},
    routing::post,
};
use http::{Request, StatusCode};
use lab::exchange::{Answer, HeldRequest, send};
use tokio::{sync::Notify, task::JoinHandle};
use tower_idempotency::{
    IdempotencyKey, IdempotencyLayer, PostgresStore, Store,
    idempotency::{CommitError, Scope},
    store::{
        ClaimRequest, Claimed, Fingerprint, Outcome, ScopedKey, Status, StoreError, StoredResponse, Token,
        postgres::sqlx::{
            self, AssertSqlSafe, PgConnection, PgPool, Postgres, Transaction,
            postgres::{PgConnectOptions, PgPoolOptions},
        },
    },
};

pub(crate) const SECOND: Duration = Duration::from_secs(1);

pub(crate) struct Shop {
    pub(crate) pool: PgPool,
    pub(crate) store: PostgresStore,
    pub(crate) schema: String,
}

impl Shop {
    pub(crate) async fn open() -> Self {
        Self::with(4).await
    }

    /// With so many connections.
    pub(crate) async fn with(connections: u32) -> Self {
        Self::at(&lab::servers::postgres::shared_url(), connections).await
    }

    pub(crate) async fn at(url: &str, connections: u32) -> Self {
        static SHOPS: AtomicUsize = AtomicUsize::new(0);
        let schema = format!("shop_{}_{}", std::process::id(), SHOPS.fetch_add(1, Ordering::Relaxed));
        let pool = named_pool(url, connections, &schema).await;
        let store = PostgresStore::builder(pool.clone()).schema(&schema).build().unwrap();
        store.migrate().await.unwrap();
        let shop = Self { pool, store, schema };
        shop.run("CREATE TABLE {}.orders (title text NOT NULL UNIQUE DEFERRABLE INITIALLY DEFERRED)").await;
        shop
    }

    /// The same shop from another process: a pool and a store of its own.
    pub(crate) async fn beside(&self) -> Self {
        let pool = pool(&lab::servers::postgres::shared_url(), 4).await;
        let store = PostgresStore::builder(pool.clone()).schema(&self.schema).build().unwrap();
        Self { pool, store, schema: self.schema.clone() }
    }

    pub(crate) fn layer(&self) -> IdempotencyLayer<PostgresStore> {
        IdempotencyLayer::new(self.store.clone(), Scope::shared())
    }

    pub(crate) fn app<H, T>(&self, handler: H) -> Router
    where
        H: Handler<T, ()>,
        T: 'static,
    {
        Router::new().route("/reports", post(handler)).layer(self.layer())
    }

    /// Runs SQL in which `{}` is the schema.
    pub(crate) async fn run(&self, sql: &str) {
        self.run_on(&mut self.pool.acquire().await.unwrap(), sql).await.unwrap();
    }

    pub(crate) async fn run_on(&self, connection: &mut PgConnection, sql: &str) -> sqlx::Result<u64> {
        run(&self.schema, connection, sql).await
    }

    pub(crate) async fn count(&self, sql: &str) -> i64 {
        let sql = sql.replace("{}", &self.schema);
        sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(&self.pool).await.unwrap()
    }

    /// The titles of what was ordered.
    pub(crate) async fn orders(&self) -> Vec<String> {
        let sql = format!("SELECT title FROM {}.orders ORDER BY title", self.schema);
        sqlx::query_scalar(AssertSqlSafe(sql)).fetch_all(&self.pool).await.unwrap()
    }

    /// The key as the layer files it.
    pub(crate) fn key(&self, key: &str) -> ScopedKey {
        let (parts, ()) = Request::new(()).into_parts();
        self.layer().scoped_key(&parts, &IdempotencyKey::parse(key).unwrap()).unwrap()
    }

    pub(crate) async fn status(&self, key: &str) -> Status {
        self.store.status(&self.key(key)).await.unwrap()
    }

    /// A transaction that has completed the claim and not committed: what a holder is between its last two steps.
    pub(crate) async fn paused_before_its_commit(&self, token: &Token) -> Transaction<'static, Postgres> {
        let mut tx = self.pool.begin().await.unwrap();
        let sql = format!(
            "UPDATE {}.records SET ended_at = now(), status = 204, expires_at = now() + retention WHERE key = $1",
            self.schema
        );
        let done = sqlx::query(AssertSqlSafe(sql)).bind(token.key().as_bytes()).execute(&mut *tx).await.unwrap();
        assert_eq!(done.rows_affected(), 1);
        tx
    }
}

pub(crate) async fn pool(url: &str, connections: u32) -> PgPool {
    named_pool(url, connections, "pool").await
}

async fn named_pool(url: &str, connections: u32, name: &str) -> PgPool {
    let options: PgConnectOptions = url.parse().unwrap();
    let pool = PgPoolOptions::new().max_connections(connections).acquire_timeout(5 * SECOND);
    pool.connect_with(options.application_name(name)).await.unwrap()
}

pub(crate) async fn run(schema: &str, connection: &mut PgConnection, sql: &str) -> sqlx::Result<u64> {
    let done = sqlx::raw_sql(AssertSqlSafe(sql.replace("{}", schema))).execute(connection).await?;
    Ok(done.rows_affected())
}

/// What the application does in its transaction.
pub(crate) async fn order(connection: &mut PgConnection, schema: &str, title: &str) -> Result<(), Failure> {
    let sql = format!("INSERT INTO {schema}.orders VALUES ($1)");
    sqlx::query(AssertSqlSafe(sql)).bind(title).execute(connection).await?;
    Ok(())
}

/// What the handlers of these tests fail with.
#[derive(Debug)]
pub(crate) enum Failure {
    /// 404, which rule 13 keeps.
    SoldOut,
    Sql(sqlx::Error),
    Commit(CommitError),
}

impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<CommitError> for Failure {
    fn from(error: CommitError) -> Self {
        Self::Commit(error)
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        match self {
            Self::SoldOut => StatusCode::NOT_FOUND.into_response(),
            Self::Sql(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
            Self::Commit(error) => error.into_response(),
        }
    }
}

/// Where a handler stops until it is let go.
#[derive(Clone, Default)]
pub(crate) struct Stop(Arc<(Notify, Notify)>);

impl Stop {
    pub(crate) async fn here(&self) {
        self.0.0.notify_one();
        self.0.1.notified().await;
    }

    pub(crate) async fn reached(&self) {
        self.0.0.notified().await;
    }

    pub(crate) fn let_go(&self) {
        self.0.1.notify_one();
    }
}

/// A request under way.
pub(crate) fn sending(app: &Router, request: HeldRequest) -> JoinHandle<Answer> {
    let app = app.clone();
    tokio::spawn(async move { send(&app, request).await })
}

/// What a test mostly asks of an answer: status, body, replay mark.
pub(crate) fn seen(answer: &Answer) -> (u16, &str, Option<&str>) {
    (answer.status.as_u16(), answer.text(), answer.replayed())
}

/// The reason of a refusal by the layer: the end of its problem's `type`.
pub(crate) fn reason(answer: &Answer) -> String {
    let problem: serde_json::Value = serde_json::from_slice(&answer.body).expect("a problem");
    problem["type"].as_str().unwrap().rsplit('.').next().unwrap().to_owned()
}

pub(crate) fn request(key: &str) -> ClaimRequest {
    ClaimRequest {
        key: ScopedKey::new("tests", &IdempotencyKey::parse(key).unwrap()),
        fingerprint: Fingerprint::of(b"POST /", b"", b"body"),
        lease: 30 * SECOND,
        retention: 3600 * SECOND,
    }
}

pub(crate) fn outcome(body: &'static str) -> Outcome {
    Outcome::Response(StoredResponse {
        status: StatusCode::CREATED,
        headers: http::HeaderMap::new(),
        body: body.into(),
    })
}

pub(crate) fn acquired(claimed: Result<Claimed, StoreError>) -> Token {
    match claimed {
        Ok(Claimed::Acquired { token, .. }) => token,
        other => panic!("not acquired: {other:?}"),
    }
}

/// Looks, while something is asked of the shop's store, whether any of its connections waits for a lock.
pub(crate) async fn waiting_for_nobody<T>(shop: &Shop, asked: impl Future<Output = T>) -> T {
    let watch = pool(&lab::servers::postgres::shared_url(), 1).await;
    let waiting =
        "SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE NOT granted AND application_name = $1";
    let looking = async {
        loop {
            let waiting = sqlx::query_scalar::<_, i64>(waiting).bind(&shop.schema).fetch_one(&watch).await;
            assert_eq!(waiting.unwrap(), 0, "it waits for a lock");
        }
    };
    tokio::select! {
        answer = at_once(asked) => answer,
        never = looking => never,
    }
}

/// What is answered at once: longer than any round trip here, and shorter than any wait for a lock.
pub(crate) async fn at_once<T>(asked: impl Future<Output = T>) -> T {
    tokio::time::timeout(5 * SECOND, asked).await.expect("it waits for nobody")
}
