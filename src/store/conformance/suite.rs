//! The list of all promises, and how one is tried.

use std::{fmt, time::Duration};

use futures_util::future::LocalBoxFuture;
use tokio::runtime::{Builder, Runtime};

use super::{Faults, Fixture, RecordLocks, Time, WriteLock};
use super::{faults, holding, interleaving, judging, keys, locks, purging, races, records, retention, time, tokens};

/// Tries every promise of a store, each as a test: see [the module's page](crate::store::conformance).
#[macro_export]
macro_rules! store_conformance {
    ($fixture:ty $(,)?) => {
        $crate::__store_promises! { promises, __store_tests, $fixture }
    };
    ($fixture:ty, write_lock) => {
        $crate::__store_promises! { write_lock_promises, __store_tests, $fixture }
    };
    ($fixture:ty, record_locks) => {
        $crate::__store_promises! { record_lock_promises, __store_tests, $fixture }
    };
    ($fixture:ty, faults) => {
        $crate::__store_promises! { fault_promises, __store_tests, $fixture }
    };
}

/// The one list: what is done with it is told by the macro that it is handed to.
#[doc(hidden)]
#[macro_export]
macro_rules! __store_promises {
    (promises, $then:ident, $fixture:ty) => {
        $crate::$then! { promises, $fixture;
            One interleaving: rule_1_two_claims_of_a_new_key_have_one_winner,
            One interleaving: rule_1_two_takeovers_have_one_winner,
            One interleaving: rule_1_a_claim_beside_a_completion_is_in_flight_or_replays,
            One interleaving: rule_1_a_claim_beside_a_release_is_in_flight_or_granted,
            One interleaving: rule_1_a_takeover_or_the_late_completion_wins_never_both,
            One interleaving: rule_1_a_takeover_or_the_late_renewal_wins_never_both,
            One interleaving: rule_1_a_purge_takes_no_granted_claim,
            One interleaving: rule_1_one_of_two_completions_counts,
            One interleaving: rule_1_a_forced_release_or_the_completion_wins_never_both,
            One races: rule_1_one_of_a_hundred_claims_is_granted,
            One races: rule_1_a_completion_answered_is_seen_by_every_later_claim,
            One races: rule_1_one_of_a_hundred_takeovers_is_granted,
            One races: rule_1_one_of_a_hundred_completions_with_different_outcomes_counts,
            Many races: rule_1_one_of_a_hundred_claims_is_granted_on_many_threads,
            Many races: rule_1_a_purge_beside_claims_of_an_expired_key_takes_no_granted_claim,
            Many races: rule_1_a_hundred_claims_beside_a_completion_are_in_flight_or_replay,
            One judging: rule_2_the_first_claim_of_a_key_is_granted_as_attempt_one,
            One judging: rule_2_a_live_lease_answers_what_is_left_of_it,
            One judging: rule_2_a_finished_key_answers_its_response_each_time,
            One judging: rule_2_a_key_closed_without_its_response_answers_its_status,
            One judging: rule_2_another_body_is_a_mismatch_while_the_first_runs,
            One judging: rule_2_another_body_is_a_mismatch_after_the_end,
            One judging: rule_2_another_body_is_a_mismatch_after_the_lapse,
            One judging: rule_2_a_mismatch_names_what_differs,
            One judging: rule_2_a_repeat_takes_over_after_the_lease_not_after_the_retention,
            One judging: rule_2_each_takeover_is_one_more_attempt,
            One judging: rule_2_a_look_up_of_an_absent_key_claims_nothing,
            One judging: rule_2_a_look_up_judges_as_a_claim_and_changes_nothing,
            One records: rule_2_the_same_key_in_another_scope_is_another_key,
            One records: rule_2_every_scope_and_key_has_a_record_of_its_own,
            One records: rule_2_a_response_replays_line_by_line_and_byte_by_byte,
            One retention: rule_2_a_finished_record_is_kept_from_its_end,
            One retention: rule_2_an_unfinished_record_is_kept_from_its_lapse,
            One retention: rule_2_a_retention_shorter_than_the_handler_ends_nothing_early,
            One retention: rule_2_a_takeover_brings_its_own_lease_and_retention,
            One retention: rule_2_a_record_past_its_retention_is_as_if_absent_for_every_verb,
            One retention: rule_2_a_finished_record_past_its_retention_is_as_if_absent_for_every_verb,
            One retention: rule_2_the_longest_lease_and_retention_are_legal,
            One purging: rule_2_a_purge_deletes_what_is_past_its_retention_and_nothing_else,
            One purging: rule_2_a_purge_deletes_no_more_than_its_batch,
            One purging: rule_2_claims_go_on_between_batches_and_live_leases_stay,
            One keys: rule_2_a_status_tells_what_became_of_a_key,
            One holding: rule_3_a_renewal_counts_from_now,
            One holding: rule_3_a_lapsed_holder_renews_if_nobody_took_over,
            One holding: rule_3_a_lapsed_holder_completes_if_nobody_took_over,
            One holding: rule_3_a_passed_holder_changes_nothing,
            One holding: rule_3_a_holder_that_slept_through_a_release_is_fenced_out,
            One holding: rule_3_the_right_fence_with_another_holder_holds_nothing,
            One holding: rule_3_a_completion_may_be_asked_for_again,
            One holding: rule_3_another_outcome_or_token_does_not_finish_a_finished_record,
            One holding: rule_3_a_finished_record_is_neither_renewed_nor_released,
            One holding: rule_3_a_released_key_runs_again_at_once_as_attempt_one,
            One holding: rule_3_a_released_token_holds_nothing,
            One keys: rule_3_a_forced_release_frees_an_unfinished_key_and_passes_its_holder,
            One keys: rule_3_a_forced_release_leaves_a_finished_key,
            One keys: rule_3_a_forgotten_key_runs_again,
            One time: rule_7_a_status_follows_the_stores_clock,
            One time: rule_7_a_status_tells_when_by_the_stores_clock,
            One tokens: rule_8_fences_rise_over_every_way_a_record_ends,
            One tokens: rule_8_no_two_holders_are_the_same,
        }
    };
    (write_lock_promises, $then:ident, $fixture:ty) => {
        $crate::$then! { write_lock_promises, $fixture;
            One locks: rule_4_a_replay_needs_no_write_lock,
            One locks: rule_4_a_key_closed_without_its_response_needs_no_write_lock,
            One locks: rule_4_a_mismatch_with_a_finished_key_needs_no_write_lock,
        }
    };
    (record_lock_promises, $then:ident, $fixture:ty) => {
        $crate::$then! { record_lock_promises, $fixture;
            One locks: rule_5_a_claim_of_a_locked_record_is_in_flight_with_nothing_left,
            One locks: rule_5_a_renewal_of_a_locked_record_is_a_transient_error,
            One locks: rule_5_a_release_of_a_locked_record_is_a_transient_error,
        }
    };
    (fault_promises, $then:ident, $fixture:ty) => {
        $crate::$then! { fault_promises, $fixture;
            One faults: rule_6_a_failure_that_passes_is_transient,
            One faults: rule_6_a_failure_that_stays_is_permanent,
        }
    };
}

/// Makes each promise a test.
#[doc(hidden)]
#[macro_export]
macro_rules! __store_tests {
    ($list:ident, $fixture:ty; $($threads:ident $file:ident: $promise:ident,)+) => {
        $(
            #[test]
            fn $promise() {
                $crate::store::conformance::$list::<$fixture>().check(stringify!($promise));
            }
        )+
    };
}

/// Makes them a list.
#[doc(hidden)]
#[macro_export]
macro_rules! __store_list {
    ($list:ident, $fixture:ty; $($threads:ident $file:ident: $promise:ident,)+) => {
        Promises(vec![$(
            Promise {
                name: stringify!($promise),
                threads: Threads::$threads,
                kept: |fixture| Box::pin($file::$promise(fixture)),
            },
        )+])
    };
}

/// What every store is asked for: rules 1, 2, 3, 7 and 8.
#[must_use]
pub fn promises<F: Fixture>() -> Promises<F> {
    crate::__store_promises! { promises, __store_list, F }
}

/// What a store is asked for whose writes take one lock: rule 4.
#[must_use]
pub fn write_lock_promises<F: WriteLock>() -> Promises<F> {
    crate::__store_promises! { write_lock_promises, __store_list, F }
}

/// What a store is asked for whose records can be locked: rule 5.
#[must_use]
pub fn record_lock_promises<F: RecordLocks>() -> Promises<F> {
    crate::__store_promises! { record_lock_promises, __store_list, F }
}

/// What a store is asked for when it fails: rule 6.
#[must_use]
pub fn fault_promises<F: Faults>() -> Promises<F> {
    crate::__store_promises! { fault_promises, __store_list, F }
}

/// A part of the suite, for a test harness of your own; [`store_conformance!`](crate::store_conformance) makes tests of it.
#[derive(Debug)]
pub struct Promises<F>(Vec<Promise<F>>);

impl<F: Fixture> Promises<F> {
    /// Tries the promise of this name.
    ///
    /// # Panics
    ///
    /// If the store breaks it, or if there is none of this name.
    pub fn check(&self, name: &str) {
        self.0.iter().find(|promise| promise.name == name).expect("a promise of this part of the suite").check();
    }
}

impl<F> IntoIterator for Promises<F> {
    type Item = Promise<F>;
    type IntoIter = std::vec::IntoIter<Promise<F>>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// One fact that a store promises.
pub struct Promise<F> {
    name: &'static str,
    threads: Threads,
    kept: for<'a> fn(&'a F) -> LocalBoxFuture<'a, ()>,
}

impl<F: Fixture> Promise<F> {
    /// Its name, which begins with its rule: `rule_3_a_released_token_holds_nothing`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Tries it with a fresh store, on a runtime of its own.
    ///
    /// # Panics
    ///
    /// If the store breaks it.
    pub fn check(&self) {
        const {
            assert!(tenfold(F::TOLERANCE) < F::UNIT.as_nanos(), "TOLERANCE is less than a tenth of UNIT");
        }
        self.threads.runtime(F::TIME).block_on(async { (self.kept)(&F::fresh().await).await });
    }
}

impl<F> fmt::Debug for Promise<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Which runtime a promise is tried on.
#[derive(Clone, Copy)]
enum Threads {
    /// Of one thread: what is polled when is certain, and the clock may be paused.
    One,
    /// Of several, whose clock runs.
    Many,
}

impl Threads {
    fn runtime(self, time: Time) -> Runtime {
        let runtime = match self {
            Self::One => Builder::new_current_thread().enable_all().start_paused(time == Time::Paused).build(),
            Self::Many => Builder::new_multi_thread().worker_threads(4).enable_all().build(),
        };
        runtime.expect("a runtime")
    }
}

const fn tenfold(time: Duration) -> u128 {
    time.as_nanos() * 10
}
