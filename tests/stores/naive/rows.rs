//! The rows of the naive store, and how they are judged.

use std::{
    collections::{BTreeMap, HashSet},
    time::{Duration, SystemTime},
};

use tokio::time::Instant;
use tower_idempotency::store::{ClaimRequest, Claimed, Found, Held, Outcome, ScopedKey, StoreError, Token};

use super::{Fails, Flaw};

pub(super) struct Rows {
    pub(super) flaw: Flaw,
    pub(super) opened: (SystemTime, Instant),
    pub(super) last_fence: u64,
    pub(super) rows: BTreeMap<ScopedKey, Row>,
    pub(super) locked: HashSet<ScopedKey>,
    pub(super) fails: Option<Fails>,
}

#[derive(Clone)]
pub(super) struct Row {
    pub(super) token: Token,
    pub(super) request: ClaimRequest,
    pub(super) attempt: u32,
    pub(super) claimed: Instant,
    pub(super) lease_end: Instant,
    pub(super) finished: Option<(Instant, Outcome)>,
}

impl Rows {
    pub(super) fn new(flaw: Flaw) -> Self {
        let opened = (SystemTime::UNIX_EPOCH, Instant::now());
        Self { flaw, opened, last_fence: 0, rows: BTreeMap::new(), locked: HashSet::new(), fails: None }
    }

    fn has(&self, flaw: Flaw) -> bool {
        self.flaw == flaw
    }

    pub(super) fn find(&self, request: &ClaimRequest) -> Found {
        let Some(row) = self.row(&request.key) else { return Found::Absent };
        let lease_left = row.lease_end.duration_since(Instant::now());
        let in_flight = row.finished.is_none() && !lease_left.is_zero() && !self.locked.contains(&request.key);
        if self.has(Flaw::InFlightComesFirst) && in_flight {
            return Found::InFlight { lease_left };
        }
        if let Some(differs) = request.fingerprint.differs_from(&row.request.fingerprint) {
            return Found::Mismatch(differs);
        }
        match row.finished {
            Some((_, Outcome::Response(response))) => Found::Done(response),
            Some((_, Outcome::NotReplayable(status))) => Found::NotReplayable(status),
            None if self.locked.contains(&request.key) => Found::InFlight { lease_left: Duration::ZERO },
            None if self.has(Flaw::LeasesDoNotHold) => Found::Lapsed,
            None if lease_left.is_zero() && !self.has(Flaw::LeasesLastForTheRetention) => Found::Lapsed,
            None => Found::InFlight { lease_left },
        }
    }

    pub(super) fn answer(&mut self, found: Found, request: &ClaimRequest) -> Result<Claimed, StoreError> {
        Ok(match found {
            Found::Absent if self.fails.is_some() => return Err(self.failed()),
            Found::Absent | Found::Lapsed => self.grant(request),
            Found::Done(response) => Claimed::Done(response),
            Found::InFlight { lease_left } => Claimed::InFlight { lease_left },
            Found::Mismatch(differs) => Claimed::Mismatch(differs),
            Found::NotReplayable(status) => Claimed::NotReplayable(status),
        })
    }

    fn failed(&self) -> StoreError {
        let passes = self.fails == Some(Fails::ForNow) && !self.has(Flaw::EveryFailureIsPermanent);
        if passes || self.has(Flaw::EveryFailureIsTransient) {
            StoreError::transient("no room")
        } else {
            StoreError::permanent("no table")
        }
    }

    /// The answer to a verb that would change a locked record.
    pub(super) fn told_of_a_lock(&self, token: &Token) -> Option<Result<Held, StoreError>> {
        self.locked.contains(token.key()).then(|| match self.flaw {
            Flaw::LockedRecordsAreNotHeld => Ok(Held::No),
            _ => Err(StoreError::transient("the record is locked")),
        })
    }

    fn grant(&mut self, request: &ClaimRequest) -> Claimed {
        let starts_again = self.has(Flaw::FencesStartAgain) || self.has(Flaw::TokensStartAgain);
        let passed = self.row(&request.key);
        self.last_fence = match &passed {
            Some(row) if starts_again => row.token.fence() + 1,
            None if starts_again => 1,
            _ => self.last_fence + 1,
        };
        let token = Token::new(request.key.clone(), self.last_fence);
        let attempt = passed.map_or(1, |row| row.attempt + 1);
        let _ = self.put(Some(Row {
            token: token.clone(),
            request: request.clone(),
            attempt,
            claimed: Instant::now(),
            lease_end: end_of(request.lease),
            finished: None,
        }));
        Claimed::Acquired { token, attempt }
    }

    pub(super) fn row(&self, key: &ScopedKey) -> Option<Row> {
        let row = self.rows.get(key).cloned();
        row.filter(|row| self.has(Flaw::OnlyPurgesExpire) || !self.expired(row))
    }

    pub(super) fn held_by(&self, token: &Token) -> Option<Row> {
        let fence_is_enough = self.has(Flaw::HoldersAreNotCompared) || self.has(Flaw::TokensStartAgain);
        self.row(token.key()).filter(|row| {
            row.token == *token
                || fence_is_enough && row.token.fence() == token.fence()
                || self.has(Flaw::PassedHoldersHold) && row.token.fence() > token.fence()
        })
    }

    fn expired(&self, row: &Row) -> bool {
        let from = match &row.finished {
            _ if self.has(Flaw::RetentionCountsFromTheClaim) => row.claimed,
            Some((end, _)) => *end,
            None => row.lease_end,
        };
        from.checked_add(row.request.retention).is_some_and(|expiry| expiry <= Instant::now())
    }

    #[expect(clippy::disallowed_methods, reason = "the flaw is to read the host's clock")]
    pub(super) fn shown(&self, at: Instant) -> SystemTime {
        if self.has(Flaw::TimesAreTheHosts) {
            SystemTime::now()
        } else {
            self.opened.0 + at.duration_since(self.opened.1)
        }
    }

    pub(super) fn purged_by(&self, batch: u32) -> Vec<Row> {
        let lapsed = |row: &Row| row.finished.is_none() && row.lease_end <= Instant::now();
        let takes = |row: &&Row| self.expired(row) || self.has(Flaw::PurgesTakeLapsedRecords) && lapsed(row);
        self.rows.values().filter(takes).take(batch as usize).cloned().collect()
    }

    pub(super) fn put(&mut self, row: Option<Row>) -> Held {
        let Some(row) = row else { return Held::No };
        self.rows.insert(row.token.key().clone(), row);
        Held::Yes
    }

    pub(super) fn delete(&mut self, row: Option<Row>) -> Held {
        let Some(row) = row else { return Held::No };
        self.rows.remove(row.token.key());
        Held::Yes
    }
}

pub(super) fn end_of(duration: Duration) -> Instant {
    Instant::now() + duration.min(Duration::from_hours(24 * 365 * 100))
}
