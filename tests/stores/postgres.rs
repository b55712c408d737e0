//! `PostgresStore`: every promise of a store, with prepared statements, without, and behind PgBouncer in transaction mode.
//! Those of its own page are in `tests/postgres_store`.
//!
//! Its clock is the server's. Here that is moved: the store asks for `clock_timestamp()`, and finds one that a schema of
//! the test puts before Postgres' own.

use std::{
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use lab::servers::pgbouncer::PgBouncer;
use tower_idempotency::{
    PostgresStore,
    store::{
        ScopedKey,
        conformance::{Faults, Fixture, RecordLocks, Time, WriteLock},
        postgres::{
            PostgresStoreBuilder,
            sqlx::{
                self, AssertSqlSafe, Connection as _, PgConnection, PgPool, Postgres, Transaction,
                postgres::{PgConnectOptions, PgPoolOptions},
            },
        },
    },
};

const CONNECTIONS: u32 = 8;

struct Server {
    store: PostgresStore,
    /// The store's.
    pool: PgPool,
    /// The test's own, past any pooler.
    direct: PgPool,
    schema: String,
}

impl Server {
    async fn with(set: impl FnOnce(PostgresStoreBuilder) -> PostgresStoreBuilder) -> Self {
        let schema = new_name();
        let with_clock = format!(r#"SET search_path = "{schema}", pg_catalog"#);
        let pool = pool_options().after_connect(move |connection, _| {
            let with_clock = with_clock.clone();
            Box::pin(async move { run(connection, with_clock).await })
        });
        let pool = pool.connect(&lab::servers::postgres::shared_url()).await.expect("the server answers");
        let store = set(PostgresStore::builder(pool.clone())).schema(&schema).build().expect("a name");
        let server = Self { store, direct: pool.clone(), pool, schema };
        server.migrate().await;
        server
    }

    /// In a database of its own: a pooler in transaction mode keeps no `SET` of a connection.
    async fn behind_a_pooler(
        pooler: &PgBouncer,
        set: impl FnOnce(PostgresStoreBuilder) -> PostgresStoreBuilder,
    ) -> Self {
        let url = lab::servers::postgres::shared_url();
        let database = new_name();
        let mut any = PgConnection::connect(&url).await.expect("the server answers");
        run(&mut any, format!(r#"CREATE DATABASE "{database}""#)).await.expect("a new name");
        let with_clock = format!(r#"ALTER DATABASE "{database}" SET search_path = "{database}", pg_catalog"#);
        run(&mut any, with_clock).await.expect("it is there");
        let to = |url: &str| url.parse::<PgConnectOptions>().expect("a URL").database(&database);
        let direct = pool_options().connect_with(to(&url)).await.expect("the server answers");
        let pool = pool_options().connect_with(to(pooler.url())).await.expect("the pooler answers");
        let store = set(PostgresStore::builder(pool.clone())).schema(&database).build().expect("a name");
        let server = Self { store, pool, direct, schema: database };
        server.migrate().await;
        server
    }

    async fn migrate(&self) {
        self.store.migrate().await.expect("a new schema");
        let clock = format!(
            r#"CREATE TABLE "{schema}".ahead (by interval NOT NULL);
               INSERT INTO "{schema}".ahead VALUES ('0');
               CREATE FUNCTION "{schema}".clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS
                   'SELECT pg_catalog.clock_timestamp() + (SELECT by FROM "{schema}".ahead)'"#,
            schema = self.schema
        );
        self.directly(clock).await;
    }

    async fn directly(&self, sql: String) {
        run(&mut self.direct.acquire().await.expect("a connection"), sql).await.expect("it is as the test made it");
    }

    async fn advance(&self, by: Duration) {
        let advance =
            format!(r#"UPDATE "{}".ahead SET by = by + {} * interval '1 microsecond'"#, self.schema, by.as_micros());
        self.directly(advance).await;
    }

    async fn lock(&self, which: &str) -> Transaction<'static, Postgres> {
        let mut tx = self.direct.begin().await.expect("a connection");
        let lock = format!(r#"SELECT FROM "{}".records {which} FOR UPDATE"#, self.schema);
        run(&mut tx, lock).await.expect("nobody else has it");
        tx
    }

    /// What a handler's transaction does to a record, halfway through.
    async fn change(&self, key: &ScopedKey) -> Transaction<'static, Postgres> {
        let mut tx = self.direct.begin().await.expect("a connection");
        let change = format!(r#"UPDATE "{}".records SET status = 201, ended_at = now() WHERE key = $1"#, self.schema);
        let changed = sqlx::query(AssertSqlSafe(change)).bind(key.as_bytes()).execute(&mut *tx).await;
        assert_eq!(changed.expect("nobody else has it").rows_affected(), 1);
        tx
    }
}

fn new_name() -> String {
    static TESTS: AtomicUsize = AtomicUsize::new(0);
    format!("test {}-{}", std::process::id(), TESTS.fetch_add(1, Ordering::Relaxed))
}

fn pool_options() -> PgPoolOptions {
    PgPoolOptions::new().max_connections(CONNECTIONS).acquire_timeout(Duration::from_secs(3))
}

async fn run(connection: &mut PgConnection, sql: String) -> sqlx::Result<()> {
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(connection).await.map(drop)
}

macro_rules! fixture {
    ($fresh:expr) => {
        use super::*;

        struct Fresh(Server);

        impl Fixture for Fresh {
            type Store = PostgresStore;

            const TIME: Time = Time::Real;
            const UNIT: Duration = Duration::from_secs(30);
            const TOLERANCE: Duration = Duration::from_millis(2900);

            async fn fresh() -> Self {
                Self($fresh.await)
            }

            fn store(&self) -> &PostgresStore {
                &self.0.store
            }

            async fn advance(&self, by: Duration) {
                self.0.advance(by).await;
            }
        }

        /// Postgres has no one lock that all writes take. This is every lock that a write of a record needs.
        impl WriteLock for Fresh {
            type WriteGuard = Transaction<'static, Postgres>;

            async fn lock_writes(&self) -> Self::WriteGuard {
                self.0.lock("").await
            }

            async fn unlock_writes(&self, guard: Self::WriteGuard) {
                guard.rollback().await.expect("it is open");
            }
        }

        impl RecordLocks for Fresh {
            type RecordGuard = Transaction<'static, Postgres>;

            async fn lock_record(&self, key: &ScopedKey) -> Self::RecordGuard {
                self.0.change(key).await
            }

            async fn unlock_record(&self, guard: Self::RecordGuard) {
                guard.rollback().await.expect("it is open");
            }
        }

        /// A pool whose connections are all lent, and a table that is not there.
        impl Faults for Fresh {
            type Fault = Vec<Transaction<'static, Postgres>>;

            async fn fail_for_now(&self) -> Self::Fault {
                let mut lent = Vec::new();
                for _ in 0..CONNECTIONS {
                    lent.push(self.0.pool.begin().await.expect("a connection"));
                }
                lent
            }

            async fn fail_for_good(&self) {
                let drop = format!(r#"DROP TABLE "{}".records"#, self.0.schema);
                self.0.directly(drop).await;
            }
        }

        tower_idempotency::store_conformance!(Fresh);
        tower_idempotency::store_conformance!(Fresh, write_lock);
        tower_idempotency::store_conformance!(Fresh, record_locks);
        tower_idempotency::store_conformance!(Fresh, faults);
    };
}

mod prepared {
    fixture!(Server::with(|builder| builder));
}

mod as_text {
    fixture!(Server::with(PostgresStoreBuilder::without_prepared_statements));
}

/// Fewer connections to the server than clients have to the pooler: statements that follow each other meet other sessions.
mod pooled {
    fixture!(Server::behind_a_pooler(pooler(), PostgresStoreBuilder::without_prepared_statements));

    fn pooler() -> &'static PgBouncer {
        static POOLER: OnceLock<PgBouncer> = OnceLock::new();
        POOLER.get_or_init(|| PgBouncer::before(&lab::servers::postgres::shared_url(), CONNECTIONS as usize + 1))
    }
}
