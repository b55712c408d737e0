//! One group of jobs: one transaction, committed once, and only then answered.
//!
//! ```text
//! BEGIN IMMEDIATE ─▶ each job in a SAVEPOINT ─▶ COMMIT ─▶ answers
//!     │                   │ the transaction ended     │ constraint, full disk      │ I/O error: unknown
//!     ▼                   ▼                           ▼                            ▼
//!  all: transient     ──────── rolled back ────────────                       all: unknown
//!                     closures that ran: "rolled back"
//!                     verbs: again in one transaction, then each in its own
//! ```

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use rusqlite::Connection;
use tokio::time::Instant;
use uuid::Uuid;

use super::{
    error,
    job::{Ending, Job, Jobs, Step},
};
use crate::store::clock::Clock;

// No user writes these texts: a closure shares none of our cached statements.
const BEGIN: &str = "BEGIN IMMEDIATE -- tower-idempotency";
const COMMIT: &str = "COMMIT -- tower-idempotency";
const ROLLBACK: &str = "ROLLBACK -- tower-idempotency";

/// Runs groups on the writer's connection.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    clock: Clock,
    /// While this is set a COMMIT is not ours; the connection's commit hook, which takes the place of the
    /// application's, turns it into a rollback.
    in_job: Arc<AtomicBool>,
    savepoint: Arc<Savepoint>,
}

/// The savepoint of each job, under a name that no closure knows: one that ends the transaction and begins another, or
/// that releases what is not its own, cannot put it back in its place, and is found out when it is released.
#[derive(Debug)]
struct Savepoint {
    set: String,
    undo: String,
    release: String,
}

/// What one transaction left.
struct Round {
    ran: Jobs,
    /// Closures that were not run, for the next group.
    late: Jobs,
    ending: Ending,
    /// Whether the transaction began, so that running jobs again may help.
    begun: bool,
}

impl Groups {
    pub(super) fn new(clock: Clock) -> Self {
        Self { clock, in_job: Arc::default(), savepoint: Arc::new(Savepoint::new()) }
    }

    /// Runs the jobs and answers them. After `patience` no further closure is begun; those that are left are
    /// returned for the next group.
    pub(super) fn run(&self, connection: &Connection, jobs: Jobs, patience: Duration) -> Jobs {
        let first = self.round(connection, jobs, patience);
        if !matches!(first.ending, Ending::RolledBack(_)) || !first.begun {
            finish(first.ran, &first.ending);
            return first.late;
        }
        let (spent, verbs) = first.ran.into_iter().partition(|job| job.is_closure());
        finish(spent, &first.ending);
        self.run_again(connection, verbs);
        first.late
    }

    /// Nothing of these was acknowledged, and a verb can be run any number of times.
    fn run_again(&self, connection: &Connection, verbs: Jobs) {
        if verbs.is_empty() {
            return;
        }
        let second = self.round(connection, verbs, Duration::MAX);
        if !matches!(second.ending, Ending::RolledBack(_)) || !second.begun {
            return finish(second.ran, &second.ending);
        }
        // One of them, such as a response that finds the disk full, must not take the renewals with it.
        for verb in second.ran {
            let alone = self.round(connection, vec![verb], Duration::MAX);
            finish(alone.ran, &alone.ending);
        }
    }

    fn round(&self, connection: &Connection, jobs: Jobs, patience: Duration) -> Round {
        let (mut ran, mut late) = (Vec::with_capacity(jobs.len()), Vec::new());
        if let Err(error) = self.begin(connection) {
            let ending = Ending::RolledBack(Arc::new(error));
            return Round { ran: jobs, late, ending, begun: false };
        }
        let started = Instant::now();
        let mut ended = None;
        let mut closures = 0;
        for mut job in jobs {
            let closure = job.is_closure();
            if closure && (ended.is_some() || (closures > 0 && started.elapsed() >= patience)) {
                late.push(job);
                continue;
            }
            if ended.is_none() {
                closures += usize::from(closure);
                ended = self.step(connection, &mut *job, patience).err();
            }
            ran.push(job);
        }
        let ending = match ended {
            Some(error) => {
                roll_back(connection);
                Ending::RolledBack(Arc::new(error))
            }
            None => commit(connection),
        };
        Round { ran, late, ending, begun: true }
    }

    fn begin(&self, connection: &Connection) -> rusqlite::Result<()> {
        // Only a ROLLBACK that failed can have left one open.
        roll_back(connection);
        // For each group: a closure of the last one may have set a hook of its own.
        let in_job = Arc::clone(&self.in_job);
        connection.commit_hook(Some(move || in_job.load(Ordering::Relaxed)))?;
        control(connection, BEGIN)
    }

    /// Runs one job in its savepoint. An error means that the transaction no longer stands.
    fn step(&self, connection: &Connection, job: &mut dyn Job, patience: Duration) -> rusqlite::Result<()> {
        control(connection, &self.savepoint.set)?;
        let started = Instant::now();
        self.in_job.store(true, Ordering::Relaxed);
        let step = catch_unwind(AssertUnwindSafe(|| job.run(connection, &self.clock)));
        self.in_job.store(false, Ordering::Relaxed);
        let step = step.unwrap_or_else(|panic| {
            job.panicked(message_of(&*panic));
            Step::Undo
        });
        let took = started.elapsed();
        if let Some(token) = job.closure_of().filter(|_| took >= patience) {
            tracing::warn!(
                key = token.key().key(),
                ?took,
                "a commit closure held the writer for a third of a lease: renewals wait for it"
            );
        }
        if connection.is_autocommit() {
            return Err(error::ended_by_a_job());
        }
        if step == Step::Undo {
            control(connection, &self.savepoint.undo)?;
        }
        control(connection, &self.savepoint.release)
    }
}

impl Savepoint {
    fn new() -> Self {
        let name = format!("tower_idempotency_{}", Uuid::new_v4().simple());
        Self {
            set: format!("SAVEPOINT {name}"),
            undo: format!("ROLLBACK TO {name}"),
            release: format!("RELEASE {name}"),
        }
    }
}

fn commit(connection: &Connection) -> Ending {
    match control(connection, COMMIT) {
        Ok(()) => Ending::Committed,
        Err(error) => {
            roll_back(connection);
            if error::surely_rolled_back(&error) {
                Ending::RolledBack(Arc::new(error))
            } else {
                tracing::error!(error = &error as &dyn std::error::Error, "a commit failed: its outcome is unknown");
                Ending::Unknown(Arc::new(error))
            }
        }
    }
}

fn roll_back(connection: &Connection) {
    if connection.is_autocommit() {
        return;
    }
    if let Err(error) = control(connection, ROLLBACK) {
        tracing::error!(error = &error as &dyn std::error::Error, "a rollback failed");
    }
}

fn control(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}

fn finish(jobs: Jobs, ending: &Ending) {
    for job in jobs {
        // What is dropped here is the caller's, and may panic: the writer and the other answers go on.
        if catch_unwind(AssertUnwindSafe(|| job.finish(ending))).is_err() {
            tracing::error!("dropping what a commit closure left panicked");
        }
    }
}

fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a message").to_owned()
}
