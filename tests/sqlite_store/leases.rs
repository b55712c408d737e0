//! Who holds a key: lapsed, passed, freed, and clocks that were set.

use std::time::Duration;

use tokio::time::advance;
use tower_idempotency::{
    Store,
    store::{Claimed, Found, Held, Outcome},
};

use crate::{Folder, HOUR, LEASE, SECOND, acquired, other_request, request, response};

/// V11.
#[tokio::test(start_paused = true)]
async fn a_lease_from_a_clock_that_was_set_back_lapses_after_its_own_length() {
    let folder = Folder::new();
    let ahead = folder.at(HOUR).await;
    let first = acquired(ahead.claim(&request("a")).await);

    let store = folder.at(Duration::ZERO).await;
    assert!(matches!(store.lookup(&request("a")).await, Ok(Found::InFlight { lease_left: LEASE })));
    assert!(matches!(store.claim(&request("a")).await, Ok(Claimed::InFlight { lease_left: LEASE })));
    advance(LEASE - SECOND).await;
    assert!(matches!(store.claim(&request("a")).await, Ok(Claimed::InFlight { lease_left: SECOND })));
    advance(SECOND).await;
    assert!(matches!(store.claim(&request("a")).await, Ok(Claimed::Acquired { attempt: 2, .. })));
    assert_eq!(ahead.complete(&first, Outcome::Response(response("late"))).await.unwrap(), Held::No);
}

/// V11.
#[tokio::test(start_paused = true)]
async fn a_cut_lease_that_is_renewed_goes_on() {
    let folder = Folder::new();
    let ahead = folder.at(HOUR).await;
    let token = acquired(ahead.claim(&request("a")).await);
    let store = folder.at(Duration::ZERO).await;

    for _ in 0..5 {
        assert!(matches!(store.claim(&request("a")).await, Ok(Claimed::InFlight { lease_left: LEASE })));
        advance(LEASE / 2).await;
        assert_eq!(ahead.renew(&token, LEASE).await.unwrap(), Held::Yes);
    }
    assert_eq!(ahead.complete(&token, Outcome::Response(response("made"))).await.unwrap(), Held::Yes);
    assert!(matches!(store.claim(&request("a")).await, Ok(Claimed::Done(_))));
}

/// V11.
#[tokio::test(start_paused = true)]
async fn a_clock_set_forward_lapses_a_lease_and_its_holder_can_finish_nothing() {
    let folder = Folder::new();
    let behind = folder.at(Duration::ZERO).await;
    let passed = acquired(behind.claim(&request("a")).await);

    let store = folder.at(HOUR).await;
    let token = acquired(store.claim(&request("a")).await);
    assert!(token.fence() > passed.fence());
    assert_eq!(behind.complete(&passed, Outcome::Response(response("late"))).await.unwrap(), Held::No);
    assert_eq!(behind.renew(&passed, LEASE).await.unwrap(), Held::No);
    assert_eq!(store.complete(&token, Outcome::Response(response("made"))).await.unwrap(), Held::Yes);
}

/// V6.
#[tokio::test(start_paused = true)]
async fn a_dead_holder_is_passed_after_its_lease_and_not_before() {
    let store = Folder::new().kept().store().await;
    acquired(store.claim(&request("a")).await);
    advance(LEASE - Duration::from_millis(1)).await;
    assert!(matches!(store.claim(&request("a")).await, Ok(Claimed::InFlight { .. })));
    advance(Duration::from_millis(1)).await;
    assert!(matches!(store.lookup(&request("a")).await, Ok(Found::Lapsed)));
    assert!(matches!(store.claim(&request("a")).await, Ok(Claimed::Acquired { attempt: 2, .. })));
}

/// V7.
#[tokio::test(start_paused = true)]
async fn a_passed_holder_touches_nothing_of_its_successor() {
    let store = Folder::new().kept().store().await;
    let passed = acquired(store.claim(&request("a")).await);
    advance(LEASE).await;
    let token = acquired(store.claim(&request("a")).await);

    assert_eq!(store.release(&passed).await.unwrap(), Held::No);
    assert_eq!(store.renew(&passed, HOUR).await.unwrap(), Held::No);
    assert_eq!(store.complete(&passed, Outcome::Response(response("late"))).await.unwrap(), Held::No);
    assert!(matches!(store.claim(&request("a")).await, Ok(Claimed::InFlight { lease_left: LEASE })));
    assert_eq!(store.complete(&token, Outcome::Response(response("made"))).await.unwrap(), Held::Yes);
    assert!(matches!(store.claim(&request("a")).await, Ok(Claimed::Done(kept)) if kept == response("made")));
}

/// V8.
#[tokio::test(start_paused = true)]
async fn a_holder_that_slept_through_a_release_cannot_overwrite_what_came_after() {
    let store = Folder::new().kept().store().await;
    let sleeper = acquired(store.claim(&request("a")).await);
    advance(LEASE).await;
    let successor = acquired(store.claim(&request("a")).await);
    assert_eq!(store.release(&successor).await.unwrap(), Held::Yes);
    let third = acquired(store.claim(&other_request("a")).await);
    assert_eq!(store.complete(&third, Outcome::Response(response("third"))).await.unwrap(), Held::Yes);

    assert_eq!(store.complete(&sleeper, Outcome::Response(response("first"))).await.unwrap(), Held::No);
    assert!(matches!(store.claim(&other_request("a")).await, Ok(Claimed::Done(kept)) if kept == response("third")));
}

#[tokio::test]
async fn a_freed_key_leaves_its_holder_nothing_and_a_finished_one_is_not_freed() {
    let store = Folder::new().kept().store().await;
    let passed = acquired(store.claim(&request("a")).await);
    assert_eq!(store.force_release(passed.key()).await.unwrap(), Held::Yes);
    assert_eq!(store.complete(&passed, Outcome::Response(response("late"))).await.unwrap(), Held::No);
    let token = acquired(store.claim(&request("a")).await);
    assert_eq!(store.complete(&token, Outcome::Response(response("made"))).await.unwrap(), Held::Yes);
    assert_eq!(store.force_release(token.key()).await.unwrap(), Held::No);
    assert_eq!(store.forget(token.key()).await.unwrap(), Held::Yes);
    assert_eq!(store.forget(token.key()).await.unwrap(), Held::No);
}
