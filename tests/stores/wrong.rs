//! Each rule seen red: a store with one guard missing fails the suite at the rule that it breaks, and at no other.

use std::{
    cell::Cell,
    collections::BTreeSet,
    panic::{AssertUnwindSafe, catch_unwind},
};

use tokio::sync::OwnedMutexGuard;
use tower_idempotency::store::{
    ScopedKey,
    conformance::{
        Faults, Fixture, Promises, RecordLocks, WriteLock, fault_promises, promises, record_lock_promises,
        write_lock_promises,
    },
};

use crate::{
    lying::{Lie, LyingStore},
    naive::{Fails, Flaw, NaiveStore},
};

/// A store with the flaw and the lie of this thread. One type for all of them: the suite is compiled once.
struct Wrong(LyingStore);

thread_local! {
    static FLAW: Cell<Flaw> = const { Cell::new(Flaw::Nothing) };
    static LIE: Cell<Lie> = const { Cell::new(Lie::Nothing) };
}

impl Fixture for Wrong {
    type Store = LyingStore;

    async fn fresh() -> Self {
        Self(LyingStore::new(NaiveStore::with(FLAW.get()), LIE.get()))
    }

    fn store(&self) -> &LyingStore {
        &self.0
    }
}

impl WriteLock for Wrong {
    type WriteGuard = OwnedMutexGuard<()>;

    async fn lock_writes(&self) -> OwnedMutexGuard<()> {
        self.0.store.lock_writes().await
    }
}

impl RecordLocks for Wrong {
    type RecordGuard = ();

    async fn lock_record(&self, key: &ScopedKey) {
        self.0.store.lock_record(&self.0.key(key));
    }

    async fn unlock_record(&self, (): ()) {
        self.0.store.unlock_records();
    }
}

impl Faults for Wrong {
    type Fault = ();

    async fn fail_for_now(&self) {
        self.0.store.fail(Some(Fails::ForNow));
    }

    async fn fail_for_good(&self) {
        self.0.store.fail(Some(Fails::ForGood));
    }

    async fn mend(&self, (): ()) {
        self.0.store.fail(None);
    }
}

/// A flaw, the rules at which it fails the suite, and promises among those that find it.
macro_rules! fails_at {
    ($($name:ident: $what:ident = $kind:ident::$wrong:ident, [$($rule:literal),*], [$($promise:ident),* $(,)?];)+) => {
        /// The promises that a row names: each is seen red.
        const SEEN_RED: &[&str] = &[$($(stringify!($promise),)*)+];

        $(
            #[test]
            fn $name() {
                $what.set($kind::$wrong);

                let broken = broken_promises();

                let rules: BTreeSet<&str> = broken.iter().map(|name| &name[.."rule_N".len()]).collect();
                assert_eq!(rules, BTreeSet::from([$(concat!("rule_", $rule)),*]), "{broken:#?}");
                let named: &[&str] = &[$(stringify!($promise)),*];
                for promise in named {
                    assert!(broken.contains(promise), "{promise} is kept, broken are: {broken:#?}");
                }
            }
        )+
    };
}

/// The names of the promises that a store with this flaw does not keep, in the whole suite.
fn broken_promises() -> BTreeSet<&'static str> {
    let mut broken = BTreeSet::from_iter(broken_of(promises::<Wrong>()));
    broken.extend(broken_of(write_lock_promises::<Wrong>()));
    broken.extend(broken_of(record_lock_promises::<Wrong>()));
    broken.extend(broken_of(fault_promises::<Wrong>()));
    broken
}

fn broken_of<F: Fixture>(promises: Promises<F>) -> Vec<&'static str> {
    let broken = promises.into_iter().filter(|promise| catch_unwind(AssertUnwindSafe(|| promise.check())).is_err());
    broken.map(|promise| promise.name()).collect()
}

#[test]
fn without_a_flaw_every_promise_is_kept() {
    assert_eq!(broken_promises(), BTreeSet::new());
}

#[test]
fn each_promise_is_broken_by_some_wrong_store() {
    let names = |promises: Promises<Wrong>| promises.into_iter().map(|promise| promise.name());
    let all = names(promises()).chain(names(write_lock_promises())).chain(names(record_lock_promises()));
    let all = BTreeSet::from_iter(all.chain(names(fault_promises())));

    assert_eq!(BTreeSet::from_iter(SEEN_RED.iter().copied()), all);
}

fails_at! {
    a_store_that_claims_in_two_steps_fails_at_rule_1: FLAW = Flaw::ClaimsAreTwoSteps, [1], [
        rule_1_two_claims_of_a_new_key_have_one_winner,
        rule_1_two_takeovers_have_one_winner,
        rule_1_a_takeover_or_the_late_completion_wins_never_both,
        rule_1_a_takeover_or_the_late_renewal_wins_never_both,
        rule_1_one_of_a_hundred_claims_is_granted,
        rule_1_one_of_a_hundred_takeovers_is_granted,
    ];
    a_store_that_loses_races_with_an_error_fails_at_rule_1: FLAW = Flaw::LostRacesAreErrors, [1], [
        rule_1_a_claim_beside_a_completion_is_in_flight_or_replays,
        rule_1_a_claim_beside_a_release_is_in_flight_or_granted,
    ];
    a_store_that_completes_in_two_steps_fails_at_rule_1: FLAW = Flaw::CompletionsAreTwoSteps, [1], [
        rule_1_one_of_two_completions_counts,
        rule_1_a_forced_release_or_the_completion_wins_never_both,
        rule_1_one_of_a_hundred_completions_with_different_outcomes_counts,
    ];
    a_store_that_purges_in_two_steps_fails_at_rule_1: FLAW = Flaw::PurgesAreTwoSteps, [1], [
        rule_1_a_purge_takes_no_granted_claim,
    ];
    a_store_that_judges_a_claim_before_it_is_awaited_fails_at_rule_1: LIE = Lie::ClaimsAreJudgedWhenCalled, [1], [
        rule_1_a_completion_answered_is_seen_by_every_later_claim,
    ];
    a_store_that_judges_the_lease_first_fails_at_rule_2: FLAW = Flaw::InFlightComesFirst, [2], [
        rule_2_another_body_is_a_mismatch_while_the_first_runs,
        rule_2_a_mismatch_names_what_differs,
        rule_2_a_look_up_judges_as_a_claim_and_changes_nothing,
    ];
    a_store_that_keeps_from_the_claim_fails_at_rule_2: FLAW = Flaw::RetentionCountsFromTheClaim, [2], [
        rule_2_a_retention_shorter_than_the_handler_ends_nothing_early,
        rule_2_claims_go_on_between_batches_and_live_leases_stay,
    ];
    a_store_whose_purge_takes_lapsed_records_fails_at_rule_2: FLAW = Flaw::PurgesTakeLapsedRecords, [2], [
        rule_2_a_purge_deletes_what_is_past_its_retention_and_nothing_else,
    ];
    a_store_whose_batches_are_unlimited_fails_at_rule_2: LIE = Lie::BatchesAreUnlimited, [2], [
        rule_2_a_purge_deletes_no_more_than_its_batch,
    ];
    a_store_where_only_purges_expire_fails_at_rule_2: FLAW = Flaw::OnlyPurgesExpire, [2], [
        rule_2_a_finished_record_is_kept_from_its_end,
        rule_2_an_unfinished_record_is_kept_from_its_lapse,
        rule_2_a_record_past_its_retention_is_as_if_absent_for_every_verb,
        rule_2_a_finished_record_past_its_retention_is_as_if_absent_for_every_verb,
        rule_2_a_status_tells_what_became_of_a_key,
        rule_2_a_takeover_brings_its_own_lease_and_retention,
    ];
    a_store_that_leases_for_the_retention_fails_wherever_a_lease_lapses: FLAW = Flaw::LeasesLastForTheRetention, [1, 2, 3, 7, 8], [
        rule_2_a_repeat_takes_over_after_the_lease_not_after_the_retention,
        rule_2_each_takeover_is_one_more_attempt,
        rule_2_another_body_is_a_mismatch_after_the_lapse,
        rule_7_a_status_tells_when_by_the_stores_clock,
    ];
    a_store_that_tells_of_a_whole_lease_fails_at_rule_2: LIE = Lie::EveryLeaseIsWhole, [2], [
        rule_2_a_live_lease_answers_what_is_left_of_it,
    ];
    a_store_that_replays_once_fails_where_a_response_is_replayed_again: LIE = Lie::ReplaysAreSpent, [1, 2], [
        rule_2_a_finished_key_answers_its_response_each_time,
    ];
    a_store_that_keeps_bodies_as_text_fails_at_rule_2: LIE = Lie::BodiesAreText, [2], [
        rule_2_a_response_replays_line_by_line_and_byte_by_byte,
    ];
    a_store_that_answers_an_empty_response_for_none_fails_at_rules_2_and_4: LIE = Lie::ClosedKeysAreEmpty, [2, 4], [
        rule_2_a_key_closed_without_its_response_answers_its_status,
        rule_4_a_key_closed_without_its_response_needs_no_write_lock,
    ];
    a_store_that_judges_the_end_first_fails_at_rules_2_and_4: LIE = Lie::TheEndComesFirst, [2, 4], [
        rule_2_another_body_is_a_mismatch_after_the_end,
        rule_4_a_mismatch_with_a_finished_key_needs_no_write_lock,
    ];
    a_store_without_scopes_fails_at_rule_2: LIE = Lie::ScopesAreOne, [2], [
        rule_2_the_same_key_in_another_scope_is_another_key,
        rule_2_every_scope_and_key_has_a_record_of_its_own,
        rule_2_the_first_claim_of_a_key_is_granted_as_attempt_one,
    ];
    a_store_whose_look_ups_claim_fails_at_rule_2: LIE = Lie::LookUpsClaim, [2], [
        rule_2_a_look_up_of_an_absent_key_claims_nothing,
    ];
    a_store_where_the_longest_lease_overflows_fails_at_rule_2: LIE = Lie::TheLongestOverflows, [2], [
        rule_2_the_longest_lease_and_retention_are_legal,
    ];
    a_store_that_does_not_compare_holders_fails_at_rule_3: FLAW = Flaw::HoldersAreNotCompared, [3], [
        rule_3_the_right_fence_with_another_holder_holds_nothing,
        rule_3_another_outcome_or_token_does_not_finish_a_finished_record,
    ];
    a_store_that_releases_by_key_fails_at_rule_3: FLAW = Flaw::AnyoneReleases, [3], [
        rule_3_a_passed_holder_changes_nothing,
    ];
    a_store_that_counts_a_completion_once_fails_at_rule_3: FLAW = Flaw::CompletionsCountOnce, [3], [
        rule_3_a_completion_may_be_asked_for_again,
    ];
    a_store_whose_releases_erase_what_is_finished_fails_at_rule_3: LIE = Lie::ReleasesErase, [3], [
        rule_3_a_finished_record_is_neither_renewed_nor_released,
    ];
    a_store_whose_passed_holders_hold_fails_at_rules_1_and_3: FLAW = Flaw::PassedHoldersHold, [1, 3], [
        rule_3_a_passed_holder_changes_nothing,
        rule_3_a_holder_that_slept_through_a_release_is_fenced_out,
    ];
    a_store_that_overwrites_fails_at_rules_1_and_3: FLAW = Flaw::CompletionsOverwrite, [1, 3], [
        rule_3_another_outcome_or_token_does_not_finish_a_finished_record,
        rule_1_one_of_two_completions_counts,
    ];
    a_store_whose_forced_releases_spare_a_live_lease_fails_at_rules_3_and_8: LIE = Lie::ForcedReleasesSpare, [3, 8], [
        rule_3_a_forced_release_frees_an_unfinished_key_and_passes_its_holder,
    ];
    a_store_whose_releases_keep_the_record_fails_at_rules_1_and_3: LIE = Lie::ReleasesKeepTheRecord, [1, 3], [
        rule_3_a_released_key_runs_again_at_once_as_attempt_one,
        rule_3_a_released_token_holds_nothing,
    ];
    a_store_whose_forced_releases_erase_what_is_finished_fails_at_rules_1_and_3: LIE = Lie::ForcedReleasesErase, [1, 3], [
        rule_3_a_forced_release_leaves_a_finished_key,
    ];
    a_store_that_renews_no_lapsed_lease_fails_at_rules_2_and_3: FLAW = Flaw::LapsedHoldersAreGone, [2, 3], [
        rule_3_a_lapsed_holder_renews_if_nobody_took_over,
    ];
    a_store_whose_lapsed_holders_complete_nothing_fails_at_rule_3: LIE = Lie::LapsedHoldersCompleteNothing, [2, 3, 5], [
        rule_3_a_lapsed_holder_completes_if_nobody_took_over,
    ];
    a_store_whose_renewals_add_fails_at_rules_2_and_3: LIE = Lie::RenewalsAdd, [2, 3], [
        rule_3_a_renewal_counts_from_now,
    ];
    a_store_that_forgets_nothing_finished_fails_at_rules_3_and_8: LIE = Lie::NothingIsForgotten, [3, 8], [
        rule_3_a_forgotten_key_runs_again,
    ];
    a_store_whose_replays_take_the_write_lock_fails_at_rule_4: FLAW = Flaw::ReplaysTakeTheWriteLock, [4], [
        rule_4_a_replay_needs_no_write_lock,
    ];
    a_store_whose_claims_wait_for_a_locked_record_fails_at_rule_5: FLAW = Flaw::LockedRecordsAreWaitedFor, [5], [
        rule_5_a_claim_of_a_locked_record_is_in_flight_with_nothing_left,
    ];
    a_store_that_takes_a_lock_for_a_no_fails_at_rule_5: FLAW = Flaw::LockedRecordsAreNotHeld, [5], [
        rule_5_a_renewal_of_a_locked_record_is_a_transient_error,
        rule_5_a_release_of_a_locked_record_is_a_transient_error,
    ];
    a_store_that_tells_every_failure_as_one_that_passes_fails_at_rule_6: FLAW = Flaw::EveryFailureIsTransient, [6], [
        rule_6_a_failure_that_stays_is_permanent,
    ];
    a_store_that_tells_every_failure_as_one_that_stays_fails_at_rule_6: FLAW = Flaw::EveryFailureIsPermanent, [6], [
        rule_6_a_failure_that_passes_is_transient,
    ];
    a_store_that_shows_the_hosts_time_fails_at_rule_7: FLAW = Flaw::TimesAreTheHosts, [7], [
        rule_7_a_status_follows_the_stores_clock,
        rule_7_a_status_tells_when_by_the_stores_clock,
    ];
    a_store_whose_fences_start_again_fails_at_rule_8: FLAW = Flaw::FencesStartAgain, [8], [
        rule_8_fences_rise_over_every_way_a_record_ends,
    ];
    a_store_whose_tokens_start_again_fails_at_rules_3_and_8: FLAW = Flaw::TokensStartAgain, [3, 8], [
        rule_3_a_holder_that_slept_through_a_release_is_fenced_out,
        rule_8_fences_rise_over_every_way_a_record_ends,
    ];
    a_store_that_grants_the_same_token_again_fails_wherever_a_holder_is_passed: LIE = Lie::TokensAreKept, [1, 2, 3, 7, 8], [
        rule_8_no_two_holders_are_the_same,
    ];
    a_store_whose_leases_do_not_hold_fails_wherever_one_is_met: FLAW = Flaw::LeasesDoNotHold, [1, 2, 3, 5], [
        rule_1_one_of_a_hundred_claims_is_granted_on_many_threads,
        rule_1_a_purge_beside_claims_of_an_expired_key_takes_no_granted_claim,
        rule_1_a_hundred_claims_beside_a_completion_are_in_flight_or_replay,
    ];
}
