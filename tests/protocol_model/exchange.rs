//! One keyed exchange as a process goes through it, step by step: claim, run, close, answer.
//!
//! ```text
//!  Arrived    claim: granted ▶ Running; done ▶ Answering; in flight (409) or another request (422) ▶ Idle
//!  Running    commit: Yes ▶ Answering, No ▶ Passed; finish ▶ Ended; fail ▶ Failed
//!  Ended      complete: Yes ▶ Answering, No ▶ Passed
//!  Failed     release ▶ Idle
//!  Passed     look-up: the answer to the same request ▶ Answering; anything else (409) ▶ Idle
//!  Answering  answer ▶ Idle
//!  any        crash ▶ Idle
//! ```

use crate::{
    design::Design,
    protocol::Faults,
    state::{Answer, Body, Call, Effects, Phase, Process, State, Store, Token, Told, Verb},
    store::{Found, Held},
};

/// What a process does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// Asks for the key.
    Claim,
    /// The handler commits its write, and the key with it.
    Commit,
    /// The handler commits, does not hear or heed how that went, and goes on: it fails, ends, or commits again.
    CommitUnheard,
    /// The handler ends without a commit; what it did stays done.
    Finish,
    /// The handler fails.
    Fail,
    /// Closes the key, and hears how that went.
    Complete,
    /// Closes the key, and hears nothing: it will ask again.
    CompleteUnheard,
    /// Gives the key back, and answers that the handler failed.
    Release,
    /// Passed: looks up whether the record is the same request's.
    LookUp,
    /// Sends the answer.
    Answer,
    /// Renews the lease after a pause. While it is awake it does so in time, which needs no step.
    Renew,
    /// Does nothing while its lease may run out; any later act is its waking.
    Pause,
    /// Forgets all; the caller's connection breaks.
    Crash,
    /// Crashes while its commit, completion or release is on its way to the store.
    CrashCalling,
    /// Crashes while a renewal is on its way to the store.
    CrashRenewing,
}

impl Act {
    pub(crate) const ALL: [Self; 15] = [
        Self::Claim,
        Self::Commit,
        Self::CommitUnheard,
        Self::Finish,
        Self::Fail,
        Self::Complete,
        Self::CompleteUnheard,
        Self::Release,
        Self::LookUp,
        Self::Answer,
        Self::Renew,
        Self::Pause,
        Self::Crash,
        Self::CrashCalling,
        Self::CrashRenewing,
    ];

    /// Whether it takes a fault: in a process, in a handler, or on the way to the store.
    fn is_fault(self) -> bool {
        match self {
            Self::Claim | Self::Commit | Self::Finish | Self::Complete | Self::Release => false,
            Self::LookUp | Self::Answer | Self::Renew => false,
            Self::CommitUnheard | Self::CompleteUnheard | Self::Fail | Self::Pause => true,
            Self::Crash | Self::CrashCalling | Self::CrashRenewing => true,
        }
    }
}

impl Faults {
    pub(crate) fn allow(self, act: Act) -> bool {
        match self {
            Self::All => true,
            Self::NoCallAdrift => !matches!(act, Act::CrashCalling | Act::CrashRenewing),
            Self::None => !act.is_fault(),
        }
    }
}

impl<const CLIENTS: usize, const PROCESSES: usize> State<CLIENTS, PROCESSES> {
    /// The state after this act; `None` if the process is not about to do it.
    pub(crate) fn after(mut self, design: Design, at: usize, act: Act) -> Option<Self> {
        let process = self.processes[at];
        let body = process.body;
        let phase = match (process.phase, act) {
            (Phase::Arrived, Act::Claim) => self.claim(design, process),
            (Phase::Running(token), Act::Commit) => match self.commit(design, token, body) {
                Held::No => Phase::Passed,
                Held::Yes if design.commits_atomically() => Phase::Answering(Answer { turn: token.turn, body }),
                Held::Yes => Phase::Ended(token),
            },
            (Phase::Running(token), Act::CommitUnheard) if design.judges_commits() => {
                self.commit(design, token, body);
                process.phase
            }
            (Phase::Running(token), Act::Finish) if design.claims() => {
                self.seen.effects = self.seen.effects.and_one();
                Phase::Ended(token)
            }
            (Phase::Running(token), Act::Fail) => Phase::Failed(token),
            (Phase::Ended(token), Act::Complete) => match self.complete(design, token, body) {
                Held::Yes => Phase::Answering(Answer { turn: token.turn, body }),
                Held::No if design.claims() => Phase::Passed,
                Held::No => Phase::Idle, // the key is registered already: 500
            },
            (Phase::Ended(token), Act::CompleteUnheard) if design.claims() => {
                self.complete(design, token, body);
                process.phase
            }
            (Phase::Failed(token), Act::Release) => {
                self.ask_with(token, |store| store.release(design, token));
                Phase::Idle
            }
            (Phase::Passed, Act::LookUp) => self.look_up_passed(design, process),
            (Phase::Answering(answer), Act::Answer) => {
                self.tell(process, answer);
                Phase::Idle
            }
            (Phase::Ended(token), Act::Answer) if design == Design::SendsBeforeClosing => {
                self.tell(process, Answer { turn: token.turn, body });
                self.processes[at].caller = None;
                process.phase
            }
            (Phase::Running(token) | Phase::Ended(token) | Phase::Failed(token), Act::Renew) if process.slept => {
                self.ask_with(token, |store| store.renew(design, token));
                self.processes[at].slept = false;
                process.phase
            }
            (Phase::Running(_) | Phase::Ended(_) | Phase::Failed(_), Act::Pause) => {
                self.processes[at].slept = true;
                process.phase
            }
            (phase, Act::CrashCalling | Act::CrashRenewing) if self.adrift.is_none() => {
                let verb = match phase {
                    Phase::Running(_) | Phase::Ended(_) | Phase::Failed(_) if act == Act::CrashRenewing => Verb::Renew,
                    Phase::Running(_) => Verb::Commit,
                    Phase::Ended(_) => Verb::Complete,
                    Phase::Failed(_) => Verb::Release,
                    Phase::Idle | Phase::Arrived | Phase::Passed | Phase::Answering(_) => return None,
                };
                self.adrift = Some(Call { verb, token: process.token()?, body });
                Phase::Idle
            }
            (phase, Act::Crash) if phase != Phase::Idle => Phase::Idle,
            _ => return None,
        };
        if act.is_fault() {
            self.seen.effects = Effects::Excused;
        }
        self.processes[at] = match phase {
            Phase::Idle => Process::IDLE,
            phase => Process { phase, ..self.processes[at] },
        };
        Some(self)
    }

    fn claim(&mut self, design: Design, process: Process) -> Phase {
        let before = *self;
        match self.store.claim(design, process.body) {
            Ok(token) => {
                self.seen.overtaken |= before.holder().is_some_and(|holder| !holder.slept);
                Phase::Running(token)
            }
            Err(Found::Done(answer)) => Phase::Answering(answer),
            Err(_) => Phase::Idle, // 409 or 422
        }
    }

    /// A call that outlived its process arrives.
    pub(crate) fn arrive(&mut self, design: Design, Call { verb, token, body }: Call) {
        match verb {
            Verb::Commit => drop(self.commit(design, token, body)),
            Verb::Complete => drop(self.complete(design, token, body)),
            Verb::Release => drop(self.ask_with(token, |store| store.release(design, token))),
            Verb::Renew => drop(self.ask_with(token, |store| store.renew(design, token))),
        }
    }

    fn commit(&mut self, design: Design, token: Token, body: Body) -> Held {
        let answer = Answer { turn: token.turn, body };
        let held = self.ask_with(token, |store| store.commit(design, token, answer));
        if held == Held::Yes {
            self.seen.usurped |= self.store.turn != token.turn;
            self.seen.writes = (self.seen.writes + 1).min(2);
        }
        held
    }

    fn complete(&mut self, design: Design, token: Token, body: Body) -> Held {
        let answer = Answer { turn: token.turn, body };
        let held = self.ask_with(token, |store| store.complete(design, token, answer));
        self.seen.usurped |= held == Held::Yes && self.store.turn != token.turn;
        held
    }

    /// The recorded answer if it is the same request's, else 409.
    fn look_up_passed(&self, design: Design, process: Process) -> Phase {
        let unjudged = self.store.record.filter(|_| design == Design::PassedAnswerUnjudged);
        match self.store.look_up(design, unjudged.map_or(process.body, |record| record.body)) {
            Found::Done(answer) => Phase::Answering(answer),
            Found::Absent | Found::Mismatch | Found::InFlight | Found::Lapsed => Phase::Idle,
        }
    }

    /// A verb of the store on behalf of this token, watched.
    fn ask_with<T>(&mut self, token: Token, verb: impl FnOnce(&mut Store) -> T) -> T {
        let before = self.store.record;
        let answer = verb(&mut self.store);
        let its_own = before.is_none_or(|record| record.token.turn == token.turn);
        self.seen.meddled |= !its_own && self.store.record != before;
        answer
    }

    fn tell(&mut self, process: Process, answer: Answer) {
        if let Some(client) = process.caller {
            self.told[usize::from(client)] = Some(Told { answer, asked: process.body });
        }
    }
}

impl Effects {
    fn and_one(self) -> Self {
        match self {
            Self::None => Self::One,
            Self::One | Self::Several => Self::Several,
            Self::Excused => Self::Excused,
        }
    }
}
