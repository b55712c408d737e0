//! Rule 3: who may renew, complete and release.

use http::StatusCode;

use super::{
    Fixture,
    words::{Words, acquire, acquire_attempt, assert_near, lease_left, other_body, outcome, replayed, response},
};
use crate::{
    Store,
    store::{Held, Outcome, Token},
};

pub(super) async fn rule_3_a_renewal_counts_from_now<F: Fixture>(fixture: &F) {
    let store = fixture.store();
    let token = acquire(store, &F::request("k")).await;
    fixture.advance(4 * F::MOMENT).await;

    assert_eq!(store.renew(&token, 7 * F::MOMENT).await.unwrap(), Held::Yes);

    assert_near::<F>(lease_left(store, &F::request("k")).await, 7 * F::MOMENT);
}

pub(super) async fn rule_3_a_lapsed_holder_renews_if_nobody_took_over<F: Fixture>(fixture: &F) {
    let store = fixture.store();
    let token = acquire(store, &F::request("k")).await;
    fixture.advance(3 * F::LEASE).await;

    assert_eq!(store.renew(&token, F::LEASE).await.unwrap(), Held::Yes);

    assert_near::<F>(lease_left(store, &F::request("k")).await, F::LEASE);
}

pub(super) async fn rule_3_a_lapsed_holder_completes_if_nobody_took_over<F: Fixture>(fixture: &F) {
    let store = fixture.store();
    let token = acquire(store, &F::request("k")).await;
    fixture.advance(3 * F::LEASE).await;

    assert_eq!(store.complete(&token, outcome("late")).await.unwrap(), Held::Yes);

    assert_eq!(replayed(store, &F::request("k")).await, response("late"));
}

/// V7.
pub(super) async fn rule_3_a_passed_holder_changes_nothing<F: Fixture>(fixture: &F) {
    let store = fixture.store();
    let a = acquire(store, &F::request("k")).await;
    fixture.advance(F::LEASE).await;
    let b = acquire(store, &F::request("k")).await;
    fixture.advance(F::MOMENT).await;

    assert_eq!(store.release(&a).await.unwrap(), Held::No, "a passed holder releases nothing");
    assert_eq!(store.renew(&a, 10 * F::LEASE).await.unwrap(), Held::No, "a passed holder renews nothing");
    assert_eq!(store.complete(&a, outcome("a's")).await.unwrap(), Held::No, "a passed holder completes nothing");

    assert_near::<F>(lease_left(store, &F::request("k")).await, F::LEASE - F::MOMENT);
    assert_eq!(store.complete(&b, outcome("b's")).await.unwrap(), Held::Yes);
    assert_eq!(replayed(store, &F::request("k")).await, response("b's"));
}

/// V8.
pub(super) async fn rule_3_a_holder_that_slept_through_a_release_is_fenced_out<F: Fixture>(fixture: &F) {
    let store = fixture.store();
    let a = acquire(store, &F::request("k")).await;
    fixture.advance(F::LEASE).await;
    let b = acquire(store, &F::request("k")).await;
    assert_eq!(store.release(&b).await.unwrap(), Held::Yes);
    let c = acquire(store, &other_body(&F::request("k"))).await;

    assert_eq!(store.complete(&a, outcome("a's")).await.unwrap(), Held::No, "fenced out while another runs");
    assert_eq!(store.complete(&c, outcome("c's")).await.unwrap(), Held::Yes);
    assert_eq!(store.complete(&a, outcome("a's")).await.unwrap(), Held::No, "fenced out after another ended");

    assert_eq!(replayed(store, &other_body(&F::request("k"))).await, response("c's"));
}

pub(super) async fn rule_3_the_right_fence_with_another_holder_holds_nothing<F: Fixture>(fixture: &F) {
    let store = fixture.store();
    let token = acquire(store, &F::request("k")).await;
    let forged = Token::new(token.key().clone(), token.fence());
    fixture.advance(F::MOMENT).await;

    assert_eq!(store.renew(&forged, F::LEASE).await.unwrap(), Held::No, "another holder renews nothing");
    assert_eq!(store.complete(&forged, outcome("forged")).await.unwrap(), Held::No, "another holder completes nothing");
    assert_eq!(store.release(&forged).await.unwrap(), Held::No, "another holder releases nothing");

    assert_near::<F>(lease_left(store, &F::request("k")).await, F::LEASE - F::MOMENT);
    assert_eq!(store.complete(&token, outcome("order 1")).await.unwrap(), Held::Yes);
}

pub(super) async fn rule_3_a_completion_may_be_asked_for_again<F: Fixture>(fixture: &F) {
    let store = fixture.store();
    let closed = Outcome::NotReplayable(StatusCode::OK);
    for (key, outcome) in [("kept", outcome("order 1")), ("closed", closed)] {
        let token = acquire(store, &F::request(key)).await;
        for _ in 0..3 {
            assert_eq!(store.complete(&token, outcome.clone()).await.unwrap(), Held::Yes);
            fixture.advance(F::LEASE).await;
        }
    }
}

pub(super) async fn rule_3_another_outcome_or_token_does_not_finish_a_finished_record<F: Fixture>(fixture: &F) {
    let store = fixture.store();
    let token = acquire(store, &F::request("k")).await;
    let forged = Token::new(token.key().clone(), token.fence());
    assert_eq!(store.complete(&token, outcome("order 1")).await.unwrap(), Held::Yes);

    let mut other_line = response("order 1");
    other_line.headers.remove("link");
    let mut other_status = response("order 1");
    other_status.status = StatusCode::OK;
    for other in [
        outcome("order 2"),
        Outcome::Response(other_line),
        Outcome::Response(other_status),
        Outcome::NotReplayable(StatusCode::CREATED),
    ] {
        assert_eq!(store.complete(&token, other).await.unwrap(), Held::No, "the first outcome stands");
    }
    assert_eq!(store.complete(&forged, outcome("order 1")).await.unwrap(), Held::No, "finished by another token");

    assert_eq!(replayed(store, &F::request("k")).await, response("order 1"));
}

pub(super) async fn rule_3_a_finished_record_is_neither_renewed_nor_released<F: Fixture>(fixture: &F) {
    let store = fixture.store();
    let token = acquire(store, &F::request("k")).await;
    assert_eq!(store.complete(&token, outcome("order 1")).await.unwrap(), Held::Yes);

    assert_eq!(store.renew(&token, F::LEASE).await.unwrap(), Held::No);
    assert_eq!(store.release(&token).await.unwrap(), Held::No);

    assert_eq!(replayed(store, &F::request("k")).await, response("order 1"));
}

pub(super) async fn rule_3_a_released_key_runs_again_at_once_as_attempt_one<F: Fixture>(fixture: &F) {
    let store = fixture.store();
    acquire(store, &F::request("k")).await;
    fixture.advance(F::LEASE).await;
    let (token, attempt) = acquire_attempt(store, &F::request("k")).await;
    assert_eq!(attempt, 2);

    assert_eq!(store.release(&token).await.unwrap(), Held::Yes);

    // Another body is welcome too: the record is gone (V38).
    assert_eq!(acquire_attempt(store, &other_body(&F::request("k"))).await.1, 1);
}

pub(super) async fn rule_3_a_released_token_holds_nothing<F: Fixture>(fixture: &F) {
    let store = fixture.store();
    let token = acquire(store, &F::request("k")).await;
    assert_eq!(store.release(&token).await.unwrap(), Held::Yes);

    assert_eq!(store.release(&token).await.unwrap(), Held::No);
    assert_eq!(store.renew(&token, F::LEASE).await.unwrap(), Held::No);
    assert_eq!(store.complete(&token, outcome("order 1")).await.unwrap(), Held::No);

    assert_eq!(acquire_attempt(store, &F::request("k")).await.1, 1);
}
