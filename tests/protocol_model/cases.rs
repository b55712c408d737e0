//! V8, step by step: A sleeps through the run and the release of its successor, and wakes beside another request.

use crate::{
    design::Design,
    exchange::Act,
    protocol::{Action, Protocol},
    state::{Answer, Body, Phase, Process, Record, Standing, State, Token, Told},
};

const A: u8 = 0;
const B: u8 = 1;
const C: u8 = 2;

/// The process of A.
const ONE: usize = 0;
/// The process of B and C.
const TWO: usize = 1;

/// The answer of the third run, which is C's.
const OF_C: Answer = Answer { turn: 3, body: Body::Y };

/// A's lease lapses; B takes over, fails and gives back; C is granted the key for another body.
const UNTIL_C_RUNS: [Action; 10] = [
    Action::Send { client: A, body: Body::X, process: ONE },
    Action::Act(ONE, Act::Claim),
    Action::Act(ONE, Act::Pause),
    Action::Lapse,
    Action::Send { client: B, body: Body::X, process: TWO },
    Action::Act(TWO, Act::Claim),
    Action::Act(TWO, Act::Fail),
    Action::Act(TWO, Act::Release),
    Action::Send { client: C, body: Body::Y, process: TWO },
    Action::Act(TWO, Act::Claim),
];
const C_COMMITS: [Action; 2] = [Action::Act(TWO, Act::Commit), Action::Act(TWO, Act::Answer)];
const A_COMMITS: [Action; 1] = [Action::Act(ONE, Act::Commit)];
const A_LOOKS_UP: [Action; 1] = [Action::Act(ONE, Act::LookUp)];

fn walk(design: Design, steps: &[&[Action]]) -> State<3, 2> {
    let protocol = Protocol::of(design);
    steps.concat().into_iter().fold(State::new(None), |state, action| {
        protocol.step(state, action).unwrap_or_else(|| panic!("{action:?} is not possible in {state:?}"))
    })
}

#[test]
fn a_sleeper_that_wakes_beside_another_request_changes_nothing_and_hears_nothing_of_it() {
    let ended = walk(Design::Guarded, &[&UNTIL_C_RUNS, &C_COMMITS, &A_COMMITS, &A_LOOKS_UP]);

    let token = Token { fence: 3, turn: 3 };
    assert_eq!(ended.store.record, Some(Record { token, body: Body::Y, standing: Standing::Done(OF_C) }));
    assert_eq!(ended.told, [None, None, Some(Told { answer: OF_C, asked: Body::Y })]);
    assert_eq!(ended.processes[ONE], Process::IDLE);
    assert_eq!(ended.seen.writes, 1);
}

#[test]
fn a_sleeper_whose_fence_was_granted_again_commits_in_the_place_of_another_request() {
    let ended = walk(Design::FencesStartAgain, &[&UNTIL_C_RUNS, &A_COMMITS]);

    let of_a = Answer { turn: 1, body: Body::X };
    assert_eq!(ended.store.record.map(|record| (record.body, record.standing)), Some((Body::Y, Standing::Done(of_a))));
    assert!(ended.seen.usurped);
}

#[test]
fn a_sleeper_that_is_answered_unjudged_hears_the_answer_to_another_request() {
    let ended = walk(Design::PassedAnswerUnjudged, &[&UNTIL_C_RUNS, &C_COMMITS, &A_COMMITS, &A_LOOKS_UP]);

    assert_eq!(ended.processes[ONE].phase, Phase::Answering(OF_C));
}
