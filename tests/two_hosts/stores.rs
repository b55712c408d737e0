//! The store that a process is told to open.

use std::time::Duration;

use lab::servers::{postgres, redis::RedisServer};
use tower_idempotency::{
    IdempotencyKey, PostgresStore, RedisStore,
    store::{
        ClaimRequest, Fingerprint, ScopedKey,
        postgres::sqlx::{self, AssertSqlSafe, PgPool, postgres::PgPoolOptions},
        redis::Connection,
    },
};
use uuid::Uuid;

/// Shorter than the hour by which clocks differ, so that whoever judges by his own ends it.
pub(crate) const RETENTION: Duration = Duration::from_secs(30 * 60);

/// A schema or prefix that the processes of one test share, as its words go to the other process.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) kind: String,
    pub(crate) url: String,
    pub(crate) name: String,
}

impl Place {
    pub(crate) async fn on_postgres() -> Self {
        let place = Self::new("postgres", postgres::shared_url());
        place.postgres().await.migrate().await.expect("a new schema");
        let table = format!("CREATE TABLE {}.orders (key text NOT NULL)", place.name);
        sqlx::raw_sql(AssertSqlSafe(table)).execute(&place.pool().await).await.expect("a new schema");
        place
    }

    pub(crate) fn on_redis(server: &RedisServer) -> Self {
        Self::new("redis", server.url())
    }

    fn new(kind: &str, url: String) -> Self {
        Self { kind: kind.into(), url, name: format!("hosts_{}", Uuid::new_v4().simple()) }
    }

    pub(crate) async fn pool(&self) -> PgPool {
        PgPoolOptions::new().max_connections(8).connect(&self.url).await.expect("the server answers")
    }

    pub(crate) async fn postgres(&self) -> PostgresStore {
        PostgresStore::builder(self.pool().await).schema(&self.name).build().expect("a name")
    }

    pub(crate) async fn redis(&self) -> RedisStore {
        let connection = Connection::open(&*self.url).await.expect("the server answers");
        RedisStore::builder(connection).prefix(&self.name).open().await.expect("it does not evict")
    }

    pub(crate) async fn orders(&self) -> i64 {
        let count = format!("SELECT count(*) FROM {}.orders", self.name);
        sqlx::query_scalar(AssertSqlSafe(count)).fetch_one(&self.pool().await).await.expect("it is there")
    }
}

pub(crate) fn request(key: &str, lease: Duration) -> ClaimRequest {
    ClaimRequest {
        key: ScopedKey::new("hosts", &IdempotencyKey::parse(key).expect("a key")),
        fingerprint: Fingerprint::of(b"POST /", b"", b"body"),
        lease,
        retention: RETENTION,
    }
}
