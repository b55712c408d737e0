//! Rule 2: how a claim, and a look-up, judges.

use http::StatusCode;

use super::{
    Fixture,
    words::{Words, acquire, acquire_attempt, assert_near, lease_left, other_body, outcome, replayed, response},
};
use crate::{
    Store,
    store::{Claimed, Fingerprint, Found, Held, Outcome},
};

pub(super) async fn rule_2_the_first_claim_of_a_key_is_granted_as_attempt_one<F: Fixture>(fixture: &F) {
    let (token, attempt) = acquire_attempt(fixture.store(), &F::request("k")).await;

    assert_eq!(attempt, 1);
    assert_eq!(token.key(), &F::request("k").key);
}

pub(super) async fn rule_2_a_live_lease_answers_what_is_left_of_it<F: Fixture>(fixture: &F) {
    acquire(fixture.store(), &F::request("k")).await;

    for passed in 0..10 {
        let claimed = fixture.store().claim(&F::request("k")).await.unwrap();
        let Claimed::InFlight { lease_left } = claimed else { panic!("in flight after {passed} s: {claimed:?}") };
        assert_near::<F>(lease_left, F::LEASE - passed * F::MOMENT);
        fixture.advance(F::MOMENT).await;
    }
}

pub(super) async fn rule_2_a_finished_key_answers_its_response_each_time<F: Fixture>(fixture: &F) {
    let store = fixture.store();
    let token = acquire(store, &F::request("k")).await;
    assert_eq!(store.complete(&token, outcome("order 1")).await.unwrap(), Held::Yes);

    for _ in 0..3 {
        assert_eq!(replayed(store, &F::request("k")).await, response("order 1"));
        fixture.advance(F::LEASE).await;
    }
}

pub(super) async fn rule_2_a_key_closed_without_its_response_answers_its_status<F: Fixture>(fixture: &F) {
    let store = fixture.store();
    let token = acquire(store, &F::request("k")).await;
    let closed = Outcome::NotReplayable(StatusCode::ACCEPTED);
    assert_eq!(store.complete(&token, closed).await.unwrap(), Held::Yes);
    fixture.advance(2 * F::LEASE).await;

    let claimed = store.claim(&F::request("k")).await.unwrap();
    assert!(matches!(claimed, Claimed::NotReplayable(StatusCode::ACCEPTED)), "closed: {claimed:?}");
    let found = store.lookup(&F::request("k")).await.unwrap();
    assert!(matches!(found, Found::NotReplayable(StatusCode::ACCEPTED)), "closed: {found:?}");
}

/// V3.
pub(super) async fn rule_2_another_body_is_a_mismatch_while_the_first_runs<F: Fixture>(fixture: &F) {
    let store = fixture.store();
    let token = acquire(store, &F::request("k")).await;
    fixture.advance(4 * F::MOMENT).await;

    let claimed = store.claim(&other_body(&F::request("k"))).await.unwrap();

    assert!(matches!(claimed, Claimed::Mismatch(_)), "a mismatch comes before in flight: {claimed:?}");
    assert_near::<F>(lease_left(store, &F::request("k")).await, 6 * F::MOMENT);
    assert_eq!(store.complete(&token, outcome("order 1")).await.unwrap(), Held::Yes);
}

pub(super) async fn rule_2_another_body_is_a_mismatch_after_the_end<F: Fixture>(fixture: &F) {
    let store = fixture.store();
    let token = acquire(store, &F::request("k")).await;
    assert_eq!(store.complete(&token, outcome("order 1")).await.unwrap(), Held::Yes);

    let claimed = store.claim(&other_body(&F::request("k"))).await.unwrap();

    assert!(matches!(claimed, Claimed::Mismatch(_)), "a mismatch comes before done: {claimed:?}");
    assert_eq!(replayed(store, &F::request("k")).await, response("order 1"));
}

pub(super) async fn rule_2_another_body_is_a_mismatch_after_the_lapse<F: Fixture>(fixture: &F) {
    let store = fixture.store();
    acquire(store, &F::request("k")).await;
    fixture.advance(F::LEASE).await;

    let claimed = store.claim(&other_body(&F::request("k"))).await.unwrap();

    assert!(matches!(claimed, Claimed::Mismatch(_)), "a mismatch comes before a takeover: {claimed:?}");
    assert_eq!(acquire_attempt(store, &F::request("k")).await.1, 2);
}

pub(super) async fn rule_2_a_mismatch_names_what_differs<F: Fixture>(fixture: &F) {
    let store = fixture.store();
    let with = |target: &[u8], content_type: &[u8], body: &[u8]| {
        let mut request = F::request("k");
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

/// V6.
pub(super) async fn rule_2_a_repeat_takes_over_after_the_lease_not_after_the_retention<F: Fixture>(fixture: &F) {
    let store = fixture.store();
    acquire(store, &F::request("k")).await;

    fixture.advance(F::LEASE - F::MOMENT).await;
    assert_near::<F>(lease_left(store, &F::request("k")).await, F::MOMENT);
    fixture.advance(F::MOMENT).await;

    acquire(store, &F::request("k")).await;
}

pub(super) async fn rule_2_each_takeover_is_one_more_attempt<F: Fixture>(fixture: &F) {
    for expected in 1..=4 {
        assert_eq!(acquire_attempt(fixture.store(), &F::request("k")).await.1, expected);
        fixture.advance(F::LEASE).await;
    }
}

pub(super) async fn rule_2_a_look_up_of_an_absent_key_claims_nothing<F: Fixture>(fixture: &F) {
    let store = fixture.store();

    let found = store.lookup(&F::request("k")).await.unwrap();

    assert!(matches!(found, Found::Absent), "nothing there: {found:?}");
    assert_eq!(acquire_attempt(store, &F::request("k")).await.1, 1);
}

pub(super) async fn rule_2_a_look_up_judges_as_a_claim_and_changes_nothing<F: Fixture>(fixture: &F) {
    let store = fixture.store();
    let other = other_body(&F::request("k"));
    let token = acquire(store, &F::request("k")).await;

    assert_near::<F>(lease_left(store, &F::request("k")).await, F::LEASE);
    assert!(matches!(store.lookup(&other).await.unwrap(), Found::Mismatch(_)), "while it runs");
    fixture.advance(F::LEASE).await;
    assert!(matches!(store.lookup(&F::request("k")).await.unwrap(), Found::Lapsed), "a look-up takes nothing over");
    assert!(matches!(store.lookup(&other).await.unwrap(), Found::Mismatch(_)), "after the lapse");

    assert_eq!(store.complete(&token, outcome("order 1")).await.unwrap(), Held::Yes, "still the same holder's");
    let found = store.lookup(&F::request("k")).await.unwrap();
    assert!(matches!(&found, Found::Done(it) if *it == response("order 1")), "done: {found:?}");
    assert!(matches!(store.lookup(&other).await.unwrap(), Found::Mismatch(_)), "after the end");
    fixture.advance(F::RETENTION).await;
    assert!(matches!(store.lookup(&F::request("k")).await.unwrap(), Found::Absent), "past its retention");
    assert!(matches!(store.lookup(&other).await.unwrap(), Found::Absent), "past its retention");
}
