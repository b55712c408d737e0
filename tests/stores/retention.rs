//! Rule 2: how long a record is kept, and that it is as if absent afterwards.

use std::time::Duration;

use tower_idempotency::{
    Store,
    store::{ClaimRequest, Found, Held, Status, Token},
};

use crate::{
    Fixture, LEASE, RETENTION, SECOND, acquire, acquire_attempt, lease_left, other_body, outcome, replayed, request,
    response,
};

const MINUTE: Duration = Duration::from_mins(1);

pub(crate) async fn a_finished_record_is_kept_from_its_end(fixture: &impl Fixture) {
    let store = fixture.store();
    let token = acquire(store, &request("k")).await;
    fixture.advance(LEASE / 2).await;
    assert_eq!(store.complete(&token, outcome("order 1")).await.unwrap(), Held::Yes);

    fixture.advance(RETENTION - SECOND).await;
    assert_eq!(replayed(store, &request("k")).await, response("order 1"));
    fixture.advance(SECOND).await;

    // As if absent: another body is no mismatch.
    assert_eq!(acquire_attempt(store, &other_body(&request("k"))).await.1, 1);
}

pub(crate) async fn an_unfinished_record_is_kept_from_its_lapse(fixture: &impl Fixture) {
    let store = fixture.store();
    let token = acquire(store, &request("k")).await;
    assert_eq!(store.renew(&token, 2 * LEASE).await.unwrap(), Held::Yes);

    fixture.advance(2 * LEASE + RETENTION - SECOND).await;
    let found = store.lookup(&other_body(&request("k"))).await.unwrap();
    assert!(matches!(found, Found::Mismatch(_)), "kept until now: {found:?}");
    fixture.advance(SECOND).await;

    assert_eq!(acquire_attempt(store, &other_body(&request("k"))).await.1, 1);
}

/// V36.
pub(crate) async fn a_retention_shorter_than_the_handler_ends_nothing_early(fixture: &impl Fixture) {
    let store = fixture.store();
    let request = ClaimRequest { retention: MINUTE, ..request("k") };
    let token = acquire(store, &request).await;
    for _ in 0..24 {
        fixture.advance(5 * SECOND).await;
        assert_eq!(store.purge(100).await.unwrap(), 0, "a live lease is never past its retention");
        assert_eq!(lease_left(store, &request).await, 5 * SECOND);
        assert_eq!(store.renew(&token, LEASE).await.unwrap(), Held::Yes);
    }

    assert_eq!(store.complete(&token, outcome("order 1")).await.unwrap(), Held::Yes);

    fixture.advance(MINUTE - SECOND).await;
    assert_eq!(replayed(store, &request).await, response("order 1"));
    fixture.advance(SECOND).await;
    acquire(store, &request).await;
}

pub(crate) async fn a_takeover_brings_its_own_lease_and_retention(fixture: &impl Fixture) {
    let store = fixture.store();
    acquire(store, &request("k")).await;
    fixture.advance(LEASE).await;
    let second = ClaimRequest { lease: 3 * SECOND, retention: MINUTE, ..request("k") };

    let token = acquire(store, &second).await;

    assert_eq!(lease_left(store, &request("k")).await, 3 * SECOND);
    assert_eq!(store.complete(&token, outcome("order 1")).await.unwrap(), Held::Yes);
    fixture.advance(MINUTE).await;
    assert!(matches!(store.lookup(&request("k")).await.unwrap(), Found::Absent), "kept a minute");
}

pub(crate) async fn a_record_past_its_retention_is_as_if_absent_for_every_verb(fixture: &impl Fixture) {
    let token = acquire(fixture.store(), &request("k")).await;
    fixture.advance(LEASE + RETENTION).await;

    as_if_absent(fixture, &token).await;
}

pub(crate) async fn a_finished_record_past_its_retention_is_as_if_absent_for_every_verb(fixture: &impl Fixture) {
    let token = acquire(fixture.store(), &request("k")).await;
    assert_eq!(fixture.store().complete(&token, outcome("order 1")).await.unwrap(), Held::Yes);
    fixture.advance(RETENTION).await;

    as_if_absent(fixture, &token).await;
}

/// `Duration::MAX` is an honest way to say "for ever"; it must not overflow.
pub(crate) async fn the_longest_lease_and_retention_are_legal(fixture: &impl Fixture) {
    let store = fixture.store();
    let request = ClaimRequest { lease: Duration::MAX, retention: Duration::MAX, ..request("k") };
    let token = acquire(store, &request).await;
    assert_eq!(store.renew(&token, Duration::MAX).await.unwrap(), Held::Yes);
    fixture.advance(365 * RETENTION).await;

    assert!(lease_left(store, &request).await > 365 * RETENTION);
    assert_eq!(store.complete(&token, outcome("order 1")).await.unwrap(), Held::Yes);
    fixture.advance(365 * RETENTION).await;
    assert_eq!(store.purge(100).await.unwrap(), 0);
    assert_eq!(replayed(store, &request).await, response("order 1"));
}

async fn as_if_absent(fixture: &impl Fixture, token: &Token) {
    let store = fixture.store();
    assert_eq!(store.renew(token, LEASE).await.unwrap(), Held::No, "nothing to renew");
    assert_eq!(store.complete(token, outcome("order 1")).await.unwrap(), Held::No, "nothing to complete");
    assert_eq!(store.release(token).await.unwrap(), Held::No, "nothing to release");
    assert_eq!(store.force_release(token.key()).await.unwrap(), Held::No, "nothing to free");
    assert_eq!(store.forget(token.key()).await.unwrap(), Held::No, "nothing to forget");
    assert_eq!(store.status(token.key()).await.unwrap(), Status::Unknown);
    assert!(matches!(store.lookup(&request("k")).await.unwrap(), Found::Absent), "nothing to find");
    assert_eq!(acquire_attempt(store, &other_body(&request("k"))).await.1, 1, "a claim starts anew");
}
