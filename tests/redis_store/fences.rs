//! Rule 8 of the store contract: fences rise, whatever becomes of records, and of the server's memory.

use std::time::Duration;

use lab::servers::redis::RedisServer;
use tower_idempotency::{
    RedisStore, Store,
    store::{ClaimRequest, Claimed, Held},
};

use crate::{acquire, lapsing, on_record, outcome, request, store};

/// What each claim of the key is granted, one way to end a record after the other.
async fn fences(server: &RedisServer, store: &RedisStore) -> Vec<u64> {
    let mut fences = Vec::new();
    let mut token = acquire(store, &lapsing("k")).await;
    for ended in 0..5 {
        fences.push(token.fence());
        match ended {
            0 => {}
            1 => assert_eq!(store.release(&token).await.unwrap(), Held::Yes),
            2 => assert_eq!(store.force_release(token.key()).await.unwrap(), Held::Yes),
            3 => assert_eq!(store.forget(token.key()).await.unwrap(), Held::Yes),
            _ => {
                assert_eq!(store.complete(&token, outcome("made")).await.unwrap(), Held::Yes);
                on_record::<()>(server, "PEXPIREAT", &["1"]).await;
            }
        }
        token = acquire(store, &lapsing("k")).await;
    }
    fences.push(token.fence());
    fences
}

#[tokio::test]
async fn fences_rise_over_release_forget_and_expiry() {
    let server = RedisServer::start();
    let store = store(&server).await;

    let fences = fences(&server, &store).await;

    assert!(fences.is_sorted_by(|one, next| one < next), "{fences:?}");
}

/// The clock alone would not do: it may be set back. So the counter is asked first; here it is ahead of the clock.
#[tokio::test]
async fn fences_rise_though_the_clock_is_behind() {
    const AHEAD: u64 = 1 << 52;
    let server = RedisServer::start();
    let store = store(&server).await;
    acquire(&store, &lapsing("k")).await;
    server.cli(["set", &fence_key(&server), &AHEAD.to_string()]);

    let fences = fences(&server, &store).await;

    assert_eq!(fences, (1..=6).map(|n| AHEAD + n).collect::<Vec<_>>());
    assert_eq!(server.cli(["ttl", &fence_key(&server)]), "-1", "it stays for ever");
}

/// V8, with a server that lost all it had: what a failover or a snapshot takes back.
#[tokio::test]
async fn fences_rise_though_the_server_forgot_them() {
    let server = RedisServer::start();
    let store = store(&server).await;
    let slept = acquire(&store, &lapsing("k")).await;
    server.cli(["flushall"]);

    let successor = acquire(&store, &request("k")).await;

    assert!(slept.fence() < successor.fence());
    assert_eq!(store.complete(&slept, outcome("late")).await.unwrap(), Held::No);
    assert_eq!(store.complete(&successor, outcome("made")).await.unwrap(), Held::Yes);
}

/// V11: a server whose clock was set back an hour shows a lease with more left than it is long.
#[tokio::test]
async fn a_lease_of_a_clock_that_was_set_back_is_cut_to_its_length() {
    const HOUR: u64 = 3_600_000;
    let server = RedisServer::start();
    let store = store(&server).await;
    let asked = ClaimRequest { lease: Duration::from_secs(10), ..request("k") };
    acquire(&store, &asked).await;
    let expires: u64 = on_record(&server, "PEXPIRETIME", &[]).await;
    on_record::<()>(&server, "PEXPIREAT", &[&(expires + HOUR).to_string()]).await;

    assert_eq!(crate::lease_left(&store, &asked).await, asked.lease, "a look-up shows no more");
    let claimed = store.claim(&asked).await.unwrap();

    assert!(matches!(claimed, Claimed::InFlight { lease_left } if lease_left == asked.lease));
    let cut: u64 = on_record(&server, "PEXPIRETIME", &[]).await;
    assert!(cut < expires + HOUR / 2, "the claim has cut it");
}

fn fence_key(server: &RedisServer) -> String {
    server.cli(["--scan", "--pattern", "*:fence"])
}
