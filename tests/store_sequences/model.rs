//! What a store is to answer, judged plainly: one map, one clock, no index, no tokens but their numbers.

use std::collections::BTreeMap;

/// An answer, of the model or of a store. Times are milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Granted { attempt: u32 },
    Absent,
    Lapsed,
    InFlight { left: u64 },
    Ended(u8),
    Mismatch,
    Held(bool),
    Unknown,
    InProgress { since: u64 },
    LapsedRun { since: u64 },
    Done { at: u64, how: u8 },
}

/// The number of a grant, and the key that it was for; a forged token has no number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Holder {
    pub(crate) key: u8,
    pub(crate) grant: Option<usize>,
}

#[derive(Default)]
pub(crate) struct Model {
    pub(crate) now: u64,
    pub(crate) grants: usize,
    records: BTreeMap<u8, Record>,
    /// How many of the records past their retention a purge has deleted already: at least, and at most. A purge may
    /// begin with any of them.
    purged: (u64, u64),
}

#[derive(Clone, Copy)]
struct Record {
    grant: usize,
    body: u8,
    attempt: u32,
    claimed: u64,
    lease_end: u64,
    retention: u64,
    ended: Option<(u64, u8)>,
}

impl Record {
    fn expiry(&self) -> u64 {
        self.ended.map_or(self.lease_end, |(at, _)| at) + self.retention
    }
}

impl Model {
    pub(crate) fn claim(&mut self, key: u8, body: u8, lease: u64, retention: u64) -> Answer {
        let attempt = match self.lookup(key, body) {
            Answer::Absent => 1,
            Answer::Lapsed => self.records[&key].attempt + 1,
            refused => return refused,
        };
        if attempt == 1 {
            self.bury(key);
        }
        let (grant, claimed, lease_end) = (self.grants, self.now, self.now + lease);
        self.grants += 1;
        self.records.insert(key, Record { grant, body, attempt, claimed, lease_end, retention, ended: None });
        Answer::Granted { attempt }
    }

    pub(crate) fn lookup(&self, key: u8, body: u8) -> Answer {
        match self.record(key) {
            None => Answer::Absent,
            Some(record) if record.body != body => Answer::Mismatch,
            Some(Record { ended: Some((_, how)), .. }) => Answer::Ended(*how),
            Some(record) if record.lease_end <= self.now => Answer::Lapsed,
            Some(record) => Answer::InFlight { left: record.lease_end - self.now },
        }
    }

    pub(crate) fn renew(&mut self, holder: Holder, lease: u64) -> Answer {
        let lease_end = self.now + lease;
        let running = self.held(holder).filter(|record| record.ended.is_none());
        Answer::Held(running.map(|record| record.lease_end = lease_end).is_some())
    }

    pub(crate) fn complete(&mut self, holder: Holder, how: u8) -> Answer {
        let now = self.now;
        Answer::Held(self.held(holder).is_some_and(|record| record.ended.get_or_insert((now, how)).1 == how))
    }

    pub(crate) fn release(&mut self, holder: Holder) -> Answer {
        let running = self.held(holder).is_some_and(|record| record.ended.is_none());
        Answer::Held(running && self.records.remove(&holder.key).is_some())
    }

    pub(crate) fn status(&self, key: u8) -> Answer {
        match self.record(key) {
            None => Answer::Unknown,
            Some(Record { ended: Some((at, how)), .. }) => Answer::Done { at: *at, how: *how },
            Some(record) if record.lease_end <= self.now => Answer::LapsedRun { since: record.claimed },
            Some(record) => Answer::InProgress { since: record.claimed },
        }
    }

    pub(crate) fn force_release(&mut self, key: u8) -> Answer {
        let running = self.record(key).is_some_and(|record| record.ended.is_none());
        Answer::Held(running && self.records.remove(&key).is_some())
    }

    pub(crate) fn forget(&mut self, key: u8) -> Answer {
        let found = self.record(key).is_some();
        Answer::Held(found && self.records.remove(&key).is_some())
    }

    /// Whether so many may have been purged.
    pub(crate) fn purge(&mut self, batch: u64, answered: u64) -> bool {
        let dead = self.dead().count() as u64;
        let (least, most) = (dead - self.purged.1, dead - self.purged.0);
        if answered < batch {
            let now = self.now;
            self.records.retain(|_, record| record.expiry() > now);
            self.purged = (0, 0);
        } else {
            self.purged = (self.purged.0 + answered, dead.min(self.purged.1 + answered));
        }
        (least.min(batch)..=most.min(batch)).contains(&answered)
    }

    /// When the answer to some question changes next, soonest first.
    pub(crate) fn edges(&self) -> Vec<u64> {
        let ends = self.records.values().flat_map(|record| [record.lease_end, record.expiry()]);
        let mut edges: Vec<u64> = ends.filter(|edge| *edge > self.now).collect();
        edges.sort_unstable();
        edges
    }

    fn record(&self, key: u8) -> Option<&Record> {
        self.records.get(&key).filter(|record| record.expiry() > self.now)
    }

    fn held(&mut self, holder: Holder) -> Option<&mut Record> {
        let now = self.now;
        let record = self.records.get_mut(&holder.key).filter(|record| record.expiry() > now);
        record.filter(|record| Some(record.grant) == holder.grant)
    }

    fn dead(&self) -> impl Iterator<Item = &Record> {
        self.records.values().filter(|record| record.expiry() <= self.now)
    }

    /// A record past its retention makes room for a new one; it may be purged or not.
    fn bury(&mut self, key: u8) {
        if self.records.remove(&key).is_some() {
            let dead = self.dead().count() as u64;
            self.purged = (self.purged.0.saturating_sub(1), dead.min(self.purged.1));
        }
    }
}
