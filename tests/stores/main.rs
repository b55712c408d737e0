//! What every store promises: the rules of `tower_idempotency::store`, one fact a test.
//!
//! Each promise is a function generic over a [`Fixture`], and `every_promise!` runs them all for a store. What only
//! one kind of store can break has its tests with that store: 4 (the lock that a replay takes), 5 (a record that
//! another connection locked) and 6 (its errors). `wrong` runs the same promises against stores with one guard
//! missing, and expects them to fail.
#![cfg(feature = "idempotency")]

use std::time::Duration;

use http::{HeaderMap, HeaderValue, StatusCode, header::LINK};
use tower_idempotency::{
    IdempotencyKey, Store,
    store::{ClaimRequest, Claimed, Fingerprint, Found, Outcome, ScopedKey, StoredResponse, Token},
};

mod holding;
mod judging;
mod keys;
mod memory;
mod naive;
mod purging;
mod races;
mod retention;
#[cfg(feature = "sqlite")]
mod sqlite;
mod tokens;
mod wrong;

const LEASE: Duration = Duration::from_secs(10);
const RETENTION: Duration = Duration::from_hours(24);
const SECOND: Duration = Duration::from_secs(1);

/// A store of its own for one test, and the time it lives in.
trait Fixture {
    type Store: Store;

    async fn fresh() -> Self;

    fn store(&self) -> &Self::Store;

    /// Lets time pass for the store. The runtime's clock is paused, except in `races`.
    async fn advance(&self, by: Duration) {
        tokio::time::advance(by).await;
    }
}

/// Runs every promise for a fixture, as tests of the module that calls it.
macro_rules! every_promise {
    ($fixture:ty) => {
        crate::promises! { $fixture, (start_paused = true);
            judging: the_first_claim_of_a_key_is_granted_as_attempt_one,
            judging: a_live_lease_answers_what_is_left_of_it,
            judging: a_finished_key_answers_its_response_each_time,
            judging: a_key_closed_without_its_response_answers_its_status,
            judging: another_body_is_a_mismatch_while_the_first_runs,
            judging: another_body_is_a_mismatch_after_the_end,
            judging: another_body_is_a_mismatch_after_the_lapse,
            judging: a_mismatch_names_what_differs,
            judging: the_same_key_in_another_scope_is_another_key,
            judging: a_repeat_takes_over_after_the_lease_not_after_the_retention,
            judging: each_takeover_is_one_more_attempt_under_a_higher_fence,
            judging: a_look_up_of_an_absent_key_claims_nothing,
            judging: a_look_up_judges_as_a_claim_and_changes_nothing,
            holding: a_renewal_counts_from_now,
            holding: a_lapsed_holder_renews_if_nobody_took_over,
            holding: a_lapsed_holder_completes_if_nobody_took_over,
            holding: a_passed_holder_changes_nothing,
            holding: a_holder_that_slept_through_a_release_is_fenced_out,
            holding: the_right_fence_with_another_holder_holds_nothing,
            holding: a_completion_may_be_asked_for_again,
            holding: another_outcome_or_token_does_not_finish_a_finished_record,
            holding: a_finished_record_is_neither_renewed_nor_released,
            holding: a_released_key_runs_again_at_once_as_attempt_one,
            holding: a_released_token_holds_nothing,
            retention: a_finished_record_is_kept_from_its_end,
            retention: an_unfinished_record_is_kept_from_its_lapse,
            retention: a_retention_shorter_than_the_handler_ends_nothing_early,
            retention: a_takeover_brings_its_own_lease_and_retention,
            retention: a_record_past_its_retention_is_as_if_absent_for_every_verb,
            retention: a_finished_record_past_its_retention_is_as_if_absent_for_every_verb,
            retention: the_longest_lease_and_retention_are_legal,
            tokens: fences_rise_over_every_way_a_record_ends,
            tokens: no_two_holders_are_the_same,
            keys: a_status_tells_what_became_of_a_key,
            keys: a_status_follows_the_stores_clock_and_not_the_hosts,
            keys: a_forced_release_frees_an_unfinished_key_and_passes_its_holder,
            keys: a_forced_release_leaves_a_finished_key,
            keys: a_forgotten_key_runs_again,
            purging: a_purge_deletes_what_is_past_its_retention_and_nothing_else,
            purging: a_purge_deletes_no_more_than_its_batch,
            purging: claims_go_on_between_batches_and_live_leases_stay,
            races: one_of_a_hundred_claims_is_granted,
            races: a_completion_answered_is_seen_by_every_later_claim,
            races: one_of_a_hundred_takeovers_is_granted,
            races: one_of_a_hundred_completions_with_different_outcomes_counts,
        }
        crate::promises! { $fixture, (flavor = "multi_thread", worker_threads = 4);
            races: one_of_a_hundred_claims_is_granted_on_many_threads,
            races: a_purge_beside_claims_of_an_expired_key_takes_no_granted_claim,
            races: a_claim_beside_a_completion_is_in_flight_or_replays,
        }
    };
}

macro_rules! promises {
    ($fixture:ty, $settings:tt; $($file:ident: $promise:ident,)+) => {
        $(
            #[tokio::test $settings]
            async fn $promise() {
                crate::$file::$promise(&<$fixture as crate::Fixture>::fresh().await).await;
            }
        )+
    };
}

use {every_promise, promises};

/// A request with this key; the others differ from it in nothing else.
fn request(key: &str) -> ClaimRequest {
    ClaimRequest {
        key: scoped("shop", key),
        fingerprint: Fingerprint::of(b"POST /orders", b"application/json", b"{\"amount\":1}"),
        lease: LEASE,
        retention: RETENTION,
    }
}

/// The same key with another body.
fn other_body(request: &ClaimRequest) -> ClaimRequest {
    let fingerprint = Fingerprint::of(b"POST /orders", b"application/json", b"{\"amount\":2}");
    ClaimRequest { fingerprint, ..request.clone() }
}

fn scoped(scope: &str, key: &str) -> ScopedKey {
    ScopedKey::new(scope, &IdempotencyKey::parse(key).unwrap())
}

fn response(text: &str) -> StoredResponse {
    let mut headers = HeaderMap::new();
    headers.append(LINK, HeaderValue::from_static("</a>; rel=next"));
    headers.append(LINK, HeaderValue::from_bytes(b"</caf\xE9>; rel=prev").unwrap());
    StoredResponse { status: StatusCode::CREATED, headers, body: text.to_owned().into() }
}

fn outcome(text: &str) -> Outcome {
    Outcome::Response(response(text))
}

/// Claims a key that must be free.
async fn acquire(store: &impl Store, request: &ClaimRequest) -> Token {
    acquire_attempt(store, request).await.0
}

async fn acquire_attempt(store: &impl Store, request: &ClaimRequest) -> (Token, u32) {
    match store.claim(request).await.unwrap() {
        Claimed::Acquired { token, attempt } => (token, attempt),
        other => panic!("the key should be free: {other:?}"),
    }
}

/// What the key's record replays; it must be done.
async fn replayed(store: &impl Store, request: &ClaimRequest) -> StoredResponse {
    match store.claim(request).await.unwrap() {
        Claimed::Done(response) => response,
        other => panic!("the key should be done: {other:?}"),
    }
}

/// What is left of the lease on the key; it must be held. Does not claim.
async fn lease_left(store: &impl Store, request: &ClaimRequest) -> Duration {
    match store.lookup(request).await.unwrap() {
        Found::InFlight { lease_left } => lease_left,
        other => panic!("the key should be in flight: {other:?}"),
    }
}
