//! Whether holders that work without a fault can pass each other for ever.
//!
//! The checker knows no fairness, so the question is put as one of safety: from some state on, which is remembered, the
//! key is granted and the same state comes again. Since a process that was granted the key has to end before it is
//! granted again, each one in such a cycle has done all its work, in vain.

use stateright::{Checker, HasDiscoveries, Model, Property};

use crate::{
    design::Design,
    exchange::Act,
    protocol::{Action, Faults, Protocol},
    state::{Phase, State},
};

const ENDS: &str = "holders do not pass each other for ever";

type Pair = State<2, 2>;

struct Cycle(Protocol<2, 2>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Watched {
    now: Pair,
    since: Option<Since>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Since {
    then: Pair,
    granted: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// From here on.
    Remember,
    Take(Action),
}

impl Model for Cycle {
    type State = Watched;
    type Action = Step;

    fn init_states(&self) -> Vec<Watched> {
        self.0.init_states().into_iter().map(|now| Watched { now, since: None }).collect()
    }

    fn actions(&self, state: &Watched, steps: &mut Vec<Step>) {
        let mut actions = Vec::new();
        self.0.actions(&state.now, &mut actions);
        steps.push(Step::Remember);
        steps.extend(actions.into_iter().map(Step::Take));
    }

    fn next_state(&self, &Watched { now, since }: &Watched, step: Step) -> Option<Watched> {
        match (step, since) {
            (Step::Remember, None) => Some(Watched { now, since: Some(Since { then: now, granted: false }) }),
            (Step::Remember, Some(_)) => None,
            (Step::Take(action), since) => {
                let granted =
                    matches!(action, Action::Act(_, Act::Claim)) && running(&self.0.step(now, action)?) > running(&now);
                let since = since.map(|since| Since { granted: since.granted || granted, ..since });
                Some(Watched { now: self.0.next_state(&now, action)?, since })
            }
        }
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always(ENDS, |_, state: &Watched| {
            state.since.is_none_or(|since| !since.granted || since.then != state.now)
        })]
    }
}

fn running(state: &Pair) -> usize {
    state.processes.iter().filter(|process| matches!(process.phase, Phase::Running(_))).count()
}

/// Whether the property failed, and in how many states it was looked.
fn passes_for_ever(design: Design) -> (bool, usize) {
    let faultless = Protocol { faults: Faults::None, ..Protocol::of(design) };
    let checker = Cycle(faultless).checker().threads(2).finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
    assert!(checker.is_done(), "cut off");
    (checker.discovery(ENDS).is_some(), checker.unique_state_count())
}

#[test]
fn holders_that_renew_do_not_pass_each_other_for_ever() {
    let (found, states) = passes_for_ever(Design::Guarded);

    assert!(!found);
    assert!((9_000..15_000).contains(&states), "another model than was reviewed: {states} states");
}

#[test]
fn a_lease_without_renewal_lets_holders_pass_each_other_for_ever() {
    assert!(passes_for_ever(Design::NeverRenews).0);
}

#[test]
fn a_lease_of_zero_lets_holders_pass_each_other_for_ever() {
    assert!(passes_for_ever(Design::LeaseOfZero).0);
}
