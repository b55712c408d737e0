//! A store as one might write it first, with one guard missing: what the promises are there to find.
//!
//! Without a flaw it keeps them all, so it is the missing guard that a failure shows. It scans, and keeps everything.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard},
    time::{Duration, SystemTime},
};

use tokio::time::Instant;
use tower_idempotency::{
    Store,
    store::{ClaimRequest, Claimed, Found, Held, Outcome, ScopedKey, Status, StoreError, Token},
};

use crate::Fixture;

/// The guard that is missing.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// None is.
    Nothing,
    /// A token is its fence.
    HoldersAreNotCompared,
    /// A new record starts again at fence 1, and a token is its fence: the articles' design.
    FencesStartAgain,
    /// A release goes by the key.
    AnyoneReleases,
    /// A live lease is judged before the fingerprint.
    InFlightComesFirst,
    /// A key is free when its record is past its retention, not when its lease has lapsed.
    LeasesLastForTheRetention,
    /// The retention counts from the claim.
    RetentionCountsFromTheClaim,
    /// A completion overwrites what is finished.
    CompletionsOverwrite,
    /// A repeated completion finds nothing unfinished.
    CompletionsCountOnce,
    /// A record past its retention counts until a purge deletes it.
    OnlyPurgesExpire,
    /// A claim looks and grants in two steps.
    ClaimsAreTwoSteps,
}

#[derive(Clone)]
pub(crate) struct NaiveStore {
    flaw: Flaw,
    rows: Arc<Mutex<Rows>>,
}

struct Rows {
    flaw: Flaw,
    opened: (SystemTime, Instant),
    last_fence: u64,
    rows: BTreeMap<ScopedKey, Row>,
}

#[derive(Clone)]
struct Row {
    token: Token,
    request: ClaimRequest,
    attempt: u32,
    claimed: Instant,
    lease_end: Instant,
    finished: Option<(Instant, Outcome)>,
}

impl NaiveStore {
    pub(crate) fn with(flaw: Flaw) -> Self {
        let opened = (SystemTime::UNIX_EPOCH, Instant::now());
        Self { flaw, rows: Arc::new(Mutex::new(Rows { flaw, opened, last_fence: 0, rows: BTreeMap::new() })) }
    }

    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap()
    }
}

impl Store for NaiveStore {
    async fn claim(&self, request: &ClaimRequest) -> Result<Claimed, StoreError> {
        if self.flaw == Flaw::ClaimsAreTwoSteps {
            let found = self.rows().find(request);
            tokio::task::yield_now().await;
            return Ok(self.rows().answer(found, request));
        }
        let mut rows = self.rows();
        let found = rows.find(request);
        Ok(rows.answer(found, request))
    }

    async fn lookup(&self, request: &ClaimRequest) -> Result<Found, StoreError> {
        Ok(self.rows().find(request))
    }

    async fn renew(&self, token: &Token, lease: Duration) -> Result<Held, StoreError> {
        let mut rows = self.rows();
        let running = rows.held_by(token).filter(|row| row.finished.is_none());
        Ok(rows.put(running.map(|row| Row { lease_end: end_of(lease), ..row })))
    }

    async fn complete(&self, token: &Token, outcome: Outcome) -> Result<Held, StoreError> {
        let mut rows = self.rows();
        let Some(row) = rows.held_by(token) else { return Ok(Held::No) };
        Ok(match &row.finished {
            Some(_) if self.flaw == Flaw::CompletionsCountOnce => Held::No,
            Some((_, recorded)) if *recorded == outcome => Held::Yes,
            Some(_) if self.flaw != Flaw::CompletionsOverwrite => Held::No,
            _ => rows.put(Some(Row { finished: Some((Instant::now(), outcome)), ..row })),
        })
    }

    async fn release(&self, token: &Token) -> Result<Held, StoreError> {
        let mut rows = self.rows();
        let row = if self.flaw == Flaw::AnyoneReleases { rows.row(token.key()) } else { rows.held_by(token) };
        Ok(rows.delete(row.filter(|row| row.finished.is_none())))
    }

    async fn status(&self, key: &ScopedKey) -> Result<Status, StoreError> {
        let rows = self.rows();
        let shown = |at: Instant| rows.opened.0 + at.duration_since(rows.opened.1);
        Ok(match rows.row(key) {
            None => Status::Unknown,
            Some(Row { finished: Some((end, outcome)), .. }) => match outcome {
                Outcome::Response(it) => Status::Done { status: it.status, at: shown(end), replayable: true },
                Outcome::NotReplayable(status) => Status::Done { status, at: shown(end), replayable: false },
            },
            Some(row) if row.lease_end <= Instant::now() => Status::Lapsed { since: shown(row.claimed) },
            Some(row) => Status::InProgress { since: shown(row.claimed) },
        })
    }

    async fn force_release(&self, key: &ScopedKey) -> Result<Held, StoreError> {
        let mut rows = self.rows();
        let running = rows.row(key).filter(|row| row.finished.is_none());
        Ok(rows.delete(running))
    }

    async fn forget(&self, key: &ScopedKey) -> Result<Held, StoreError> {
        let mut rows = self.rows();
        let row = rows.row(key);
        Ok(rows.delete(row))
    }

    async fn purge(&self, batch: u32) -> Result<u64, StoreError> {
        let mut rows = self.rows();
        let expired = rows.rows.values().filter(|row| rows.expired(row)).take(batch as usize);
        let expired: Vec<Row> = expired.cloned().collect();
        Ok(expired.into_iter().map(|row| rows.delete(Some(row))).count() as u64)
    }
}

impl Rows {
    fn has(&self, flaw: Flaw) -> bool {
        self.flaw == flaw
    }

    fn find(&self, request: &ClaimRequest) -> Found {
        let Some(row) = self.row(&request.key) else { return Found::Absent };
        let lease_left = row.lease_end.duration_since(Instant::now());
        if self.has(Flaw::InFlightComesFirst) && row.finished.is_none() && !lease_left.is_zero() {
            return Found::InFlight { lease_left };
        }
        if let Some(differs) = request.fingerprint.differs_from(&row.request.fingerprint) {
            return Found::Mismatch(differs);
        }
        match row.finished {
            Some((_, Outcome::Response(response))) => Found::Done(response),
            Some((_, Outcome::NotReplayable(status))) => Found::NotReplayable(status),
            None if lease_left.is_zero() && !self.has(Flaw::LeasesLastForTheRetention) => Found::Lapsed,
            None => Found::InFlight { lease_left },
        }
    }

    fn answer(&mut self, found: Found, request: &ClaimRequest) -> Claimed {
        match found {
            Found::Absent | Found::Lapsed => self.grant(request),
            Found::Done(response) => Claimed::Done(response),
            Found::InFlight { lease_left } => Claimed::InFlight { lease_left },
            Found::Mismatch(differs) => Claimed::Mismatch(differs),
            Found::NotReplayable(status) => Claimed::NotReplayable(status),
        }
    }

    fn grant(&mut self, request: &ClaimRequest) -> Claimed {
        let passed = self.row(&request.key);
        self.last_fence = match &passed {
            Some(row) if self.has(Flaw::FencesStartAgain) => row.token.fence() + 1,
            None if self.has(Flaw::FencesStartAgain) => 1,
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

    fn row(&self, key: &ScopedKey) -> Option<Row> {
        let row = self.rows.get(key).cloned();
        row.filter(|row| self.has(Flaw::OnlyPurgesExpire) || !self.expired(row))
    }

    fn held_by(&self, token: &Token) -> Option<Row> {
        let fence_is_enough = self.has(Flaw::HoldersAreNotCompared) || self.has(Flaw::FencesStartAgain);
        self.row(token.key()).filter(|row| row.token == *token || fence_is_enough && row.token.fence() == token.fence())
    }

    fn expired(&self, row: &Row) -> bool {
        let from = match &row.finished {
            _ if self.has(Flaw::RetentionCountsFromTheClaim) => row.claimed,
            Some((end, _)) => *end,
            None => row.lease_end,
        };
        from.checked_add(row.request.retention).is_some_and(|expiry| expiry <= Instant::now())
    }

    fn put(&mut self, row: Option<Row>) -> Held {
        let Some(row) = row else { return Held::No };
        self.rows.insert(row.token.key().clone(), row);
        Held::Yes
    }

    fn delete(&mut self, row: Option<Row>) -> Held {
        let Some(row) = row else { return Held::No };
        self.rows.remove(row.token.key());
        Held::Yes
    }
}

/// The store without a flaw; `wrong` makes those with one.
pub(crate) struct Naive(pub(crate) NaiveStore);

impl Fixture for Naive {
    type Store = NaiveStore;

    async fn fresh() -> Self {
        Self(NaiveStore::with(Flaw::Nothing))
    }

    fn store(&self) -> &NaiveStore {
        &self.0
    }
}

fn end_of(duration: Duration) -> Instant {
    Instant::now() + duration.min(Duration::from_hours(24 * 365 * 100))
}
