//! How many jobs share a commit, and what that brings against one commit a job.
//!
//! `cargo bench --bench group_commit`
//!
//! Each caller claims a key and completes it, over and over: two jobs. The column *alone* is the same store on the same
//! file system, with one permit around each job, so that no two wait together. Read the ratios: the rest is the disk's.

use std::{
    future::Future,
    ops::AddAssign,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use futures_util::future::join_all;
use http::{HeaderMap, StatusCode};
use rusqlite::Connection;
use tokio::{sync::Semaphore, time::Instant};
use tower_idempotency::{
    IdempotencyKey, SqliteStore, Store,
    store::{ClaimRequest, Claimed, Fingerprint, Held, Outcome, ScopedKey, StoredResponse},
};

const CALLERS: [usize; 3] = [1, 16, 64];
const RUN: Duration = Duration::from_millis(400);
/// The two ways take turns, so that a slow moment of the machine meets both.
const TURNS: usize = 2;

/// Commits of the writer: the one connection that writes.
static COMMITS: AtomicUsize = AtomicUsize::new(0);

#[tokio::main]
async fn main() {
    println!(
        "{:>8} {:>13} {:>9} {:>13} {:>9} {:>7}",
        "callers", "jobs/commit", "jobs/s", "alone: j/c", "jobs/s", "ratio"
    );
    for callers in CALLERS {
        let (mut group, mut alone) = (Measured::default(), Measured::default());
        for _ in 0..TURNS {
            group += measure(callers, Semaphore::MAX_PERMITS).await;
            alone += measure(callers, 1).await;
        }
        println!(
            "{callers:>8} {:>13.1} {:>9.0} {:>13.1} {:>9.0} {:>7.2}",
            group.jobs_a_commit(),
            group.jobs_a_second(),
            alone.jobs_a_commit(),
            alone.jobs_a_second(),
            group.jobs_a_second() / alone.jobs_a_second(),
        );
    }
}

#[derive(Default)]
struct Measured {
    jobs: usize,
    commits: usize,
    took: Duration,
}

impl Measured {
    fn jobs_a_commit(&self) -> f64 {
        self.jobs as f64 / self.commits as f64
    }

    fn jobs_a_second(&self) -> f64 {
        self.jobs as f64 / self.took.as_secs_f64()
    }
}

impl AddAssign for Measured {
    fn add_assign(&mut self, other: Self) {
        self.jobs += other.jobs;
        self.commits += other.commits;
        self.took += other.took;
    }
}

/// Lets callers work on a new file, so many of their jobs at a time.
async fn measure(callers: usize, at_a_time: usize) -> Measured {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("keys.db");
    let store = SqliteStore::builder(file).with_set_up(count_commits).open().await.expect("a store");
    let permits = Arc::new(Semaphore::new(at_a_time));
    let before = COMMITS.load(Ordering::Relaxed);
    let started = Instant::now();
    let working = (0..callers).map(|caller| {
        let (store, permits) = (store.clone(), Arc::clone(&permits));
        tokio::spawn(async move { work(&store, &permits, caller, started + RUN).await })
    });
    let working: Vec<_> = working.collect();
    let jobs = join_all(working).await.into_iter().map(|jobs| jobs.expect("no panic")).sum();
    Measured { jobs, commits: COMMITS.load(Ordering::Relaxed) - before, took: started.elapsed() }
}

/// Claims and completes keys until then, and returns the number of jobs.
async fn work(store: &SqliteStore, permits: &Semaphore, caller: usize, until: Instant) -> usize {
    let body = Bytes::from_static(br#"{"report_id":1}"#);
    let response = StoredResponse { status: StatusCode::CREATED, headers: HeaderMap::new(), body };
    let mut jobs = 0;
    while Instant::now() < until {
        let request = request(&format!("{caller}-{jobs}"));
        let Ok(Claimed::Acquired { token, .. }) = permitted(permits, store.claim(&request)).await else {
            panic!("a new key is free")
        };
        let completed = permitted(permits, store.complete(&token, Outcome::Response(response.clone()))).await;
        assert_eq!(completed.expect("it is kept"), Held::Yes);
        jobs += 2;
    }
    jobs
}

async fn permitted<T>(permits: &Semaphore, job: impl Future<Output = T>) -> T {
    let _permit = permits.acquire().await.expect("never closed");
    job.await
}

fn request(key: &str) -> ClaimRequest {
    ClaimRequest {
        key: ScopedKey::new("", &IdempotencyKey::parse(key).expect("a key")),
        fingerprint: Fingerprint::of(b"POST /reports", b"application/json", b"{}"),
        lease: Duration::from_secs(10),
        retention: Duration::from_secs(24 * 60 * 60),
    }
}

/// The hook takes the place of SQLite's own checkpoints, and makes them as it does.
fn count_commits(connection: &Connection) -> rusqlite::Result<()> {
    const CHECKPOINT_AFTER_PAGES: i32 = 1000;
    connection.wal_hook(Some(|wal, pages| {
        COMMITS.fetch_add(1, Ordering::Relaxed);
        if pages >= CHECKPOINT_AFTER_PAGES { wal.checkpoint() } else { Ok(()) }
    }));
    Ok(())
}
