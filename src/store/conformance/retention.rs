//! Rule 2: how long a record is kept, and that it is as if absent afterwards.

use std::time::Duration;

use super::{
    Fixture,
    words::{Words, acquire, acquire_attempt, assert_near, lease_left, other_body, outcome, replayed, response},
};
use crate::{
    Store,
    store::{ClaimRequest, Found, Held, Status, Token},
};

pub(super) async fn rule_2_a_finished_record_is_kept_from_its_end<F: Fixture>(fixture: &F) {
    let store = fixture.store();
    let token = acquire(store, &F::request("k")).await;
    fixture.advance(F::LEASE / 2).await;
    assert_eq!(store.complete(&token, outcome("order 1")).await.unwrap(), Held::Yes);

    fixture.advance(F::RETENTION - F::MOMENT).await;
    assert_eq!(replayed(store, &F::request("k")).await, response("order 1"));
    fixture.advance(F::MOMENT).await;

    // As if absent: another body is no mismatch.
    assert_eq!(acquire_attempt(store, &other_body(&F::request("k"))).await.1, 1);
}

pub(super) async fn rule_2_an_unfinished_record_is_kept_from_its_lapse<F: Fixture>(fixture: &F) {
    let store = fixture.store();
    let token = acquire(store, &F::request("k")).await;
    assert_eq!(store.renew(&token, 2 * F::LEASE).await.unwrap(), Held::Yes);

    fixture.advance(2 * F::LEASE + F::RETENTION - F::MOMENT).await;
    let found = store.lookup(&other_body(&F::request("k"))).await.unwrap();
    assert!(matches!(found, Found::Mismatch(_)), "kept until now: {found:?}");
    fixture.advance(F::MOMENT).await;

    assert_eq!(acquire_attempt(store, &other_body(&F::request("k"))).await.1, 1);
}

/// V36.
pub(super) async fn rule_2_a_retention_shorter_than_the_handler_ends_nothing_early<F: Fixture>(fixture: &F) {
    let store = fixture.store();
    let request = ClaimRequest { retention: F::LEASE, ..F::request("k") };
    let token = acquire(store, &request).await;
    for _ in 0..8 {
        fixture.advance(F::LEASE / 2).await;
        assert_eq!(store.purge(100).await.unwrap(), 0, "a live lease is never past its retention");
        assert_near::<F>(lease_left(store, &request).await, F::LEASE / 2);
        assert_eq!(store.renew(&token, F::LEASE).await.unwrap(), Held::Yes);
    }

    assert_eq!(store.complete(&token, outcome("order 1")).await.unwrap(), Held::Yes);

    fixture.advance(F::LEASE - F::MOMENT).await;
    assert_eq!(replayed(store, &request).await, response("order 1"));
    fixture.advance(F::MOMENT).await;
    acquire(store, &request).await;
}

pub(super) async fn rule_2_a_takeover_brings_its_own_lease_and_retention<F: Fixture>(fixture: &F) {
    let store = fixture.store();
    acquire(store, &F::request("k")).await;
    fixture.advance(F::LEASE).await;
    let second = ClaimRequest { lease: 3 * F::MOMENT, retention: 2 * F::LEASE, ..F::request("k") };

    let token = acquire(store, &second).await;

    assert_near::<F>(lease_left(store, &F::request("k")).await, 3 * F::MOMENT);
    assert_eq!(store.complete(&token, outcome("order 1")).await.unwrap(), Held::Yes);
    fixture.advance(2 * F::LEASE - F::MOMENT).await;
    assert_eq!(replayed(store, &F::request("k")).await, response("order 1"));
    fixture.advance(F::MOMENT).await;
    let found = store.lookup(&F::request("k")).await.unwrap();
    assert!(matches!(found, Found::Absent), "kept as long as the takeover said: {found:?}");
}

pub(super) async fn rule_2_a_record_past_its_retention_is_as_if_absent_for_every_verb<F: Fixture>(fixture: &F) {
    let token = acquire(fixture.store(), &F::request("k")).await;
    fixture.advance(F::LEASE + F::RETENTION).await;

    as_if_absent(fixture, &token).await;
}

pub(super) async fn rule_2_a_finished_record_past_its_retention_is_as_if_absent_for_every_verb<F: Fixture>(
    fixture: &F,
) {
    let token = acquire(fixture.store(), &F::request("k")).await;
    assert_eq!(fixture.store().complete(&token, outcome("order 1")).await.unwrap(), Held::Yes);
    fixture.advance(F::RETENTION).await;

    as_if_absent(fixture, &token).await;
}

/// `Duration::MAX` is an honest way to say "for ever"; it must not overflow.
pub(super) async fn rule_2_the_longest_lease_and_retention_are_legal<F: Fixture>(fixture: &F) {
    const DAY: Duration = Duration::from_hours(24);
    let store = fixture.store();
    let request = ClaimRequest { lease: Duration::MAX, retention: Duration::MAX, ..F::request("k") };
    let token = acquire(store, &request).await;
    assert_eq!(store.renew(&token, Duration::MAX).await.unwrap(), Held::Yes);
    fixture.advance(F::RETENTION).await;

    assert!(lease_left(store, &request).await > 365 * DAY);
    assert_eq!(store.complete(&token, outcome("order 1")).await.unwrap(), Held::Yes);
    fixture.advance(F::RETENTION).await;
    assert_eq!(store.purge(100).await.unwrap(), 0);
    assert_eq!(replayed(store, &request).await, response("order 1"));
}

async fn as_if_absent<F: Fixture>(fixture: &F, token: &Token) {
    let store = fixture.store();
    assert_eq!(store.renew(token, F::LEASE).await.unwrap(), Held::No, "nothing to renew");
    assert_eq!(store.complete(token, outcome("order 1")).await.unwrap(), Held::No, "nothing to complete");
    assert_eq!(store.release(token).await.unwrap(), Held::No, "nothing to release");
    assert_eq!(store.force_release(token.key()).await.unwrap(), Held::No, "nothing to free");
    assert_eq!(store.forget(token.key()).await.unwrap(), Held::No, "nothing to forget");
    assert_eq!(store.status(token.key()).await.unwrap(), Status::Unknown);
    assert!(matches!(store.lookup(&F::request("k")).await.unwrap(), Found::Absent), "nothing to find");
    assert_eq!(acquire_attempt(store, &other_body(&F::request("k"))).await.1, 1, "a claim starts anew");
}
