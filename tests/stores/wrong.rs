//! Each promise that matters most, seen red: a store with one guard missing, and the promise that it breaks.

use crate::{
    holding, judging, keys,
    naive::{Flaw, Naive, NaiveStore},
    purging, races, retention, tokens,
};

/// Without a flaw it keeps every promise: the failures below are the flaws'.
mod without_a_flaw {
    use super::Naive;

    crate::every_promise!(Naive);
}

/// A flaw, the promise that it breaks, and the words with which the promise fails.
macro_rules! found_out {
    ($($name:ident: $flaw:ident, $file:ident::$promise:ident, $words:literal;)+) => {
        $(
            #[tokio::test(start_paused = true)]
            #[should_panic(expected = $words)]
            async fn $name() {
                $file::$promise(&Naive(NaiveStore::with(Flaw::$flaw))).await;
            }
        )+
    };
}

found_out! {
    a_store_that_does_not_compare_holders_lets_another_one_renew: HoldersAreNotCompared,
        holding::the_right_fence_with_another_holder_holds_nothing, "another holder renews nothing";
    a_store_that_does_not_compare_holders_lets_another_one_finish: HoldersAreNotCompared,
        holding::another_outcome_or_token_does_not_finish_a_finished_record, "finished by another token";
    a_store_whose_fences_start_again_lets_a_sleeper_overwrite_its_successor: FencesStartAgain,
        holding::a_holder_that_slept_through_a_release_is_fenced_out, "fenced out while another runs";
    a_store_whose_fences_start_again_repeats_a_fence: FencesStartAgain,
        tokens::fences_rise_over_every_way_a_record_ends, "a fence rises after a release";
    a_store_that_releases_by_key_frees_the_new_holders_claim: AnyoneReleases,
        holding::a_passed_holder_changes_nothing, "a passed holder releases nothing";
    a_store_that_judges_the_lease_first_hides_a_mismatch: InFlightComesFirst,
        judging::another_body_is_a_mismatch_while_the_first_runs, "a mismatch comes before in flight";
    a_store_that_leases_for_the_retention_blocks_a_repeat: LeasesLastForTheRetention,
        judging::a_repeat_takes_over_after_the_lease_not_after_the_retention, "the key should be free";
    a_store_that_keeps_from_the_claim_purges_a_live_lease: RetentionCountsFromTheClaim,
        purging::claims_go_on_between_batches_and_live_leases_stay, "left: No";
    a_store_that_keeps_from_the_claim_loses_a_slow_handlers_record: RetentionCountsFromTheClaim,
        retention::a_retention_shorter_than_the_handler_ends_nothing_early, "never past its retention";
    a_store_that_overwrites_changes_the_answer: CompletionsOverwrite,
        holding::another_outcome_or_token_does_not_finish_a_finished_record, "the first outcome stands";
    a_store_that_overwrites_lets_every_completion_count: CompletionsOverwrite,
        races::one_of_a_hundred_completions_with_different_outcomes_counts, "completions that counted";
    a_store_that_counts_a_completion_once_denies_a_lost_answer: CompletionsCountOnce,
        holding::a_completion_may_be_asked_for_again, "left: No";
    a_store_that_only_purges_keeps_a_record_too_long: OnlyPurgesExpire,
        retention::a_record_past_its_retention_is_as_if_absent_for_every_verb, "nothing to renew";
    a_store_that_only_purges_tells_of_a_record_too_long: OnlyPurgesExpire,
        keys::a_status_tells_what_became_of_a_key, "right: Unknown";
    a_store_that_claims_in_two_steps_grants_a_key_twice: ClaimsAreTwoSteps,
        races::one_of_a_hundred_claims_is_granted, "claims granted at once";
    a_store_that_claims_in_two_steps_grants_a_takeover_twice: ClaimsAreTwoSteps,
        races::one_of_a_hundred_takeovers_is_granted, "claims granted at once";
}
