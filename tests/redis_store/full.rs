//! A server without memory, under `noeviction`.

use lab::servers::redis::RedisServer;
use tower_idempotency::{
    Store,
    store::{Found, Held, StoreError},
};

use crate::{LEASE, acquire, done, lease_left, outcome, replayed, request, response, store};

fn full<T: std::fmt::Debug>(answer: Result<T, StoreError>) {
    let error = answer.expect_err("the server is full");
    assert!(error.is_transient(), "{error:?}");
    assert!(format!("{error:?}").contains("OOM"), "it keeps its source: {error:?}");
}

#[tokio::test]
async fn a_full_server_refuses_claims_and_completions_for_now_and_loses_nothing() {
    let server = RedisServer::start();
    let store = store(&server).await;
    done(&store, "done", "made").await;
    let running = acquire(&store, &request("running")).await;
    let given_back = acquire(&store, &request("given back")).await;
    server.cli(["config", "set", "maxmemory", "1"]);

    full(store.claim(&request("new")).await);
    full(store.complete(&running, outcome("made")).await);
    assert_eq!(store.renew(&running, LEASE).await.unwrap(), Held::Yes, "a renewal needs no memory");
    assert_eq!(store.release(&given_back).await.unwrap(), Held::Yes, "a release needs none");
    assert_eq!(replayed(&store, &request("done")).await, response("made"), "a replay needs none");
    assert!(matches!(store.lookup(&request("new")).await.unwrap(), Found::Absent), "nothing was begun");
    lease_left(&store, &request("running")).await;

    server.cli(["config", "set", "maxmemory", "0"]);
    assert_eq!(store.complete(&running, outcome("made")).await.unwrap(), Held::Yes);
    assert_eq!(replayed(&store, &request("running")).await, response("made"));
}

/// After a failover, until the connection is to the new master.
#[tokio::test]
async fn a_replica_refuses_writes_for_now() {
    let server = RedisServer::start();
    let store = store(&server).await;
    done(&store, "done", "made").await;
    server.cli(["replicaof", "127.0.0.1", "1"]);

    let error = store.claim(&request("new")).await.expect_err("it is a replica");

    assert!(error.is_transient(), "{error:?}");
    server.cli(["replicaof", "no", "one"]);
    acquire(&store, &request("new")).await;
}
