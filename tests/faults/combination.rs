//! What is combined.

use std::{collections::HashSet, fmt, time::Duration};

use lab::gate::Gate;

use crate::promise::Promise;

pub(crate) const LEASE: Duration = Duration::from_secs(10);

/// What happens to each call of one verb while the store is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Fault {
    Ok,
    Err,
    /// Longer than a renewal may take, shorter than the layer's limit.
    Slow,
    Never,
    /// It reaches the store, and whoever asked is told of a failure.
    Lost,
    /// It reaches the store, and the answer comes when nobody waits for it any more.
    Late,
}

impl Fault {
    pub(crate) const ALL: [Self; 6] = [Self::Ok, Self::Err, Self::Slow, Self::Never, Self::Lost, Self::Late];

    /// Longer than the third of a lease after which the next renewal is due.
    pub(crate) const SLOW: Duration = Duration::from_secs(4);

    /// Longer than the layer waits for any call.
    const LATE: Duration = Duration::from_secs(7);

    pub(crate) fn gate(self) -> Gate {
        match self {
            Self::Ok => Gate::Open,
            Self::Err => Gate::Fail,
            Self::Slow => Gate::Slow(Self::SLOW),
            Self::Never => Gate::Never,
            Self::Lost => Gate::LoseAnswer,
            Self::Late => Gate::SlowAnswer(Self::LATE),
        }
    }
}

/// What the caller of the first server does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    Stays,
    /// While its key is claimed, or its handler runs.
    LeavesEarly,
    /// While its key is closed or given back, if that takes a while.
    LeavesLate,
}

impl Caller {
    pub(crate) const ALL: [Self; 3] = [Self::Stays, Self::LeavesEarly, Self::LeavesLate];

    pub(crate) fn patience(self) -> Duration {
        match self {
            // Far more than anything may take, and no promise depends on it.
            Self::Stays => Duration::from_secs(300),
            Self::LeavesEarly => Duration::from_secs(2),
            Self::LeavesLate => RUN + Duration::from_secs(1),
        }
    }
}

/// The same request at the second server, when the first run has nearly ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rival {
    None,
    /// If it may run it has ended before the first run does.
    Quick,
    /// If it may run it still does when the first run ends.
    Slow,
}

impl Rival {
    pub(crate) const ALL: [Self; 3] = [Self::None, Self::Quick, Self::Slow];

    pub(crate) fn takes(self) -> Duration {
        match self {
            Self::None | Self::Quick => Duration::ZERO,
            Self::Slow => Duration::from_secs(3),
        }
    }
}

/// How long the first run takes: its lease would lapse without a renewal.
pub(crate) const RUN: Duration = Duration::from_secs(12);

/// When the rival comes.
pub(crate) const RIVAL_AT: Duration = Duration::from_secs(11);

/// Which combinations of faults were played, where a verb that was never called makes no difference.
#[derive(Debug, Default)]
pub(crate) struct Played<const VERBS: usize> {
    called: HashSet<[bool; VERBS]>,
    faults: HashSet<[Option<Fault>; VERBS]>,
}

impl<const VERBS: usize> Played<VERBS> {
    /// All combinations of these faults.
    pub(crate) fn all(faults: &[Fault]) -> impl Iterator<Item = [Fault; VERBS]> {
        let base = faults.len();
        (0..base.pow(VERBS as u32)).map(move |n| std::array::from_fn(|verb| faults[n / base.pow(verb as u32) % base]))
    }

    /// Whether one was played that met the same faults at each verb that it called: until the first difference both
    /// are the same, so they never differ.
    pub(crate) fn has(&self, faults: [Fault; VERBS]) -> bool {
        self.called.iter().any(|called| self.faults.contains(&met(faults, *called)))
    }

    pub(crate) fn add(&mut self, faults: [Fault; VERBS], called: [bool; VERBS]) {
        self.called.insert(called);
        self.faults.insert(met(faults, called));
    }
}

fn met<const VERBS: usize>(faults: [Fault; VERBS], called: [bool; VERBS]) -> [Option<Fault>; VERBS] {
    std::array::from_fn(|verb| called[verb].then_some(faults[verb]))
}

/// How combinations went.
#[derive(Debug)]
pub(crate) struct Tally<C, S> {
    pub(crate) played: usize,
    /// Those that broke a promise.
    pub(crate) broken: Vec<(C, Vec<Promise>, S)>,
}

impl<C: fmt::Debug, S: fmt::Debug> Tally<C, S> {
    pub(crate) fn new() -> Self {
        Self { played: 0, broken: Vec::new() }
    }

    pub(crate) fn add(&mut self, combination: C, broken: Vec<Promise>, seen: S) {
        self.played += 1;
        if !broken.is_empty() {
            self.broken.push((combination, broken, seen));
        }
    }

    /// Fails with the first combinations that broke a promise, and where fewer were told apart than there must be.
    pub(crate) fn keeps_every_promise(&self, at_least: usize) {
        assert!(self.played >= at_least, "only {} combinations were told apart", self.played);
        let (broken, played) = (self.broken.len(), self.played);
        assert!(broken == 0, "{broken} of {played} combinations broke a promise: {:#?}", self.broken.iter().take(2));
    }
}
