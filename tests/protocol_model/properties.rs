//! What has to hold in every state, and what has to be seen in some.

use stateright::Property;

use crate::{
    design::Design,
    exchange::Act,
    protocol::{Action, Protocol},
    state::{Answer, Body, Effects, Phase, Process, Standing, State, Store},
};

pub(crate) const ONE_WRITE: &str = "a write is committed at most once per key";
pub(crate) const STORED: &str = "an acknowledged answer is the stored one";
pub(crate) const OWN_ANSWER: &str = "nobody gets the answer of another fingerprint";
pub(crate) const PASSED: &str = "a passed holder changes nothing";
pub(crate) const NEWEST: &str = "only the newest holder finishes the key";
pub(crate) const NOT_BLOCKED: &str = "after crash and lapse a lone new request ends in done";
pub(crate) const NOT_OVERTAKEN: &str = "a holder that is awake is not taken over";
pub(crate) const ONE_EFFECT: &str = "without faults a handler without commit takes effect once per key";

/// What the world has to show, lest the rest hold of a world in which little happens.
pub(crate) const SHOWN: [&str; 4] = [
    "every client has an answer",
    "a passed handler runs on beside its successor",
    "a passed holder meets the answer to its own request",
    "a passed holder meets the answer to another request",
];

type Condition<const CLIENTS: usize, const PROCESSES: usize> =
    fn(&Protocol<CLIENTS, PROCESSES>, &State<CLIENTS, PROCESSES>) -> bool;

pub(crate) fn all<const CLIENTS: usize, const PROCESSES: usize>() -> Vec<Property<Protocol<CLIENTS, PROCESSES>>> {
    let always: [(_, Condition<CLIENTS, PROCESSES>); 8] = [
        (ONE_WRITE, |_, state| state.seen.writes <= 1),
        (STORED, |_, state| state.told.iter().flatten().all(|told| state.has_stored(told.answer))),
        (OWN_ANSWER, |_, state| state.told.iter().flatten().all(|told| told.answer.body == told.asked)),
        (PASSED, |_, state| !state.seen.meddled),
        (NEWEST, |_, state| !state.seen.usurped),
        (NOT_BLOCKED, a_lone_new_request_ends_in_done),
        (NOT_OVERTAKEN, |_, state| !state.seen.overtaken),
        (ONE_EFFECT, |_, state| state.seen.effects != Effects::Several),
    ];
    let sometimes: [(_, Condition<CLIENTS, PROCESSES>); 4] = [
        (SHOWN[0], |_, state| state.told.iter().all(Option::is_some)),
        (SHOWN[1], |_, state| state.processes.iter().all(|process| matches!(process.phase, Phase::Running(_)))),
        (SHOWN[2], |_, state| state.has_passed(|asked, recorded| asked == recorded)),
        (SHOWN[3], |_, state| state.has_passed(|asked, recorded| asked != recorded)),
    ];
    let always = always.map(|(name, holds)| Property::always(name, holds));
    let sometimes = sometimes.map(|(name, holds)| Property::sometimes(name, holds));
    always.into_iter().chain(sometimes).collect()
}

/// The checker knows no fairness, so the way out is walked from each state. A request other than the recorded one is
/// refused until the record's retention ends; the recorded one, or any if there is none, ends in done and is answered.
fn a_lone_new_request_ends_in_done<const CLIENTS: usize, const PROCESSES: usize>(
    protocol: &Protocol<CLIENTS, PROCESSES>,
    state: &State<CLIENTS, PROCESSES>,
) -> bool {
    [Body::X, Body::Y].into_iter().all(|body| {
        let refused = state.store.record.is_some_and(|record| record.body != body);
        [Act::Commit, Act::Finish].into_iter().all(|handler| {
            let ended = after_a_lone_request(protocol.design, state.store, body, handler);
            let answered = ended.told[0].is_some_and(|told| ended.has_stored(told.answer));
            answered != refused
        })
    })
}

/// Nothing is left but the store; the lease runs out, and one request comes whose handler commits, or finishes without.
fn after_a_lone_request(design: Design, store: Store, body: Body, handler: Act) -> State<1, 1> {
    let protocol = Protocol::of(design);
    let left = State { store, ..State::new(None) };
    let acts = [Act::Claim, handler, Act::Complete, Act::Answer].map(|act| Action::Act(0, act));
    let steps = [Action::Lapse, Action::Send { client: 0, body, process: 0 }].into_iter().chain(acts);
    steps.fold(left, |state, action| protocol.step(state, action).unwrap_or(state))
}

impl<const CLIENTS: usize, const PROCESSES: usize> State<CLIENTS, PROCESSES> {
    fn has_stored(&self, answer: Answer) -> bool {
        self.store.record.is_some_and(|record| record.standing == Standing::Done(answer))
    }

    fn has_passed(&self, compare: fn(Body, Body) -> bool) -> bool {
        let done = self.store.record.filter(|record| matches!(record.standing, Standing::Done(_)));
        let passed = |process: &&Process| process.phase == Phase::Passed && process.caller.is_some();
        self.processes
            .iter()
            .filter(passed)
            .any(|process| done.is_some_and(|record| compare(process.body, record.body)))
    }
}
