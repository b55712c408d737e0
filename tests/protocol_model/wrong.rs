//! The checker is shown to work: each guard left out is found, by the property that it serves and in no fewer steps
//! than it takes. Two that another guard makes up for break nothing.

use std::collections::BTreeSet;

use stateright::{Checker, HasDiscoveries, Model};

use crate::{
    design::Design,
    explored_whole,
    properties::{NEWEST, NOT_BLOCKED, NOT_OVERTAKEN, ONE_EFFECT, ONE_WRITE, OWN_ANSWER, PASSED, STORED},
    protocol::{Action, Protocol},
};

/// What leads, in so many steps at most, to a state in which the property fails.
fn counterexample(design: Design, property: &'static str, steps: usize) -> Option<Vec<Action>> {
    // A block of states is checked to its end, and the last failure in it is the one that is told: the depth has to be
    // bounded for it to be a nearest one. Depth 1 is the initial state, and the last depth is not looked at.
    let bounded = Protocol::<2, 2>::of(design).checker().target_max_depth(steps + 2);
    let failed = HasDiscoveries::AllOf(BTreeSet::from([property]));
    bounded.finish_when(failed).spawn_bfs().join().discovery(property).map(|path| path.into_actions())
}

macro_rules! found_wrong {
    ($($name:ident: $design:ident breaks $property:ident in $steps:literal;)+) => {
        $(
            #[test]
            fn $name() {
                let nearer = counterexample(Design::$design, $property, $steps - 1);
                let found = counterexample(Design::$design, $property, $steps);

                assert_eq!(nearer, None);
                assert!(found.is_some(), "not found: {}", $property);
            }
        )+
    };
}

found_wrong! {
    a_server_that_ignores_keys_writes_twice: Naive breaks ONE_WRITE in 6;
    a_key_registered_after_the_write_lets_two_write: KeySplit breaks ONE_WRITE in 6;
    without_fencing_a_passed_holder_writes_beside_its_successor: Unfenced breaks ONE_WRITE in 7;
    without_fencing_a_passed_holder_changes_the_record: Unfenced breaks PASSED in 6;
    a_commit_into_a_finished_record_writes_twice: CommitsFinished breaks ONE_WRITE in 4;
    a_fence_that_starts_again_lets_a_passed_holder_finish_its_successors_key: FencesStartAgain breaks NEWEST in 6;
    a_fence_that_starts_again_hands_out_the_answer_of_another: FencesStartAgain breaks OWN_ANSWER in 9;
    a_passed_holder_answered_unjudged_gets_the_answer_of_another: PassedAnswerUnjudged breaks OWN_ANSWER in 9;
    a_claim_that_ignores_fingerprints_replays_the_answer_of_another: IgnoresFingerprints breaks OWN_ANSWER in 6;
    an_answer_sent_before_closing_is_not_stored: SendsBeforeClosing breaks STORED in 4;
    a_release_by_key_frees_the_successors_claim: ReleasesByKey breaks PASSED in 7;
    a_release_by_key_lets_a_finished_key_write_again: ReleasesByKey breaks ONE_WRITE in 8;
    a_claim_without_a_lease_blocks_its_key_for_ever: NeverLapses breaks NOT_BLOCKED in 2;
    a_lease_without_renewal_takes_over_a_holder_that_is_awake: NeverRenews breaks NOT_OVERTAKEN in 5;
    a_lease_without_renewal_runs_a_handler_twice: NeverRenews breaks ONE_EFFECT in 7;
    a_lease_of_zero_takes_over_a_holder_that_is_awake: LeaseOfZero breaks NOT_OVERTAKEN in 4;
    a_lease_of_zero_runs_a_handler_twice: LeaseOfZero breaks ONE_EFFECT in 6;
}

#[test]
fn a_lease_without_renewal_commits_no_second_write() {
    let (broken, _) = explored_whole(Protocol::<2, 2>::of(Design::NeverRenews));

    assert_eq!(broken, BTreeSet::from([NOT_OVERTAKEN, ONE_EFFECT]));
}

#[test]
fn a_lease_of_zero_commits_no_second_write() {
    let (broken, _) = explored_whole(Protocol::<2, 2>::of(Design::LeaseOfZero));

    assert_eq!(broken, BTreeSet::from([NOT_OVERTAKEN, ONE_EFFECT]));
}

/// No write is too many, each answer is stored: it takes the number that each acquisition has to see it (V8).
#[test]
fn a_fence_that_starts_again_shows_in_no_count_of_writes() {
    let (broken, _) = explored_whole(within_three_tries(Design::FencesStartAgain));

    assert_eq!(broken, BTreeSet::from([NEWEST, PASSED, OWN_ANSWER]));
}

#[test]
fn holders_make_up_for_fences_that_start_again() {
    let (broken, _) = explored_whole(within_three_tries(Design::FencesStartAgainWithHolders));

    assert_eq!(broken, BTreeSet::new());
}

#[test]
fn fences_that_rise_for_ever_make_up_for_holders() {
    let (broken, _) = explored_whole(Protocol::<2, 2>::of(Design::FencesWithoutHolders));

    assert_eq!(broken, BTreeSet::new());
}

/// Fences that start again are no mere order: they are not ranked, and only the tries bound them.
fn within_three_tries(design: Design) -> Protocol<2, 2> {
    Protocol { tries: Some(3), ..Protocol::of(design) }
}
