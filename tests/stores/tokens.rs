//! Rule 8: tokens never repeat.

use std::collections::HashSet;

use tower_idempotency::{
    Store,
    store::{Held, Token},
};

use crate::{Fixture, LEASE, RETENTION, acquire, outcome, request};

pub(crate) async fn fences_rise_over_every_way_a_record_ends(fixture: &impl Fixture) {
    let store = fixture.store();
    let mut last_fence = 0;
    let mut rises = |after: &str, token: &Token| {
        assert!(token.fence() > last_fence, "a fence rises after {after}");
        last_fence = token.fence();
    };
    rises("nothing", &acquire(store, &request("k")).await);

    fixture.advance(LEASE).await;
    let token = acquire(store, &request("k")).await;
    rises("a takeover", &token);

    assert_eq!(store.release(&token).await.unwrap(), Held::Yes);
    rises("a release", &acquire(store, &request("k")).await);

    assert_eq!(store.force_release(&request("k").key).await.unwrap(), Held::Yes);
    rises("a forced release", &acquire(store, &request("k")).await);

    assert_eq!(store.forget(&request("k").key).await.unwrap(), Held::Yes);
    rises("forgetting it unfinished", &acquire(store, &request("k")).await);

    fixture.advance(LEASE + RETENTION).await;
    let token = acquire(store, &request("k")).await;
    rises("its expiry", &token);

    assert_eq!(store.complete(&token, outcome("order 1")).await.unwrap(), Held::Yes);
    assert_eq!(store.forget(&request("k").key).await.unwrap(), Held::Yes);
    rises("forgetting it finished", &acquire(store, &request("k")).await);

    fixture.advance(LEASE + RETENTION).await;
    assert_eq!(store.purge(100).await.unwrap(), 1);
    rises("a purge of the last record", &acquire(store, &request("k")).await);

    rises("a claim of another key", &acquire(store, &request("another")).await);
}

pub(crate) async fn no_two_holders_are_the_same(fixture: &impl Fixture) {
    let store = fixture.store();
    let mut holders = HashSet::new();
    for _ in 0..100 {
        let token = acquire(store, &request("k")).await;
        assert!(holders.insert(*token.holder()), "a holder is drawn for each claim");
        assert_eq!(store.release(&token).await.unwrap(), Held::Yes);
    }
}
