//! What can be chosen.

use lab::{
    bug_tracker::Implementation,
    harness::KeySource,
    steps::{Choice, Fault, Fencing, InvalidChoice},
};

#[test]
fn there_are_sixty_cells_and_eight_slow_requests() {
    let slow = Choice::all().into_iter().filter(|choice| choice.fault() == Fault::TakenOver).count();

    assert_eq!((Choice::all().len(), slow), (68, 8));
}

#[test]
fn each_choice_is_made_of_its_parts_again() {
    for choice in Choice::all() {
        let row = choice.row();
        let again = Choice::new(choice.fault(), row.implementation, row.key_source, choice.fencing());
        assert_eq!(again, Ok(choice));
    }
}

#[test]
fn fencing_is_on_unless_it_is_said() {
    let choice = Choice::new(Fault::TakenOver, Implementation::KeyAtomic, KeySource::ToolCall, None);

    assert_eq!(choice, Ok(Choice::TakenOver { key_source: KeySource::ToolCall, fencing: Fencing::On }));
}

#[test]
fn a_server_that_claims_nothing_has_nothing_to_take_over() {
    for implementation in [Implementation::Naive, Implementation::KeySplit] {
        let choice = Choice::new(Fault::TakenOver, implementation, KeySource::ToolCall, None);
        assert_eq!(choice, Err(InvalidChoice::NothingToTakeOver(implementation)));
    }
}

#[test]
fn fencing_is_no_question_of_the_other_faults() {
    let choice = Choice::new(Fault::Crash, Implementation::KeyAtomic, KeySource::ToolCall, Some(Fencing::Off));

    assert_eq!(choice, Err(InvalidChoice::NoFencingHere(Fault::Crash)));
}
