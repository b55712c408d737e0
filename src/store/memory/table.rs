//! The records of a [`MemoryStore`](super::MemoryStore), and the verbs on them.

use std::{
    collections::{BTreeSet, HashMap},
    error::Error,
    fmt,
    time::Duration,
};

use tokio::time::Instant;

use super::record::{Record, State, later};
use crate::store::{ClaimRequest, Claimed, Found, Held, Outcome, ScopedKey, Status, StoreError, Token, clock::Clock};

pub(super) struct Table {
    pub(super) max_records: usize,
    pub(super) max_bytes: usize,
    clock: Clock,
    /// Of the claim granted last. Never goes back, whatever becomes of the records.
    fence: u64,
    records: HashMap<ScopedKey, Record>,
    /// Each record once, those whose retention ends soonest first.
    expiries: BTreeSet<(Instant, ScopedKey)>,
    /// What all records count for.
    bytes: usize,
}

/// The verbs, each under the store's lock.
impl Table {
    pub(super) fn claim(&mut self, request: &ClaimRequest) -> Result<Claimed, StoreError> {
        let now = Instant::now();
        match self.find(request, now) {
            Found::Absent => {
                // It may be there still, past its retention; a new record must not follow on from it.
                self.remove(&request.key);
                self.grant(request, now)
            }
            Found::Lapsed => self.grant(request, now),
            Found::Done(response) => Ok(Claimed::Done(response)),
            Found::InFlight { lease_left } => Ok(Claimed::InFlight { lease_left }),
            Found::Mismatch(differs) => Ok(Claimed::Mismatch(differs)),
            Found::NotReplayable(status) => Ok(Claimed::NotReplayable(status)),
        }
    }

    pub(super) fn lookup(&self, request: &ClaimRequest) -> Found {
        self.find(request, Instant::now())
    }

    pub(super) fn renew(&mut self, token: &Token, lease: Duration) -> Held {
        let now = Instant::now();
        let Some(record) = self.held_by(token, now).filter(|record| record.is_running()) else { return Held::No };
        let renewed = Record { state: State::Running { lease_end: later(now, lease) }, ..record.clone() };
        self.insert(renewed);
        Held::Yes
    }

    pub(super) fn complete(&mut self, token: &Token, outcome: Outcome) -> Result<Held, StoreError> {
        let now = Instant::now();
        let at = self.clock.now();
        let Some(record) = self.held_by(token, now) else { return Ok(Held::No) };
        match &record.state {
            State::Finished { outcome: recorded, .. } if *recorded == outcome => Ok(Held::Yes),
            State::Finished { .. } => Ok(Held::No),
            State::Running { .. } => {
                let finished = Record { state: State::Finished { end: now, at, outcome }, ..record.clone() };
                self.admit(finished, now)?;
                Ok(Held::Yes)
            }
        }
    }

    pub(super) fn release(&mut self, token: &Token) -> Held {
        let running = self.held_by(token, Instant::now()).is_some_and(Record::is_running);
        self.remove_if(running, token.key())
    }

    pub(super) fn status(&self, key: &ScopedKey) -> Status {
        let now = Instant::now();
        match self.retained(key, now).map(|record| (record.since, &record.state)) {
            None => Status::Unknown,
            Some((since, State::Running { lease_end })) if *lease_end > now => Status::InProgress { since },
            Some((since, State::Running { .. })) => Status::Lapsed { since },
            Some((_, State::Finished { at, outcome, .. })) => {
                let (status, replayable) = match outcome {
                    Outcome::Response(response) => (response.status, true),
                    Outcome::NotReplayable(status) => (*status, false),
                };
                Status::Done { status, at: *at, replayable }
            }
        }
    }

    pub(super) fn force_release(&mut self, key: &ScopedKey) -> Held {
        let running = self.retained(key, Instant::now()).is_some_and(Record::is_running);
        self.remove_if(running, key)
    }

    pub(super) fn forget(&mut self, key: &ScopedKey) -> Held {
        let retained = self.retained(key, Instant::now()).is_some();
        self.remove_if(retained, key)
    }

    pub(super) fn purge(&mut self, batch: u32) -> u64 {
        let now = Instant::now();
        (0..batch).take_while(|_| self.drop_expired(now)).count() as u64
    }
}

/// Looking and judging (rule 2 of the contract).
impl Table {
    fn find(&self, request: &ClaimRequest, now: Instant) -> Found {
        let Some(record) = self.retained(&request.key, now) else { return Found::Absent };
        if let Some(differs) = request.fingerprint.differs_from(&record.fingerprint) {
            return Found::Mismatch(differs);
        }
        match &record.state {
            State::Finished { outcome: Outcome::Response(response), .. } => Found::Done(response.clone()),
            State::Finished { outcome: Outcome::NotReplayable(status), .. } => Found::NotReplayable(*status),
            State::Running { lease_end } => match lease_end.duration_since(now) {
                Duration::ZERO => Found::Lapsed,
                lease_left => Found::InFlight { lease_left },
            },
        }
    }

    /// The key's record, unless it is past its retention.
    fn retained(&self, key: &ScopedKey, now: Instant) -> Option<&Record> {
        self.records.get(key).filter(|record| record.expiry() > now)
    }

    fn held_by(&self, token: &Token, now: Instant) -> Option<&Record> {
        // Tokens are equal if key, fence and holder are.
        self.retained(token.key(), now).filter(|record| record.token == *token)
    }

    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

/// Changing records. Each change is an `insert` or a `remove`, so that index and byte count stay right.
impl Table {
    pub(super) fn new(max_records: usize, max_bytes: usize) -> Self {
        Self {
            max_records,
            max_bytes,
            clock: Clock::sample(),
            fence: 0,
            records: HashMap::new(),
            expiries: BTreeSet::new(),
            bytes: 0,
        }
    }

    fn grant(&mut self, request: &ClaimRequest, now: Instant) -> Result<Claimed, StoreError> {
        let attempt = self.records.get(&request.key).map_or(0, |lapsed| lapsed.attempt).saturating_add(1);
        self.fence += 1;
        let token = Token::new(request.key.clone(), self.fence);
        let record = Record {
            token: token.clone(),
            fingerprint: request.fingerprint,
            retention: request.retention,
            attempt,
            since: self.clock.now(),
            state: State::Running { lease_end: later(now, request.lease) },
        };
        self.admit(record, now)?;
        Ok(Claimed::Acquired { token, attempt })
    }

    /// Puts the record in the place of the one its key has now, once there is room for what it adds.
    fn admit(&mut self, record: Record, now: Instant) -> Result<(), StoreError> {
        let (more_records, more_bytes) = match self.records.get(record.token.key()) {
            Some(before) => (0, record.bytes().saturating_sub(before.bytes())),
            None => (1, record.bytes()),
        };
        if more_records > self.max_records || more_bytes > 0 && record.bytes() > self.max_bytes {
            return Err(StoreError::permanent(NoRoom::EvenIfEmpty));
        }
        // Limits may have been lowered since: what adds nothing is never refused.
        while more_records > 0 && self.records.len() + more_records > self.max_records
            || more_bytes > 0 && self.bytes + more_bytes > self.max_bytes
        {
            if !self.drop_expired(now) {
                return Err(StoreError::transient(NoRoom::Now { records: self.records.len(), bytes: self.bytes }));
            }
        }
        self.insert(record);
        Ok(())
    }

    /// Drops the record whose retention ended first; false if none has ended.
    fn drop_expired(&mut self, now: Instant) -> bool {
        let Some((expiry, key)) = self.expiries.first() else { return false };
        if *expiry > now {
            return false;
        }
        let key = key.clone();
        self.remove(&key);
        true
    }

    fn remove_if(&mut self, found: bool, key: &ScopedKey) -> Held {
        if !found {
            return Held::No;
        }
        self.remove(key);
        Held::Yes
    }

    fn insert(&mut self, record: Record) {
        let key = record.token.key().clone();
        self.remove(&key);
        self.bytes += record.bytes();
        self.expiries.insert((record.expiry(), key.clone()));
        self.records.insert(key, record);
    }

    fn remove(&mut self, key: &ScopedKey) {
        if let Some((key, record)) = self.records.remove_entry(key) {
            self.bytes -= record.bytes();
            self.expiries.remove(&(record.expiry(), key));
        }
    }
}

/// Why a record was not admitted.
#[derive(Debug)]
enum NoRoom {
    /// Until records go past their retention.
    Now { records: usize, bytes: usize },
    /// The record is larger than the store.
    EvenIfEmpty,
}

impl fmt::Display for NoRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Now { records, bytes } => write!(f, "the store is full: {records} records, {bytes} bytes"),
            Self::EvenIfEmpty => f.write_str("the record is larger than the store"),
        }
    }
}

impl Error for NoRoom {}
