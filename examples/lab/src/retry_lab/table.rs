//! The table of jobs, in the database that holds the keys too.

use std::{path::Path, time::Duration};

use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use tokio::{task::yield_now, time::timeout};
use tower_idempotency::{SqliteStore, store::sqlite::OpenError};

use super::job::NewJob;

const SCHEMA: &str = "CREATE TABLE IF NOT EXISTS jobs (id INTEGER PRIMARY KEY, task TEXT NOT NULL) STRICT";

/// A job that is created, as its client is told.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Job {
    /// Counts from 1.
    pub job_id: i64,
    /// What is to be done.
    pub task: String,
}

/// Opens the file for jobs and keys.
pub async fn open(db: &Path) -> Result<SqliteStore, OpenError> {
    SqliteStore::builder(db).with_set_up(|connection| connection.execute_batch(SCHEMA)).open().await
}

/// Creates a job, in whatever transaction there is.
pub fn insert(connection: &Connection, job: &NewJob) -> rusqlite::Result<Job> {
    let job_id = connection.prepare_cached("INSERT INTO jobs (task) VALUES (?1)")?.insert([job.task()])?;
    Ok(Job { job_id, task: job.task().to_owned() })
}

/// Creates a job in a transaction of its own, on a connection of its own.
pub fn insert_alone(db: &Path, job: &NewJob) -> rusqlite::Result<Job> {
    insert(&Connection::open(db)?, job)
}

/// Looks at the table from outside of the server, so that it sees what is committed and nothing else.
#[derive(Debug)]
pub struct Witness(Connection);

impl Witness {
    /// A connection of its own to the file of a store that is open.
    pub fn open(db: &Path) -> rusqlite::Result<Self> {
        Connection::open(db).map(Self)
    }

    /// How many jobs there are.
    pub fn jobs(&self) -> rusqlite::Result<u64> {
        let count: i64 = self.0.prepare_cached("SELECT count(*) FROM jobs")?.query_one((), |row| row.get(0))?;
        Ok(count.unsigned_abs())
    }

    /// Waits until there is a job; then, how many there are. `None`: there was none within this time.
    pub async fn jobs_once_there_is_one(&self, within: Duration) -> rusqlite::Result<Option<u64>> {
        let watching = async {
            loop {
                match self.jobs()? {
                    0 => yield_now().await,
                    jobs => return Ok(jobs),
                }
            }
        };
        timeout(within, watching).await.ok().transpose()
    }
}
