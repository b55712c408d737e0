//! The world between two steps: the record, the processes, what clients were told, and what only an observer knows.

/// What a request asks for. Two are enough: the same as the record's, and another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Body {
    X,
    Y,
}

/// Who holds the key. Every acquisition has a turn of its own: it stands for the random holder and, where a design
/// does not look at it, it is the observer's number by which a confusion is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Token {
    pub(crate) fence: u8,
    pub(crate) turn: u8,
}

/// What a run answers: no two runs answer alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Answer {
    pub(crate) turn: u8,
    pub(crate) body: Body,
}

/// How far the request of a record has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Standing {
    /// In flight; its lease runs.
    Live,
    /// In flight; its lease has run out, and a claim takes over.
    Lapsed,
    /// Finished with this answer.
    Done(Answer),
}

/// The record of the one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Record {
    pub(crate) token: Token,
    pub(crate) body: Body,
    pub(crate) standing: Standing,
}

/// The store: one key, and the counters that outlive its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Store {
    pub(crate) record: Option<Record>,
    /// Of the claim granted last.
    pub(crate) fence: u8,
    /// Of the claim granted last.
    pub(crate) turn: u8,
}

/// Where the exchange of a process stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Phase {
    /// No exchange; also after a crash, since a process starts again at once.
    Idle,
    /// Received, or still on its way: to be claimed.
    Arrived,
    /// The handler runs.
    Running(Token),
    /// The handler ended without a commit: its answer is to be kept.
    Ended(Token),
    /// The handler failed: the key is to be given back.
    Failed(Token),
    /// The store said that the key is another's: the record is to be looked up.
    Passed,
    /// An answer that is stored is on its way.
    Answering(Answer),
}

/// One server process, with one exchange at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Process {
    pub(crate) phase: Phase,
    /// Of the request.
    pub(crate) body: Body,
    /// The client that still waits for this exchange.
    pub(crate) caller: Option<u8>,
    /// It paused, and has not renewed its lease since: what it does next may come late. Only a holder's matters.
    pub(crate) slept: bool,
}

impl Process {
    pub(crate) const IDLE: Self = Self { phase: Phase::Idle, body: Body::X, caller: None, slept: false };

    /// The token with which it runs, ends or gives back.
    pub(crate) fn token(&self) -> Option<Token> {
        match self.phase {
            Phase::Running(token) | Phase::Ended(token) | Phase::Failed(token) => Some(token),
            Phase::Idle | Phase::Arrived | Phase::Passed | Phase::Answering(_) => None,
        }
    }
}

/// A call of the store that its process did not live to hear about: it arrives late, or never.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Call {
    pub(crate) verb: Verb,
    pub(crate) token: Token,
    pub(crate) body: Body,
}

/// What a holder asks of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Verb {
    Commit,
    Complete,
    Release,
    Renew,
}

/// An answer that a client received, and what it had asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Told {
    pub(crate) answer: Answer,
    pub(crate) asked: Body,
}

/// How often a handler without commit has taken effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Effects {
    None,
    One,
    Several,
    /// A pause, a crash, a failure or an operator came in between: nothing is promised.
    Excused,
}

/// What nobody in the protocol can see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Seen {
    /// Writes committed since the key was last new; counted up to two.
    pub(crate) writes: u8,
    pub(crate) effects: Effects,
    /// A claim took the key from a process that was awake.
    pub(crate) overtaken: bool,
    /// A process changed a record that was not its own.
    pub(crate) meddled: bool,
    /// A process finished the key, though the key had been granted again since.
    pub(crate) usurped: bool,
}

/// The world, with so many clients and processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct State<const CLIENTS: usize, const PROCESSES: usize> {
    pub(crate) store: Store,
    pub(crate) processes: [Process; PROCESSES],
    /// At most one, whosever it is.
    pub(crate) adrift: Option<Call>,
    /// The last answer that each client received while the record is retained.
    pub(crate) told: [Option<Told>; CLIENTS],
    pub(crate) seen: Seen,
    /// Requests that clients may still send; `None` for any number.
    pub(crate) tries: Option<u8>,
}

impl<const CLIENTS: usize, const PROCESSES: usize> State<CLIENTS, PROCESSES> {
    pub(crate) fn new(tries: Option<u8>) -> Self {
        Self {
            store: Store { record: None, fence: 0, turn: 0 },
            processes: [Process::IDLE; PROCESSES],
            adrift: None,
            told: [None; CLIENTS],
            seen: Seen { writes: 0, effects: Effects::None, overtaken: false, meddled: false, usurped: false },
            tries,
        }
    }

    /// The process that holds the unfinished key, if it still knows.
    pub(crate) fn holder(&self) -> Option<&Process> {
        let held = self.store.record.filter(|record| !matches!(record.standing, Standing::Done(_)))?;
        self.processes.iter().find(|process| process.token().is_some_and(|token| token.turn == held.token.turn))
    }

    /// The process whose exchange this client waits for.
    pub(crate) fn serving(&mut self, client: u8) -> Option<&mut Process> {
        self.processes.iter_mut().find(|process| process.caller == Some(client))
    }
}
