//! `PostgresStore`: every promise of a store, with prepared statements and without. Those of its own page are in
//! `tests/postgres_store`.
//!
//! Its clock is the server's. Here that is moved: the store asks for `clock_timestamp()`, and finds one that a schema of
//! the test puts before Postgres' own.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use tower_idempotency::{
    PostgresStore,
    store::{
        ScopedKey,
        conformance::{Faults, Fixture, RecordLocks, Time, WriteLock},
        postgres::{
            PostgresStoreBuilder,
            sqlx::{self, AssertSqlSafe, PgConnection, PgPool, Postgres, Transaction, postgres::PgPoolOptions},
        },
    },
};

const CONNECTIONS: u32 = 8;

struct Server {
    store: PostgresStore,
    pool: PgPool,
    schema: String,
}

impl Server {
    async fn with(set: impl FnOnce(PostgresStoreBuilder) -> PostgresStoreBuilder) -> Self {
        static TESTS: AtomicUsize = AtomicUsize::new(0);
        let test = TESTS.fetch_add(1, Ordering::Relaxed);
        let schema = format!("test {}-{test}", std::process::id());
        let with_clock = format!(r#"SET search_path = "{schema}", pg_catalog"#);
        let pool = PgPoolOptions::new()
            .max_connections(CONNECTIONS)
            .acquire_timeout(Duration::from_secs(3))
            .after_connect(move |connection, _| {
                let with_clock = with_clock.clone();
                Box::pin(async move { run(connection, with_clock).await })
            });
        let pool = pool.connect(&lab::servers::postgres::shared_url()).await.expect("the server answers");
        let store = set(PostgresStore::builder(pool.clone())).schema(&schema).build().expect("a name");
        store.migrate().await.expect("a new schema");
        let clock = format!(
            r#"CREATE TABLE "{schema}".ahead (by interval NOT NULL);
               INSERT INTO "{schema}".ahead VALUES ('0');
               CREATE FUNCTION "{schema}".clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS
                   'SELECT pg_catalog.clock_timestamp() + (SELECT by FROM "{schema}".ahead)'"#
        );
        run(&mut pool.acquire().await.expect("a connection"), clock).await.expect("a new schema");
        Self { store, pool, schema }
    }

    async fn advance(&self, by: Duration) {
        let advance =
            format!(r#"UPDATE "{}".ahead SET by = by + {} * interval '1 microsecond'"#, self.schema, by.as_micros());
        run(&mut self.pool.acquire().await.expect("a connection"), advance).await.expect("the table is there");
    }

    async fn lock(&self, which: &str) -> Transaction<'static, Postgres> {
        let mut tx = self.pool.begin().await.expect("a connection");
        let lock = format!(r#"SELECT FROM "{}".records {which} FOR UPDATE"#, self.schema);
        run(&mut tx, lock).await.expect("nobody else has it");
        tx
    }

    /// What a handler's transaction does to a record, halfway through.
    async fn change(&self, key: &ScopedKey) -> Transaction<'static, Postgres> {
        let mut tx = self.pool.begin().await.expect("a connection");
        let change = format!(r#"UPDATE "{}".records SET status = 201, ended_at = now() WHERE key = $1"#, self.schema);
        let changed = sqlx::query(AssertSqlSafe(change)).bind(key.as_bytes()).execute(&mut *tx).await;
        assert_eq!(changed.expect("nobody else has it").rows_affected(), 1);
        tx
    }
}

async fn run(connection: &mut PgConnection, sql: String) -> sqlx::Result<()> {
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(connection).await.map(drop)
}

macro_rules! fixture {
    ($set:expr) => {
        use super::*;

        struct Fresh(Server);

        impl Fixture for Fresh {
            type Store = PostgresStore;

            const TIME: Time = Time::Real;
            const UNIT: Duration = Duration::from_secs(30);
            const TOLERANCE: Duration = Duration::from_millis(2900);

            async fn fresh() -> Self {
                Self(Server::with($set).await)
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
                run(&mut self.0.pool.acquire().await.expect("a connection"), drop).await.expect("it is there");
            }
        }

        tower_idempotency::store_conformance!(Fresh);
        tower_idempotency::store_conformance!(Fresh, write_lock);
        tower_idempotency::store_conformance!(Fresh, record_locks);
        tower_idempotency::store_conformance!(Fresh, faults);
    };
}

mod prepared {
    fixture!(|builder| builder);
}

mod as_text {
    fixture!(PostgresStoreBuilder::without_prepared_statements);
}
