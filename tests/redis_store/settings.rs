//! Connections, users and prefixes of other kinds than a test's own.

use std::time::Duration;

use bytes::Bytes;
use lab::servers::redis::RedisServer;
use tower_idempotency::{
    RedisStore, Store,
    store::{
        ClaimRequest, Claimed, Held, Outcome, StoredResponse,
        redis::{OpenErrorKind, redis},
    },
};

use crate::{acquire, builder, done, lapsing, outcome, replayed, request, response, store};

/// What a user needs who may do nothing else, as the page of the store says it.
const RIGHTS: [&str; 16] = [
    "resetkeys",
    "~idempotency:*",
    "-@all",
    "+info",
    "+eval",
    "+evalsha",
    "+time",
    "+get",
    "+set",
    "+hset",
    "+hget",
    "+hmget",
    "+hexists",
    "+del",
    "+pexpireat",
    "+pexpiretime",
];

#[tokio::test]
async fn a_user_with_the_rights_that_the_page_names_may_use_each_verb() {
    let server = RedisServer::start();
    let mut acl = vec!["acl", "setuser", "app", "on", ">secret"];
    acl.extend(RIGHTS);
    let set: [&str; 21] = acl.try_into().expect("so many words");
    assert_eq!(server.cli(set), "OK");
    let store = RedisStore::open(format!("redis://app:secret@127.0.0.1:{}/", server.port())).await.unwrap();

    every_verb(&store).await;
}

/// Permanent: nobody gives it rights by waiting.
#[tokio::test]
async fn a_user_who_may_not_run_scripts_is_refused_for_good() {
    let server = RedisServer::start();
    server.cli(["acl", "setuser", "app", "on", ">secret", "~*", "+@all", "-evalsha"]);
    let store = RedisStore::open(format!("redis://app:secret@127.0.0.1:{}/", server.port())).await.unwrap();
    assert!(!store.claim(&request("k")).await.unwrap_err().is_transient());

    server.cli(["acl", "setuser", "app", "on", ">secret", "resetkeys", "~other:*", "+evalsha"]);
    assert!(!store.claim(&request("k")).await.unwrap_err().is_transient());

    let wrong = RedisStore::open(format!("redis://app:wrong@127.0.0.1:{}/", server.port())).await.unwrap_err();
    assert_eq!(wrong.kind(), &OpenErrorKind::Connection);
}

/// Also after the connection broke.
#[tokio::test]
async fn records_stay_in_the_database_that_the_address_names() {
    let server = RedisServer::start();
    let store = RedisStore::open(format!("{}3", server.url())).await.unwrap();
    done(&store, "before", "made").await;
    server.cli(["client", "kill", "type", "normal"]);
    every_verb(&store).await;
    done(&store, "after", "made").await;

    assert_eq!(server.cli(["-n", "3", "--scan", "--pattern", "*:r:*"]).lines().count(), 2);
    assert_eq!(server.cli(["dbsize"]), "0");
}

#[tokio::test]
async fn a_connection_of_either_protocol_serves_each_verb() {
    let server = RedisServer::start();
    for protocol in ["resp2", "resp3"] {
        let client = redis::Client::open(format!("{}?protocol={protocol}", server.url())).unwrap();
        let connection = redis::aio::ConnectionManager::new(client).await.unwrap();
        let store = RedisStore::builder(connection).prefix(format!("{protocol}:")).open().await.unwrap();

        every_verb(&store).await;
    }
}

#[tokio::test]
async fn a_prefix_may_hold_anything_but_a_brace() {
    let server = RedisServer::start();
    for prefix in ["", " ", "*", "[a]", "\\", "\0", "\r\n", "\u{1F511}", "r:"] {
        every_verb(&builder(&server).await.prefix(prefix).open().await.unwrap()).await;
    }
    for prefix in ["{shop}", "{", "a}", "{}"] {
        let refused = builder(&server).await.prefix(prefix).open().await.unwrap_err();
        assert_eq!(refused.kind(), &OpenErrorKind::Prefix, "{prefix}");
    }
}

/// A response of eight megabytes: scripts carry it as one string.
#[tokio::test]
async fn a_large_response_is_replayed_whole() {
    let server = RedisServer::start();
    let store = store(&server).await;
    let body: Bytes = (0..8_u32 << 20).map(|n| (n % 251) as u8).collect();
    let large = StoredResponse { body, ..response("") };
    let token = acquire(&store, &request("k")).await;

    assert_eq!(store.complete(&token, Outcome::Response(large.clone())).await.unwrap(), Held::Yes);

    assert_eq!(replayed(&store, &request("k")).await, large);
}

/// Every verb, with the longest times that can be asked for.
async fn every_verb(store: &RedisStore) {
    let forever = Duration::MAX;
    let asked = ClaimRequest { lease: forever, retention: forever, ..request("k") };
    let token = acquire(store, &asked).await;
    assert!(matches!(store.claim(&asked).await, Ok(Claimed::InFlight { .. })));
    assert_eq!(store.renew(&token, forever).await.unwrap(), Held::Yes);
    assert_eq!(store.release(&token).await.unwrap(), Held::Yes);
    let lapsed = acquire(store, &lapsing("k")).await;
    let token = acquire(store, &asked).await;
    assert!(token.fence() > lapsed.fence());
    assert_eq!(store.complete(&lapsed, outcome("late")).await.unwrap(), Held::No);
    assert_eq!(store.complete(&token, outcome("made")).await.unwrap(), Held::Yes);
    assert_eq!(replayed(store, &asked).await, response("made"));
    store.status(token.key()).await.unwrap();
    store.lookup(&asked).await.unwrap();
    assert_eq!(store.force_release(token.key()).await.unwrap(), Held::No);
    assert_eq!(store.forget(token.key()).await.unwrap(), Held::Yes);
    assert_eq!(store.purge(10).await.unwrap(), 0);
}
