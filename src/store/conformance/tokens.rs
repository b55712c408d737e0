//! Rule 8: tokens never repeat.

use std::collections::HashSet;

use super::{
    Fixture,
    words::{Words, acquire, outcome},
};
use crate::{
    Store,
    store::{Held, Token},
};

pub(super) async fn rule_8_fences_rise_over_every_way_a_record_ends<F: Fixture>(fixture: &F) {
    let store = fixture.store();
    let mut last_fence = 0;
    let mut rises = |after: &str, token: &Token| {
        assert!(token.fence() > last_fence, "a fence rises after {after}");
        last_fence = token.fence();
    };
    rises("nothing", &acquire(store, &F::request("k")).await);

    fixture.advance(F::LEASE).await;
    let token = acquire(store, &F::request("k")).await;
    rises("a takeover", &token);

    assert_eq!(store.release(&token).await.unwrap(), Held::Yes);
    rises("a release", &acquire(store, &F::request("k")).await);

    assert_eq!(store.force_release(&F::request("k").key).await.unwrap(), Held::Yes);
    rises("a forced release", &acquire(store, &F::request("k")).await);

    assert_eq!(store.forget(&F::request("k").key).await.unwrap(), Held::Yes);
    rises("forgetting it unfinished", &acquire(store, &F::request("k")).await);

    fixture.advance(F::LEASE + F::RETENTION).await;
    let token = acquire(store, &F::request("k")).await;
    rises("its expiry", &token);

    assert_eq!(store.complete(&token, outcome("order 1")).await.unwrap(), Held::Yes);
    assert_eq!(store.forget(&F::request("k").key).await.unwrap(), Held::Yes);
    rises("forgetting it finished", &acquire(store, &F::request("k")).await);

    fixture.advance(F::LEASE + F::RETENTION).await;
    assert_eq!(store.purge(100).await.unwrap(), F::EXPIRY.purged(1));
    rises("a purge of the last record", &acquire(store, &F::request("k")).await);

    rises("a claim of another key", &acquire(store, &F::request("another")).await);
}

pub(super) async fn rule_8_no_two_holders_are_the_same<F: Fixture>(fixture: &F) {
    let store = fixture.store();
    let mut holders = HashSet::new();
    for _ in 0..100 {
        let token = acquire(store, &F::request("k")).await;
        assert!(holders.insert(*token.holder()), "a holder is drawn for each claim");
        assert_eq!(store.release(&token).await.unwrap(), Held::Yes);
    }
}
