//! The model: clients, processes, time and an operator, who take turns in any order.

use stateright::{Model, Property};

use crate::{
    design::Design,
    exchange::Act,
    properties,
    state::{Body, Effects, Phase, Process, Standing, State},
    store::Held,
};

/// One step of somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// A client that waits for nothing sends the key with this body; the request may be long on its way.
    Send { client: u8, body: Body, process: usize },
    /// A client stops waiting. The exchange goes on without it.
    GiveUp { client: u8 },
    /// A process goes on with its exchange.
    Act(usize, Act),
    /// A call whose process has died reaches the store.
    Arrive,
    /// It never does.
    Lose,
    /// The lease of an unfinished record runs out.
    Lapse,
    /// A record past its retention is deleted.
    Purge,
    /// An operator frees the unfinished key.
    ForceRelease,
}

/// What goes wrong beside clients that give up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Faults {
    All,
    /// All, except that a call is lost with the process that made it.
    NoCallAdrift,
    None,
}

/// Whether states that differ in names only are explored once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Names {
    /// Alike clients, processes and bodies are relabelled, and numbers keep no more than their order.
    Relabelled,
    AsTheyAre,
}

/// A design at work in a world of so many clients and processes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Protocol<const CLIENTS: usize, const PROCESSES: usize> {
    pub(crate) design: Design,
    pub(crate) faults: Faults,
    pub(crate) names: Names,
    /// How many requests all clients send together; `None` for any number.
    pub(crate) tries: Option<u8>,
}

impl<const CLIENTS: usize, const PROCESSES: usize> Protocol<CLIENTS, PROCESSES> {
    /// With all faults and without bounds.
    pub(crate) fn of(design: Design) -> Self {
        Self { design, faults: Faults::All, names: Names::Relabelled, tries: None }
    }

    /// The next state, with names as they are.
    pub(crate) fn step(
        &self,
        mut state: State<CLIENTS, PROCESSES>,
        action: Action,
    ) -> Option<State<CLIENTS, PROCESSES>> {
        match action {
            Action::Send { client, body, process } => {
                let may_send = state.serving(client).is_none() && state.tries != Some(0);
                if !may_send || state.processes[process] != Process::IDLE {
                    return None;
                }
                state.tries = state.tries.map(|left| left - 1);
                state.processes[process] = Process { phase: Phase::Arrived, body, caller: Some(client), slept: false };
            }
            Action::GiveUp { client } => state.serving(client)?.caller = None,
            Action::Act(at, act) => state = state.after(self.design, at, act)?,
            Action::Arrive => {
                let call = state.adrift.take()?;
                state.arrive(self.design, call);
            }
            Action::Lose => drop(state.adrift.take()?),
            Action::Lapse => self.lapse(&mut state)?,
            Action::Purge => self.purge(&mut state)?,
            Action::ForceRelease => {
                if state.store.force_release(self.design) == Held::No {
                    return None;
                }
                state.seen.effects = Effects::Excused;
            }
        }
        state.end_what_nobody_sees();
        Some(state)
    }

    /// A lease runs out only if nobody renews it.
    fn lapse(&self, state: &mut State<CLIENTS, PROCESSES>) -> Option<()> {
        let renewed = self.design.renews() && state.holder().is_some_and(|holder| !holder.slept);
        let record = state.store.record.as_mut().filter(|record| record.standing == Standing::Live)?;
        if renewed || self.design == Design::NeverLapses {
            return None;
        }
        record.standing = Standing::Lapsed;
        Some(())
    }

    /// The key is new afterwards, and what was promised for it ends. A retention outlasts every client's patience.
    fn purge(&self, state: &mut State<CLIENTS, PROCESSES>) -> Option<()> {
        let standing = state.store.record?.standing;
        if standing == Standing::Live {
            return None;
        }
        if matches!(standing, Standing::Done(_)) {
            let heard = |process: &Process| process.caller.is_some() && matches!(process.phase, Phase::Answering(_));
            if state.processes.iter().any(heard) {
                return None;
            }
            state.told = [None; CLIENTS];
            state.seen.writes = 0;
            if state.seen.effects != Effects::Excused {
                state.seen.effects = Effects::None;
            }
        }
        state.store.delete(self.design);
        Some(())
    }
}

impl<const CLIENTS: usize, const PROCESSES: usize> State<CLIENTS, PROCESSES> {
    /// An answer to nobody makes no difference, nor does the sleep of one that holds nothing.
    fn end_what_nobody_sees(&mut self) {
        let held = self.holder().and_then(Process::token);
        for process in &mut self.processes {
            match process.phase {
                Phase::Passed | Phase::Answering(_) if process.caller.is_none() => *process = Process::IDLE,
                _ => process.slept &= process.token() == held,
            }
        }
    }
}

impl<const CLIENTS: usize, const PROCESSES: usize> Model for Protocol<CLIENTS, PROCESSES> {
    type State = State<CLIENTS, PROCESSES>;
    type Action = Action;

    fn init_states(&self) -> Vec<Self::State> {
        vec![State::new(self.tries)]
    }

    fn actions(&self, state: &Self::State, actions: &mut Vec<Action>) {
        for client in (0..).take(CLIENTS) {
            actions.push(Action::GiveUp { client });
            for process in 0..PROCESSES {
                actions.extend([Body::X, Body::Y].map(|body| Action::Send { client, body, process }));
            }
        }
        for (at, process) in state.processes.iter().enumerate() {
            let acts = Act::ALL.into_iter().filter(|act| self.faults.allow(*act));
            if process.phase != Phase::Idle {
                actions.extend(acts.map(|act| Action::Act(at, act)));
            }
        }
        actions.push(Action::Lapse);
        if self.faults != Faults::None {
            actions.extend([Action::Arrive, Action::Lose, Action::Purge, Action::ForceRelease]);
        }
    }

    fn next_state(&self, state: &Self::State, action: Action) -> Option<Self::State> {
        let next = self.step(*state, action)?;
        Some(match self.names {
            Names::Relabelled => next.relabelled(self.design),
            Names::AsTheyAre => next,
        })
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::all()
    }
}
