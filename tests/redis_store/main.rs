//! What `RedisStore` promises of its server: what survives, what is refused, and what happens while it is away.
//!
//! `cargo test --features redis-cluster --test redis_store`. Each test starts a `redis-server` of its own, which has to
//! be installed; without it they fail.

use std::time::Duration;

use http::{HeaderMap, StatusCode};
use lab::servers::redis::RedisServer;
use tokio::time::Instant;
use tower_idempotency::{
    IdempotencyKey, RedisStore, Store,
    store::{
        ClaimRequest, Claimed, Fingerprint, Found, Held, Outcome, ScopedKey, StoreError, StoredResponse, Token,
        redis::{
            Connection, RedisStoreBuilder,
            redis::{self, FromRedisValue},
        },
    },
};

mod away;
mod cluster;
mod fences;
mod full;
mod layer;
mod opening;
mod proxy;
mod races;
mod records;
mod settings;

const LEASE: Duration = Duration::from_secs(10);
const DAY: Duration = Duration::from_hours(24);

async fn store(server: &RedisServer) -> RedisStore {
    builder(server).await.open().await.unwrap()
}

async fn builder(server: &RedisServer) -> RedisStoreBuilder {
    RedisStore::builder(Connection::open(server.url()).await.unwrap())
}

fn request(key: &str) -> ClaimRequest {
    ClaimRequest {
        key: scoped(key),
        fingerprint: Fingerprint::of(b"POST /", b"", b"body"),
        lease: LEASE,
        retention: DAY,
    }
}

/// One whose lease has lapsed as soon as it is granted.
fn lapsing(key: &str) -> ClaimRequest {
    ClaimRequest { lease: Duration::ZERO, ..request(key) }
}

fn scoped(key: &str) -> ScopedKey {
    ScopedKey::new("tests", &IdempotencyKey::parse(key).unwrap())
}

fn outcome(body: &str) -> Outcome {
    Outcome::Response(response(body))
}

fn response(body: &str) -> StoredResponse {
    StoredResponse { status: StatusCode::CREATED, headers: HeaderMap::new(), body: body.to_owned().into() }
}

async fn acquire(store: &RedisStore, request: &ClaimRequest) -> Token {
    acquired(store.claim(request).await)
}

fn acquired(claimed: Result<Claimed, StoreError>) -> Token {
    match claimed {
        Ok(Claimed::Acquired { token, .. }) => token,
        other => panic!("not acquired: {other:?}"),
    }
}

async fn done(store: &RedisStore, key: &str, body: &str) -> Token {
    let token = acquire(store, &request(key)).await;
    assert_eq!(store.complete(&token, outcome(body)).await.unwrap(), Held::Yes);
    token
}

async fn replayed(store: &RedisStore, request: &ClaimRequest) -> StoredResponse {
    match store.claim(request).await.unwrap() {
        Claimed::Done(response) => response,
        other => panic!("not done: {other:?}"),
    }
}

async fn lease_left(store: &RedisStore, request: &ClaimRequest) -> Duration {
    match store.lookup(request).await.unwrap() {
        Found::InFlight { lease_left } => lease_left,
        other => panic!("not in flight: {other:?}"),
    }
}

/// Does something to the one record of a server, as another program would: `on_record(&server, "PTTL", &[])`.
async fn on_record<T: FromRedisValue>(server: &RedisServer, command: &str, args: &[&str]) -> T {
    let client = redis::Client::open(server.url()).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    let keys: Vec<Vec<u8>> = redis::cmd("KEYS").arg("*:r:*").query_async(&mut connection).await.unwrap();
    let [record] = &keys[..] else { panic!("one record: {keys:?}") };
    redis::cmd(command).arg(record).arg(args).query_async(&mut connection).await.unwrap()
}

/// Asks until it holds, as what another process does has to be waited for; a minute is taken for never.
async fn soon(mut holds: impl AsyncFnMut() -> bool) {
    let started = Instant::now();
    while !holds().await {
        assert!(started.elapsed() < Duration::from_secs(60), "it never held");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
