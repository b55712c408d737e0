//! `RedisStore`: every promise of a store. Those of its own page are in `tests/redis_store`.
//!
//! A server's clock cannot be moved, so time is waited for, by all promises at once, each on a thread of its own: a
//! minute.
//! `TEST_REDIS_URL=redis://127.0.0.1/` asks a server that is there, under prefixes of its own, rather than a private one;
//! without `redis-server` installed the test fails.
//!
//! No `write_lock`, no `record_locks`: Redis has neither.

use std::{
    env,
    sync::Arc,
    thread::{self, JoinHandle},
    time::Duration,
};

use lab::servers::redis::RedisServer;
use tower_idempotency::{
    RedisStore,
    store::{
        conformance::{Expiry, Faults, Fixture, Promise, Time, promises},
        redis::Connection,
    },
};
use uuid::Uuid;

struct Redis {
    store: RedisStore,
    _server: Option<Arc<RedisServer>>,
}

impl Fixture for Redis {
    type Store = RedisStore;

    const TIME: Time = Time::Real;
    const UNIT: Duration = Duration::from_secs(5);
    const TOLERANCE: Duration = Duration::from_millis(490);
    const EXPIRY: Expiry = Expiry::ByItself;

    async fn fresh() -> Self {
        let (url, server) = match env::var("TEST_REDIS_URL") {
            Ok(url) => (url, None),
            Err(_) => {
                let server = RedisServer::shared();
                (server.url(), Some(server))
            }
        };
        let connection = Connection::open(url).await.expect("a server");
        let store = RedisStore::builder(connection).prefix(format!("test-{}:", Uuid::new_v4())).open().await;
        Self { store: store.expect("it does not evict"), _server: server }
    }

    fn store(&self) -> &RedisStore {
        &self.store
    }
}

/// A server of the test's own, which is full or forbids scripts.
struct Private {
    store: RedisStore,
    server: RedisServer,
}

impl Fixture for Private {
    type Store = RedisStore;

    const TIME: Time = Time::Real;
    const UNIT: Duration = Redis::UNIT;
    const TOLERANCE: Duration = Redis::TOLERANCE;

    async fn fresh() -> Self {
        let server = RedisServer::start();
        Self { store: RedisStore::open(server.url()).await.expect("it does not evict"), server }
    }

    fn store(&self) -> &RedisStore {
        &self.store
    }
}

impl Faults for Private {
    type Fault = ();

    async fn fail_for_now(&self) {
        self.server.cli(["config", "set", "maxmemory", "1"]);
    }

    async fn fail_for_good(&self) {
        self.server.cli(["acl", "setuser", "default", "-evalsha"]);
    }

    async fn mend(&self, (): ()) {
        self.server.cli(["config", "set", "maxmemory", "0"]);
    }
}

tower_idempotency::store_conformance!(Private, faults);

#[test]
fn every_promise_of_a_store_is_kept_by_the_redis_store() {
    let _held_by_all = RedisServer::shared();
    let (busy, waiting): (Vec<_>, Vec<_>) = promises::<Redis>().into_iter().partition(is_busy);
    assert!(busy.len() > 15 && waiting.len() > 30, "the whole suite");
    let started = |promise: Promise<Redis>| (promise.name(), thread::spawn(move || promise.check()));
    let ended = |(name, trying): (_, JoinHandle<()>)| trying.join().is_err().then_some(name);

    // What is busy would disturb what is measured.
    let mut broken: Vec<&str> = busy.into_iter().filter_map(|promise| ended(started(promise))).collect();
    let waiting: Vec<_> = waiting.into_iter().map(started).collect();
    broken.extend(waiting.into_iter().filter_map(ended));

    assert!(broken.is_empty(), "{broken:#?}");
}

/// Those that let no time pass, and work meanwhile.
fn is_busy(promise: &Promise<Redis>) -> bool {
    const BUSY: [&str; 3] = ["rule_2_claims_go_on", "rule_2_every_scope", "rule_2_a_response_replays"];
    promise.name().starts_with("rule_1_") || BUSY.iter().any(|name| promise.name().starts_with(name))
}
