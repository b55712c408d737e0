//! What is kept in Redis, and when it goes.

use std::time::Duration;

use bytes::Bytes;
use lab::servers::redis::RedisServer;
use tower_idempotency::{
    IdempotencyKey, Store,
    store::{ClaimRequest, Claimed, Held, Outcome, ScopedKey, StoredResponse},
};

use crate::{LEASE, acquire, builder, done, on_record, outcome, replayed, request, response, soon, store};

/// Redis deletes them by itself: `purge` has nothing to do.
#[tokio::test]
async fn records_go_when_their_retention_ends_and_the_fence_stays() {
    let server = RedisServer::start();
    let store = store(&server).await;
    let short = |key| ClaimRequest { lease: Duration::ZERO, retention: Duration::from_millis(1), ..request(key) };
    acquire(&store, &short("abandoned")).await;
    let finished = acquire(&store, &ClaimRequest { retention: Duration::from_millis(1), ..request("finished") }).await;
    assert_eq!(store.complete(&finished, outcome("made")).await.unwrap(), Held::Yes);

    soon(async || server.cli(["--scan", "--pattern", "*:r:*"]).is_empty()).await;

    assert_eq!(store.purge(100).await.unwrap(), 0);
    assert_eq!(server.cli(["dbsize"]), "2", "two fences");
}

/// Rule 2 of the store contract, V36.
#[tokio::test]
async fn a_live_lease_outlasts_any_retention() {
    let server = RedisServer::start();
    let store = store(&server).await;
    let token = acquire(&store, &ClaimRequest { retention: Duration::ZERO, ..request("k") }).await;
    let left: u64 = on_record(&server, "PTTL", &[]).await;
    assert!((9_000..=10_000).contains(&left), "as long as the lease: {left}");

    assert_eq!(store.renew(&token, 6 * LEASE).await.unwrap(), Held::Yes);

    let left: u64 = on_record(&server, "PTTL", &[]).await;
    assert!((59_000..=60_000).contains(&left), "as long as the renewal says: {left}");
}

#[tokio::test]
async fn retention_counts_from_the_end() {
    const DAY: u64 = 86_400_000;
    let server = RedisServer::start();
    let store = store(&server).await;
    let token = acquire(&store, &ClaimRequest { lease: 100 * crate::DAY, ..request("k") }).await;

    assert_eq!(store.complete(&token, outcome("made")).await.unwrap(), Held::Yes);

    let left: u64 = on_record(&server, "PTTL", &[]).await;
    assert!((DAY - 10_000..=DAY).contains(&left), "{left}");
}

/// V20, V24.
#[tokio::test]
async fn keys_scopes_and_bodies_may_hold_any_byte() {
    let server = RedisServer::start();
    let store = store(&server).await;
    let every_byte: Bytes = (0..=255).collect();
    for (n, scope) in ["", "\0", "\r\n", "}{", "\u{1F511}"].into_iter().enumerate() {
        for key in ["{k}", "*", "a:b", "a b"] {
            let key = ScopedKey::new(scope, &IdempotencyKey::parse(&format!("\"{key}\"")).unwrap());
            let asked = ClaimRequest { key, ..request("k") };
            let kept = StoredResponse { body: [&every_byte[..], &[n as u8]].concat().into(), ..response("") };
            let token = acquire(&store, &asked).await;

            assert_eq!(store.complete(&token, Outcome::Response(kept.clone())).await.unwrap(), Held::Yes);

            assert_eq!(replayed(&store, &asked).await, kept);
        }
    }
}

#[tokio::test]
async fn applications_with_prefixes_of_their_own_do_not_meet() {
    let server = RedisServer::start();
    let shop = builder(&server).await.prefix("shop:").open().await.unwrap();
    let bank = builder(&server).await.prefix("bank:").open().await.unwrap();
    done(&shop, "k", "the shop's").await;

    done(&bank, "k", "the bank's").await;

    assert_eq!(replayed(&shop, &request("k")).await, response("the shop's"));
    assert_eq!(shop.forget(&request("k").key).await.unwrap(), Held::Yes);
    assert_eq!(replayed(&bank, &request("k")).await, response("the bank's"));
}

/// Never absent: its request would run again.
#[tokio::test]
async fn a_damaged_record_is_a_permanent_error() {
    let server = RedisServer::start();
    let store = store(&server).await;
    done(&store, "k", "made").await;

    on_record::<()>(&server, "HSET", &["response", "damaged"]).await;
    assert!(!store.claim(&request("k")).await.unwrap_err().is_transient());

    on_record::<()>(&server, "SET", &["something else"]).await;
    assert!(!store.claim(&request("k")).await.unwrap_err().is_transient());
}

#[tokio::test]
async fn a_record_that_somebody_persisted_is_kept() {
    let server = RedisServer::start();
    let store = store(&server).await;
    done(&store, "k", "made").await;

    on_record::<()>(&server, "PERSIST", &[]).await;

    assert_eq!(replayed(&store, &request("k")).await, response("made"));
    assert!(matches!(store.claim(&request("k")).await, Ok(Claimed::Done(_))));
}
