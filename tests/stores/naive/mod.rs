//! A store as one might write it first, with one guard missing: what the promises are there to find.
//!
//! Without a flaw it keeps them all, so it is the missing guard that a failure shows. It scans, and keeps everything.

use std::{
    fmt,
    mem::discriminant,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use tokio::{
    sync::{Mutex as Lock, OwnedMutexGuard},
    task::yield_now,
    time::Instant,
};
use tower_idempotency::{
    Store,
    store::{ClaimRequest, Claimed, Found, Held, Outcome, ScopedKey, Status, StoreError, Token},
};

use self::rows::{Row, Rows, end_of};

mod rows;

/// The guard that is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// None is.
    Nothing,
    /// A claim looks and grants in two steps.
    ClaimsAreTwoSteps,
    /// A claim that finds the record changed since it looked is an error.
    LostRacesAreErrors,
    /// A completion looks and writes in two steps.
    CompletionsAreTwoSteps,
    /// A purge looks and deletes in two steps.
    PurgesAreTwoSteps,
    /// A live lease is judged before the fingerprint.
    InFlightComesFirst,
    /// A live lease is taken over.
    LeasesDoNotHold,
    /// A key is free when its record is past its retention, not when its lease has lapsed.
    LeasesLastForTheRetention,
    /// The retention counts from the claim.
    RetentionCountsFromTheClaim,
    /// A record past its retention counts until a purge deletes it.
    OnlyPurgesExpire,
    /// A purge deletes what has lapsed.
    PurgesTakeLapsedRecords,
    /// A token is its fence.
    HoldersAreNotCompared,
    /// A token is its holder's key: whoever was passed still holds it.
    PassedHoldersHold,
    /// A release goes by the key.
    AnyoneReleases,
    /// A lapsed lease is not renewed, though nobody took over.
    LapsedHoldersAreGone,
    /// A completion overwrites what is finished.
    CompletionsOverwrite,
    /// A repeated completion finds nothing unfinished.
    CompletionsCountOnce,
    /// Whatever was asked, a claim takes the write lock first.
    ReplaysTakeTheWriteLock,
    /// A claim waits for the lock of a record.
    LockedRecordsAreWaitedFor,
    /// To renew or release a locked record is to hold nothing.
    LockedRecordsAreNotHeld,
    /// A failure that will not pass is told as one that may.
    EveryFailureIsTransient,
    /// A failure that passes is told as one that will not.
    EveryFailureIsPermanent,
    /// A status shows the host's time.
    TimesAreTheHosts,
    /// A new record starts again at fence 1.
    FencesStartAgain,
    /// A new record starts again at fence 1, and a token is its fence: the articles' design.
    TokensStartAgain,
}

#[derive(Clone)]
pub(crate) struct NaiveStore {
    flaw: Flaw,
    rows: Arc<Mutex<Rows>>,
    /// Taken by whatever writes.
    write_lock: Arc<Lock<()>>,
}

/// How a claim of a new key fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fails {
    ForNow,
    ForGood,
}

impl NaiveStore {
    pub(crate) fn with(flaw: Flaw) -> Self {
        Self { flaw, rows: Arc::new(Mutex::new(Rows::new(flaw))), write_lock: Arc::default() }
    }

    pub(crate) async fn lock_writes(&self) -> OwnedMutexGuard<()> {
        Arc::clone(&self.write_lock).lock_owned().await
    }

    pub(crate) fn lock_record(&self, key: &ScopedKey) {
        self.rows().locked.insert(key.clone());
    }

    pub(crate) fn unlock_records(&self) {
        self.rows().locked.clear();
    }

    pub(crate) fn fail(&self, fails: Option<Fails>) {
        self.rows().fails = fails;
    }

    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap()
    }
}

impl Store for NaiveStore {
    async fn claim(&self, request: &ClaimRequest) -> Result<Claimed, StoreError> {
        if self.flaw == Flaw::ReplaysTakeTheWriteLock {
            drop(self.lock_writes().await);
        }
        while self.flaw == Flaw::LockedRecordsAreWaitedFor && self.rows().locked.contains(&request.key) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        if self.flaw == Flaw::ClaimsAreTwoSteps {
            let found = self.rows().find(request);
            yield_now().await;
            return self.rows().answer(found, request);
        }
        if self.flaw == Flaw::LostRacesAreErrors {
            let found = discriminant(&self.rows().find(request));
            yield_now().await;
            if discriminant(&self.rows().find(request)) != found {
                return Err(StoreError::transient("the record has changed"));
            }
        }
        let mut rows = self.rows();
        let found = rows.find(request);
        rows.answer(found, request)
    }

    async fn lookup(&self, request: &ClaimRequest) -> Result<Found, StoreError> {
        Ok(self.rows().find(request))
    }

    async fn renew(&self, token: &Token, lease: Duration) -> Result<Held, StoreError> {
        let mut rows = self.rows();
        let running = rows.held_by(token).filter(|row| row.finished.is_none());
        let gone = |row: &Row| self.flaw == Flaw::LapsedHoldersAreGone && row.lease_end <= Instant::now();
        let renewed = running.filter(|row| !gone(row)).map(|row| Row { lease_end: end_of(lease), ..row });
        rows.told_of_a_lock(token).unwrap_or_else(|| Ok(rows.put(renewed)))
    }

    async fn complete(&self, token: &Token, outcome: Outcome) -> Result<Held, StoreError> {
        let held = self.rows().held_by(token);
        if self.flaw == Flaw::CompletionsAreTwoSteps {
            yield_now().await;
        }
        let mut rows = self.rows();
        let current = if self.flaw == Flaw::CompletionsAreTwoSteps { held } else { rows.held_by(token) };
        let Some(row) = current else { return Ok(Held::No) };
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
        let running = row.filter(|row| row.finished.is_none());
        rows.told_of_a_lock(token).unwrap_or_else(|| Ok(rows.delete(running)))
    }

    async fn status(&self, key: &ScopedKey) -> Result<Status, StoreError> {
        let rows = self.rows();
        Ok(match rows.row(key) {
            None => Status::Unknown,
            Some(Row { finished: Some((end, outcome)), .. }) => match outcome {
                Outcome::Response(it) => Status::Done { status: it.status, at: rows.shown(end), replayable: true },
                Outcome::NotReplayable(status) => Status::Done { status, at: rows.shown(end), replayable: false },
            },
            Some(row) if row.lease_end <= Instant::now() => Status::Lapsed { since: rows.shown(row.claimed) },
            Some(row) => Status::InProgress { since: rows.shown(row.claimed) },
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
        let mut expired = self.rows().purged_by(batch);
        if self.flaw == Flaw::PurgesAreTwoSteps {
            yield_now().await;
        }
        let mut rows = self.rows();
        if self.flaw != Flaw::PurgesAreTwoSteps {
            expired = rows.purged_by(batch);
        }
        Ok(expired.into_iter().map(|row| rows.delete(Some(row))).count() as u64)
    }
}

impl fmt::Debug for NaiveStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NaiveStore({:?})", self.flaw)
    }
}
