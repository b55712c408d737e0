//! What "healthy again" is.

use lab::overload::{Recovery, Second};

/// Seconds in each of which 100 requests came in and so many of them were answered.
fn seconds(answered: &[(usize, u64)]) -> Vec<Second> {
    let second = |answered_of_these| Second { arrived: 100, answered_of_these, ..Second::default() };
    answered.iter().flat_map(|&(length, answered)| vec![second(answered); length]).collect()
}

#[test]
fn it_is_the_first_second_from_which_on_all_is_well() {
    assert_eq!(Recovery::of(&seconds(&[(10, 0), (7, 0), (20, 100)]), 10), Recovery::AfterSeconds(7));
}

#[test]
fn nineteen_of_twenty_are_enough_over_ten_seconds() {
    assert_eq!(Recovery::of(&seconds(&[(20, 95)]), 0), Recovery::AfterSeconds(0));
    assert_eq!(Recovery::of(&seconds(&[(20, 94)]), 0), Recovery::NotWithinSeconds(20));
    assert_eq!(Recovery::of(&seconds(&[(1, 50), (19, 100)]), 0), Recovery::AfterSeconds(0));
}

#[test]
fn a_good_stretch_that_does_not_last_is_none() {
    assert_eq!(Recovery::of(&seconds(&[(30, 100), (5, 0), (30, 100)]), 0), Recovery::AfterSeconds(35));
    assert_eq!(Recovery::of(&seconds(&[(30, 100), (5, 0)]), 0), Recovery::NotWithinSeconds(35));
}

#[test]
fn what_was_before_the_outages_end_does_not_count() {
    assert_eq!(Recovery::of(&seconds(&[(10, 0), (20, 100)]), 10), Recovery::AfterSeconds(0));
}

#[test]
fn less_than_a_stretch_says_nothing() {
    assert_eq!(Recovery::of(&seconds(&[(9, 100)]), 0), Recovery::NotWithinSeconds(9));
    assert_eq!(Recovery::of(&[], 5), Recovery::NotWithinSeconds(0));
}
