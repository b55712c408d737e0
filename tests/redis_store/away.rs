//! A server that is killed, starts again, forgets its scripts, or drops its clients.

use lab::servers::redis::RedisServer;
use tower_idempotency::{
    RedisStore, Store,
    store::{Claimed, Held, Status, StoreError, Token},
};

use crate::{LEASE, acquire, done, lapsing, outcome, replayed, request, response, soon, store};

const VERBS: [&str; 8] = ["claim", "lookup", "renew", "complete", "release", "status", "force_release", "forget"];

/// What became of a verb on the record of this token.
async fn verb(name: &str, store: &RedisStore, token: &Token) -> Result<(), StoreError> {
    let request = request(token.key().key());
    match name {
        "claim" => store.claim(&request).await.map(drop),
        "lookup" => store.lookup(&request).await.map(drop),
        "renew" => store.renew(token, LEASE).await.map(|held| assert_eq!(held, Held::Yes)),
        "complete" => store.complete(token, outcome("made")).await.map(|held| assert_eq!(held, Held::Yes)),
        "release" => store.release(token).await.map(|held| assert_eq!(held, Held::Yes)),
        "status" => store.status(token.key()).await.map(|it| assert!(matches!(it, Status::InProgress { .. }))),
        "force_release" => store.force_release(token.key()).await.map(|held| assert_eq!(held, Held::Yes)),
        "forget" => store.forget(token.key()).await.map(|held| assert_eq!(held, Held::Yes)),
        other => panic!("no verb: {other}"),
    }
}

/// With `appendfsync always` nothing that was answered is lost.
#[tokio::test]
async fn what_was_acknowledged_survives_a_kill() {
    let mut server = RedisServer::start();
    let store = store(&server).await;
    done(&store, "done", "made").await;
    let running = acquire(&store, &request("running")).await;
    let lapsed = acquire(&store, &lapsing("lapsed")).await;

    server.kill();
    server.start_again();

    let store = crate::store(&server).await;
    assert_eq!(replayed(&store, &request("done")).await, response("made"));
    assert!(matches!(store.claim(&request("running")).await.unwrap(), Claimed::InFlight { .. }));
    assert_eq!(store.complete(&running, outcome("after")).await.unwrap(), Held::Yes);
    assert!(acquire(&store, &request("lapsed")).await.fence() > lapsed.fence());
}

/// V27: and the store that was there all along works again by itself.
#[tokio::test]
async fn each_verb_fails_for_now_while_the_server_is_down_and_works_again_afterwards() {
    let mut server = RedisServer::start();
    let store = store(&server).await;
    for name in VERBS {
        let token = acquire(&store, &request(name)).await;
        server.kill();

        let error = verb(name, &store, &token).await.expect_err("the server is down");
        assert!(error.is_transient(), "{name}: {error:?}");

        server.start_again();
        soon(async || match verb(name, &store, &token).await {
            Ok(()) => true,
            Err(error) => {
                assert!(error.is_transient(), "{name}: {error:?}");
                false
            }
        })
        .await;
    }
}

/// As a server that has restarted, or a replica that was promoted, knows none.
#[tokio::test]
async fn a_server_that_forgot_the_scripts_gets_them_again() {
    let server = RedisServer::start();
    let store = store(&server).await;
    for name in VERBS {
        let token = acquire(&store, &request(name)).await;
        server.cli(["script", "flush"]);

        verb(name, &store, &token).await.unwrap_or_else(|error| panic!("{name}: {error:?}"));
    }
    assert_eq!(server.cli(["script", "flush"]), "OK");
    acquire(&store, &request("once")).await;
    assert!(server.cli(["info", "commandstats"]).contains("cmdstat_eval:"), "by its text");
    server.cli(["config", "resetstat"]);
    acquire(&store, &request("twice")).await;
    assert!(!server.cli(["info", "commandstats"]).contains("cmdstat_eval:"), "and then by its digest");
}

/// An idle connection that a server or a balancer has closed is no failure of a request.
#[tokio::test]
async fn a_claim_on_a_connection_that_was_closed_meanwhile_is_granted() {
    let server = RedisServer::start();
    let store = store(&server).await;
    for round in 0..20 {
        server.cli(["client", "kill", "type", "normal"]);

        acquire(&store, &request(&round.to_string())).await;
    }
}
