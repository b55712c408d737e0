//! What is opened as a store, and what is refused.

use std::error::Error as _;

use lab::servers::redis::RedisServer;
use tower_idempotency::{
    RedisStore,
    store::redis::{Connection, OpenError, OpenErrorKind},
};

use crate::{builder, done};

fn refused(opened: Result<RedisStore, OpenError>) -> OpenError {
    opened.expect_err("such a server is refused")
}

#[tokio::test]
async fn a_server_that_evicts_is_refused() {
    for policy in ["allkeys-lru", "volatile-ttl"] {
        let server = RedisServer::with(["--maxmemory", "64mb", "--maxmemory-policy", policy]);

        let error = refused(RedisStore::open(server.url()).await);

        assert_eq!(error.kind(), &OpenErrorKind::Evicts(policy.into()));
        assert!(error.to_string().ends_with("set it to noeviction"), "{error}");
    }
}

#[tokio::test]
async fn a_server_that_evicts_is_accepted_by_a_setting_that_says_so() {
    let server = RedisServer::with(["--maxmemory-policy", "allkeys-lru"]);

    let store = builder(&server).await.records_may_be_evicted().open().await.unwrap();

    done(&store, "k", "made").await;
}

/// Managed services forbid some commands.
#[tokio::test]
async fn a_server_that_does_not_tell_its_settings_is_opened() {
    let server = RedisServer::with(["--maxmemory-policy", "allkeys-lru"]);
    server.cli(["acl", "setuser", "default", "-info", "-config"]);

    let store = RedisStore::open(server.url()).await.unwrap();

    done(&store, "k", "made").await;
}

#[tokio::test]
async fn a_server_that_is_not_there_is_an_error_with_its_source() {
    let mut server = RedisServer::start();
    server.kill();

    let error = refused(RedisStore::open(server.url()).await);

    assert_eq!(error.kind(), &OpenErrorKind::Connection);
    assert!(error.source().is_some());
}

#[tokio::test]
async fn a_password_that_is_missing_or_wrong_is_an_error_of_the_connection() {
    let server = RedisServer::start();
    server.cli(["config", "set", "requirepass", "secret"]);

    for address in [server.url(), server.url().replace("127", ":wrong@127")] {
        let error = refused(RedisStore::open(address).await);
        assert_eq!(error.kind(), &OpenErrorKind::Connection, "{:?}", error.source());
    }

    done(&RedisStore::open(server.url().replace("127", ":secret@127")).await.unwrap(), "k", "made").await;
}

#[tokio::test]
async fn a_prefix_with_a_brace_is_refused() {
    let server = RedisServer::start();

    let error = refused(builder(&server).await.prefix("{shop}:").open().await);

    assert_eq!(error.kind(), &OpenErrorKind::Prefix);
}

#[tokio::test]
async fn no_debug_output_shows_the_address() {
    let server = RedisServer::start();
    let store = RedisStore::builder(Connection::open(server.url()).await.unwrap()).open().await.unwrap();

    let shown = format!("{store:?}");

    assert!(!shown.contains("127.0.0.1") && shown.contains("idempotency:"), "{shown}");
}
