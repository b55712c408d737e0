//! Rules 4 and 5: what waits for nobody's lock.

use http::StatusCode;
use tokio::time::timeout;

use super::{
    Fixture, RecordLocks, WriteLock,
    words::{Words, acquire, lease_left, other_body, outcome, response},
};
use crate::{
    Store,
    store::{ClaimRequest, Claimed, Held, Outcome, StoreError, Token},
};

pub(super) async fn rule_4_a_replay_needs_no_write_lock<F: WriteLock>(fixture: &F) {
    let claimed = claimed_under_a_write_lock(fixture, outcome("order 1"), &F::lasting("k")).await;

    assert!(matches!(&claimed, Claimed::Done(it) if *it == response("order 1")), "a replay: {claimed:?}");
}

pub(super) async fn rule_4_a_key_closed_without_its_response_needs_no_write_lock<F: WriteLock>(fixture: &F) {
    let closed = Outcome::NotReplayable(StatusCode::OK);
    let claimed = claimed_under_a_write_lock(fixture, closed, &F::lasting("k")).await;

    assert!(matches!(claimed, Claimed::NotReplayable(StatusCode::OK)), "closed: {claimed:?}");
}

pub(super) async fn rule_4_a_mismatch_with_a_finished_key_needs_no_write_lock<F: WriteLock>(fixture: &F) {
    let claimed = claimed_under_a_write_lock(fixture, outcome("order 1"), &other_body(&F::lasting("k"))).await;

    assert!(matches!(claimed, Claimed::Mismatch(_)), "another body: {claimed:?}");
}

/// What a claim of the finished key `k` is answered while someone else holds the write lock.
async fn claimed_under_a_write_lock<F: WriteLock>(fixture: &F, ended: Outcome, request: &ClaimRequest) -> Claimed {
    let token = acquire(fixture.store(), &F::lasting("k")).await;
    assert_eq!(fixture.store().complete(&token, ended).await.unwrap(), Held::Yes);

    let guard = fixture.lock_writes().await;
    let claimed = meanwhile::<F, _>(fixture.store().claim(request)).await.expect("a read meets no write lock");
    fixture.unlock_writes(guard).await;
    claimed
}

/// A live one and a lapsed one: nobody knows how the transaction that holds the lock will end.
pub(super) async fn rule_5_a_claim_of_a_locked_record_is_in_flight_with_nothing_left<F: RecordLocks>(fixture: &F) {
    for request in [F::lasting("live"), F::lapsing("lapsed")] {
        let token = acquire(fixture.store(), &request).await;

        let guard = fixture.lock_record(&request.key).await;
        let claimed = meanwhile::<F, _>(fixture.store().claim(&request)).await.expect("a locked record is no error");
        fixture.unlock_record(guard).await;

        let Claimed::InFlight { lease_left } = claimed else { panic!("in flight: {claimed:?}") };
        assert!(lease_left.is_zero(), "nothing left, but it is {lease_left:?}");
        assert_eq!(fixture.store().complete(&token, outcome("order 1")).await.unwrap(), Held::Yes, "left as it was");
    }
}

pub(super) async fn rule_5_a_renewal_of_a_locked_record_is_a_transient_error<F: RecordLocks>(fixture: &F) {
    let (store, request) = (fixture.store(), F::lasting("k"));
    let token = acquire(store, &request).await;
    let before = lease_left(store, &request).await;

    held_under_a_lock(fixture, &token, store.renew(&token, 2 * before)).await;

    assert!(lease_left(store, &request).await <= before, "nothing was renewed");
    assert_eq!(store.renew(&token, F::LEASE).await.unwrap(), Held::Yes);
}

pub(super) async fn rule_5_a_release_of_a_locked_record_is_a_transient_error<F: RecordLocks>(fixture: &F) {
    let (store, request) = (fixture.store(), F::lasting("k"));
    let token = acquire(store, &request).await;

    held_under_a_lock(fixture, &token, store.release(&token)).await;

    lease_left(store, &request).await;
    assert_eq!(store.release(&token).await.unwrap(), Held::Yes);
}

async fn held_under_a_lock<F: RecordLocks>(
    fixture: &F,
    token: &Token,
    verb: impl Future<Output = Result<Held, StoreError>>,
) {
    let guard = fixture.lock_record(token.key()).await;
    let held = meanwhile::<F, _>(verb).await;
    fixture.unlock_record(guard).await;

    let error = held.expect_err("whether it holds is not known while the record is locked");
    assert!(error.is_transient(), "the lock ends: {error:?}");
}

/// The answer to a verb that must not wait for the end of the lock.
async fn meanwhile<F: Fixture, T>(verb: impl Future<Output = T>) -> T {
    timeout(F::RETENTION, verb).await.expect("answered while the lock is held")
}
