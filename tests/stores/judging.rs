//! Rule 2: how a claim, and a look-up, judges.

use http::StatusCode;
use tower_idempotency::{
    Store,
    store::{Claimed, Fingerprint, Found, Held, Outcome},
};

use crate::{
    Fixture, LEASE, RETENTION, SECOND, acquire, acquire_attempt, lease_left, other_body, outcome, replayed, request,
    response, scoped,
};

pub(crate) async fn the_first_claim_of_a_key_is_granted_as_attempt_one(fixture: &impl Fixture) {
    let (token, attempt) = acquire_attempt(fixture.store(), &request("k")).await;

    assert_eq!(attempt, 1);
    assert_eq!(token.key(), &request("k").key);
}

pub(crate) async fn a_live_lease_answers_what_is_left_of_it(fixture: &impl Fixture) {
    acquire(fixture.store(), &request("k")).await;

    for passed in 0..10 {
        let claimed = fixture.store().claim(&request("k")).await.unwrap();
        let Claimed::InFlight { lease_left } = claimed else { panic!("in flight after {passed} s: {claimed:?}") };
        assert_eq!(lease_left, LEASE - passed * SECOND);
        fixture.advance(SECOND).await;
    }
}

pub(crate) async fn a_finished_key_answers_its_response_each_time(fixture: &impl Fixture) {
    let store = fixture.store();
    let token = acquire(store, &request("k")).await;
    assert_eq!(store.complete(&token, outcome("order 1")).await.unwrap(), Held::Yes);

    for _ in 0..3 {
        assert_eq!(replayed(store, &request("k")).await, response("order 1"));
        fixture.advance(LEASE).await;
    }
}

pub(crate) async fn a_key_closed_without_its_response_answers_its_status(fixture: &impl Fixture) {
    let store = fixture.store();
    let token = acquire(store, &request("k")).await;
    let closed = Outcome::NotReplayable(StatusCode::ACCEPTED);
    assert_eq!(store.complete(&token, closed).await.unwrap(), Held::Yes);
    fixture.advance(2 * LEASE).await;

    let claimed = store.claim(&request("k")).await.unwrap();
    assert!(matches!(claimed, Claimed::NotReplayable(StatusCode::ACCEPTED)), "closed: {claimed:?}");
    let found = store.lookup(&request("k")).await.unwrap();
    assert!(matches!(found, Found::NotReplayable(StatusCode::ACCEPTED)), "closed: {found:?}");
}

/// V3.
pub(crate) async fn another_body_is_a_mismatch_while_the_first_runs(fixture: &impl Fixture) {
    let store = fixture.store();
    let token = acquire(store, &request("k")).await;
    fixture.advance(4 * SECOND).await;

    let claimed = store.claim(&other_body(&request("k"))).await.unwrap();

    assert!(matches!(claimed, Claimed::Mismatch(_)), "a mismatch comes before in flight: {claimed:?}");
    assert_eq!(lease_left(store, &request("k")).await, 6 * SECOND, "the record is left as it was");
    assert_eq!(store.complete(&token, outcome("order 1")).await.unwrap(), Held::Yes);
}

pub(crate) async fn another_body_is_a_mismatch_after_the_end(fixture: &impl Fixture) {
    let store = fixture.store();
    let token = acquire(store, &request("k")).await;
    assert_eq!(store.complete(&token, outcome("order 1")).await.unwrap(), Held::Yes);

    let claimed = store.claim(&other_body(&request("k"))).await.unwrap();

    assert!(matches!(claimed, Claimed::Mismatch(_)), "a mismatch comes before done: {claimed:?}");
    assert_eq!(replayed(store, &request("k")).await, response("order 1"));
}

pub(crate) async fn another_body_is_a_mismatch_after_the_lapse(fixture: &impl Fixture) {
    let store = fixture.store();
    acquire(store, &request("k")).await;
    fixture.advance(LEASE).await;

    let claimed = store.claim(&other_body(&request("k"))).await.unwrap();

    assert!(matches!(claimed, Claimed::Mismatch(_)), "a mismatch comes before a takeover: {claimed:?}");
    assert_eq!(acquire_attempt(store, &request("k")).await.1, 2);
}

pub(crate) async fn a_mismatch_names_what_differs(fixture: &impl Fixture) {
    let store = fixture.store();
    let with = |target: &[u8], content_type: &[u8], body: &[u8]| {
        let mut request = request("k");
        request.fingerprint = Fingerprint::of(target, content_type, body);
        request
    };
    acquire(store, &with(b"target", b"type", b"body")).await;

    for (other, expected) in [
        (with(b"TARGET", b"type", b"body"), &["target"][..]),
        (with(b"target", b"TYPE", b"body"), &["content_type"]),
        (with(b"target", b"type", b"BODY"), &["body"]),
        (with(b"TARGET", b"TYPE", b"BODY"), &["target", "content_type", "body"]),
    ] {
        let claimed = store.claim(&other).await.unwrap();
        let Claimed::Mismatch(differs) = claimed else { panic!("{expected:?} differ: {claimed:?}") };
        assert_eq!(differs.names().collect::<Vec<_>>(), expected);
    }
}

pub(crate) async fn the_same_key_in_another_scope_is_another_key(fixture: &impl Fixture) {
    let store = fixture.store();
    let mut elsewhere = request("k");
    elsewhere.key = scoped("another shop", "k");
    let here = acquire(store, &request("k")).await;
    let there = acquire(store, &elsewhere).await;

    assert_eq!(store.complete(&here, outcome("here")).await.unwrap(), Held::Yes);
    assert_eq!(store.complete(&there, outcome("there")).await.unwrap(), Held::Yes);

    assert_eq!(replayed(store, &request("k")).await, response("here"));
    assert_eq!(replayed(store, &elsewhere).await, response("there"));
}

/// V6.
pub(crate) async fn a_repeat_takes_over_after_the_lease_not_after_the_retention(fixture: &impl Fixture) {
    let store = fixture.store();
    acquire(store, &request("k")).await;

    fixture.advance(LEASE - SECOND).await;
    assert_eq!(lease_left(store, &request("k")).await, SECOND);
    fixture.advance(SECOND).await;

    acquire(store, &request("k")).await;
}

pub(crate) async fn each_takeover_is_one_more_attempt_under_a_higher_fence(fixture: &impl Fixture) {
    let store = fixture.store();
    let mut last_fence = 0;
    for expected in 1..=4 {
        let (token, attempt) = acquire_attempt(store, &request("k")).await;
        assert_eq!(attempt, expected);
        assert!(token.fence() > last_fence, "a takeover has a higher fence");
        last_fence = token.fence();
        fixture.advance(LEASE).await;
    }
}

pub(crate) async fn a_look_up_of_an_absent_key_claims_nothing(fixture: &impl Fixture) {
    let store = fixture.store();

    let found = store.lookup(&request("k")).await.unwrap();

    assert!(matches!(found, Found::Absent), "nothing there: {found:?}");
    assert_eq!(acquire_attempt(store, &request("k")).await.1, 1);
}

pub(crate) async fn a_look_up_judges_as_a_claim_and_changes_nothing(fixture: &impl Fixture) {
    let store = fixture.store();
    let other = other_body(&request("k"));
    let token = acquire(store, &request("k")).await;

    assert_eq!(lease_left(store, &request("k")).await, LEASE);
    assert!(matches!(store.lookup(&other).await.unwrap(), Found::Mismatch(_)), "while it runs");
    fixture.advance(LEASE).await;
    assert!(matches!(store.lookup(&request("k")).await.unwrap(), Found::Lapsed), "a look-up takes nothing over");
    assert!(matches!(store.lookup(&other).await.unwrap(), Found::Mismatch(_)), "after the lapse");

    assert_eq!(store.complete(&token, outcome("order 1")).await.unwrap(), Held::Yes, "still the same holder's");
    let found = store.lookup(&request("k")).await.unwrap();
    assert!(matches!(&found, Found::Done(it) if *it == response("order 1")), "done: {found:?}");
    assert!(matches!(store.lookup(&other).await.unwrap(), Found::Mismatch(_)), "after the end");
    fixture.advance(RETENTION).await;
    assert!(matches!(store.lookup(&request("k")).await.unwrap(), Found::Absent), "past its retention");
    assert!(matches!(store.lookup(&other).await.unwrap(), Found::Absent), "past its retention");
}
