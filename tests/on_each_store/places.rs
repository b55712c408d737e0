//! Where a store keeps its records.

use tower_idempotency::{MemoryStore, Store};

/// What `on_each_store!` names has an `async fn fresh() -> Self` as well: a new place, that no other test sees.
pub(crate) trait Place {
    type Store: Store;

    fn store(&self) -> Self::Store;

    /// The same records through connections of its own, as another server has them; in memory, a clone.
    async fn beside(&self) -> Self::Store {
        self.store()
    }
}

pub(crate) struct Memory(MemoryStore);

impl Memory {
    pub(crate) async fn fresh() -> Self {
        Self(MemoryStore::new())
    }
}

impl Place for Memory {
    type Store = MemoryStore;

    fn store(&self) -> MemoryStore {
        self.0.clone()
    }
}

#[cfg(feature = "sqlite")]
pub(crate) use sqlite::Sqlite;

#[cfg(feature = "sqlite")]
mod sqlite {
    use tempfile::TempDir;
    use tower_idempotency::SqliteStore;

    use super::Place;

    /// A file.
    pub(crate) struct Sqlite {
        store: SqliteStore,
        folder: TempDir,
    }

    impl Sqlite {
        pub(crate) async fn fresh() -> Self {
            let folder = tempfile::tempdir().expect("a temporary folder");
            Self { store: open(&folder).await, folder }
        }
    }

    impl Place for Sqlite {
        type Store = SqliteStore;

        fn store(&self) -> SqliteStore {
            self.store.clone()
        }

        async fn beside(&self) -> SqliteStore {
            open(&self.folder).await
        }
    }

    async fn open(folder: &TempDir) -> SqliteStore {
        SqliteStore::open(folder.path().join("keys.db")).await.expect("a file of ours")
    }
}

#[cfg(feature = "postgres")]
pub(crate) use postgres::Postgres;

#[cfg(feature = "postgres")]
mod postgres {
    use lab::servers::postgres::shared_url;
    use tower_idempotency::{PostgresStore, store::postgres::sqlx::postgres::PgPoolOptions};
    use uuid::Uuid;

    use super::Place;

    /// A schema; `TEST_POSTGRES_URL` is the server, or a private one is started.
    pub(crate) struct Postgres {
        store: PostgresStore,
        schema: String,
    }

    impl Postgres {
        pub(crate) async fn fresh() -> Self {
            let schema = format!("on_each_store_{}", Uuid::new_v4().simple());
            let store = open(&schema).await;
            store.migrate().await.expect("a new schema");
            Self { store, schema }
        }
    }

    impl Place for Postgres {
        type Store = PostgresStore;

        fn store(&self) -> PostgresStore {
            self.store.clone()
        }

        async fn beside(&self) -> PostgresStore {
            open(&self.schema).await
        }
    }

    async fn open(schema: &str) -> PostgresStore {
        let pool = PgPoolOptions::new().max_connections(4).connect(&shared_url()).await.expect("the server answers");
        PostgresStore::builder(pool).schema(schema).build().expect("a name")
    }
}

#[cfg(feature = "redis")]
pub(crate) use redis::Redis;

#[cfg(feature = "redis")]
mod redis {
    use std::{env, sync::Arc};

    use lab::servers::redis::RedisServer;
    use tower_idempotency::{RedisStore, store::redis::Connection};
    use uuid::Uuid;

    use super::Place;

    /// A prefix; `TEST_REDIS_URL` is the server, or a private one is started.
    pub(crate) struct Redis {
        store: RedisStore,
        prefix: String,
        url: String,
        _server: Option<Arc<RedisServer>>,
    }

    impl Redis {
        pub(crate) async fn fresh() -> Self {
            let (url, server) = match env::var("TEST_REDIS_URL") {
                Ok(url) => (url, None),
                Err(_) => {
                    let server = RedisServer::shared();
                    (server.url(), Some(server))
                }
            };
            let prefix = format!("on_each_store-{}:", Uuid::new_v4());
            Self { store: open(&url, &prefix).await, prefix, url, _server: server }
        }
    }

    impl Place for Redis {
        type Store = RedisStore;

        fn store(&self) -> RedisStore {
            self.store.clone()
        }

        async fn beside(&self) -> RedisStore {
            open(&self.url, &self.prefix).await
        }
    }

    async fn open(url: &str, prefix: &str) -> RedisStore {
        let connection = Connection::open(url).await.expect("the server answers");
        RedisStore::builder(connection).prefix(prefix).open().await.expect("it does not evict")
    }
}
