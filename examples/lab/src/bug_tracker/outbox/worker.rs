//! Takes the rows that wait, in their order, and sends each until it is settled.

use std::{
    fmt,
    hash::{BuildHasher, RandomState},
    sync::Arc,
    time::Duration,
};

use deadpool_sqlite::Pool;
use futures_util::future::BoxFuture;
use rusqlite::Connection;
use tokio::time::sleep;
use tower::BoxError;
use tower_idempotency::retry::{Backoff, Delays};

use super::{
    sender::{Delivery, Sender},
    table::{self, Row},
};

/// How often an empty outbox is looked at.
const IDLE: Duration = Duration::from_millis(200);

/// A worker. Dropping its run at any point is as harmless as a power cut: what is not recorded is sent again.
#[derive(Clone)]
#[must_use]
pub struct Worker {
    pool: Pool,
    sender: Sender,
    pauses: Backoff,
    before_record: Option<Arc<BeforeRecord>>,
}

type BeforeRecord = dyn Fn(&Row) -> BoxFuture<'static, ()> + Send + Sync;

/// When a worker ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// When its run is dropped.
    Dropped,
    /// When no row waits.
    Empty,
}

enum Step {
    Settled,
    Waits(String),
    Empty,
}

impl Worker {
    /// Delivers what waits in this database.
    pub fn new(pool: Pool, sender: Sender) -> Self {
        let pauses = Backoff::equal(Duration::from_millis(500), Duration::from_secs(30));
        Self { pool, sender, pauses, before_record: None }
    }

    /// How long to wait after a row that could not be delivered. Default: half of it and up to as much again, from 0.5 s,
    /// doubled each time, to 30 s; from the start again once a row is settled.
    pub fn pauses(self, pauses: Backoff) -> Self {
        Self { pauses, ..self }
    }

    /// Runs this between each delivery and its record. For tests: a worker that never comes back from it is killed at
    /// the worst moment. Default: nothing.
    pub fn with_before_record(self, hook: impl Fn(&Row) -> BoxFuture<'static, ()> + Send + Sync + 'static) -> Self {
        Self { before_record: Some(Arc::new(hook)), ..self }
    }

    /// Delivers.
    pub async fn run(self, until: Until) {
        let mut pauses = self.new_pauses();
        loop {
            let why = match self.step().await {
                Ok(Step::Settled) => {
                    pauses = self.new_pauses();
                    continue;
                }
                Ok(Step::Empty) if until == Until::Empty => return,
                Ok(Step::Empty) => {
                    sleep(IDLE).await;
                    continue;
                }
                Ok(Step::Waits(why)) => why,
                // The database of the tracker: locked for long, or full.
                Err(error) => error.to_string(),
            };
            let pause = pauses.next().unwrap_or(IDLE);
            tracing::warn!(?pause, "a notification waits: {why}");
            sleep(pause).await;
        }
    }

    async fn step(&self) -> Result<Step, BoxError> {
        let Some(row) = self.with_connection(table::next).await? else { return Ok(Step::Empty) };
        let answer = match self.sender.send(&row).await {
            Delivery::Delivered(answer) => {
                tracing::info!(%answer, key = %row.key, "a notification is delivered");
                answer
            }
            Delivery::Refused(answer) => {
                tracing::error!(%answer, key = %row.key, "a notification is refused, and set aside");
                answer
            }
            Delivery::Waits(why) => return Ok(Step::Waits(why)),
        };
        if let Some(hook) = &self.before_record {
            hook(&row).await;
        }
        self.with_connection(move |connection| table::settle(connection, row.id, answer.as_u16())).await?;
        Ok(Step::Settled)
    }

    async fn with_connection<T, F>(&self, query: F) -> Result<T, BoxError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        let done = self.pool.get().await?.interact(|connection| query(connection)).await;
        Ok(done.map_err(|error| error.to_string())??)
    }

    /// Each worker draws its own: two that failed together do not come back together.
    fn new_pauses(&self) -> Delays {
        self.pauses.delays(RandomState::new().hash_one(()))
    }
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker").field("sender", &self.sender).field("pauses", &self.pauses).finish_non_exhaustive()
    }
}
