//! The one writer of a store: takes all waiting jobs and runs them as one group.

use std::{mem, ops::Deref, time::Duration};

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::{
    group::Groups,
    job::{DataJob, Job, Jobs},
};
use crate::store::StoreError;

/// Jobs that may wait in each queue; a further caller waits until there is room.
const QUEUE: usize = 1024;

/// A connection that was taken out of its pool.
pub(super) type Detached = <deadpool_sqlite::Object as Deref>::Target;

/// Hands jobs to the writer, which ends when the last clone is dropped.
#[derive(Clone, Debug)]
pub(super) struct Writer {
    renewals: mpsc::Sender<Box<dyn Job>>,
    jobs: mpsc::Sender<Box<dyn Job>>,
}

impl Writer {
    /// Spawns the writer's task. One `interact` for each group: its blocking thread keeps tokio's paused clock from
    /// running ahead of a group, which a thread of our own would not.
    pub(super) fn spawn(connection: Detached, groups: Groups) -> Self {
        let (renewals, waiting_renewals) = mpsc::channel(QUEUE);
        let (jobs, waiting_jobs) = mpsc::channel(QUEUE);
        let queues = Queues { renewals: waiting_renewals, jobs: waiting_jobs, late: Vec::new() };
        tokio::spawn(Task { connection, groups, queues, shortest_lease: Duration::MAX }.run());
        Self { renewals, jobs }
    }

    /// Runs a verb; `lease` is the one that it grants.
    pub(super) async fn ask<T, W>(&self, lease: Option<Duration>, work: W) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: FnMut(&Connection, i64) -> rusqlite::Result<T> + Send + 'static,
    {
        let (job, answered) = DataJob::asked(lease, work);
        answer(&self.jobs, job, answered).await
    }

    /// Runs a renewal, ahead of everything else that waits.
    pub(super) async fn renew<T, W>(&self, lease: Duration, work: W) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: FnMut(&Connection, i64) -> rusqlite::Result<T> + Send + 'static,
    {
        let (job, answered) = DataJob::asked(Some(lease), work);
        answer(&self.renewals, job, answered).await
    }

    /// Waits for a place in the queue.
    pub(super) async fn reserve(&self) -> Result<mpsc::Permit<'_, Box<dyn Job>>, WriterEnded> {
        self.jobs.reserve().await.map_err(|_| WriterEnded)
    }
}

async fn answer<T>(
    queue: &mpsc::Sender<Box<dyn Job>>,
    job: Box<dyn Job>,
    answered: oneshot::Receiver<Result<T, StoreError>>,
) -> Result<T, StoreError> {
    queue.send(job).await.map_err(|_| StoreError::permanent(WriterEnded))?;
    answered.await.map_err(|_| StoreError::permanent(WriterEnded))?
}

/// The runtime on which the store was opened has shut down.
#[derive(Clone, Copy, Debug)]
pub(super) struct WriterEnded;

impl std::fmt::Display for WriterEnded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the writer of the store has ended with its runtime")
    }
}

impl std::error::Error for WriterEnded {}

struct Task {
    connection: Detached,
    groups: Groups,
    queues: Queues,
    shortest_lease: Duration,
}

impl Task {
    async fn run(mut self) {
        while let Some(jobs) = self.queues.next_group().await {
            let leases = jobs.iter().filter_map(|job| job.lease());
            self.shortest_lease = leases.fold(self.shortest_lease, Duration::min);
            let patience = self.shortest_lease / 3;
            let groups = self.groups.clone();
            match self.connection.interact(move |connection| groups.run(connection, jobs, patience)).await {
                Ok(late) => self.queues.late = late,
                Err(error) => return tracing::error!(%error, "the writer of the store has ended"),
            }
        }
    }
}

/// What waits for the writer.
struct Queues {
    renewals: mpsc::Receiver<Box<dyn Job>>,
    jobs: mpsc::Receiver<Box<dyn Job>>,
    /// Closures that the last group left.
    late: Jobs,
}

impl Queues {
    /// Everything that waits: renewals, then the closures that the last group left, then the rest in their order.
    /// `None` when no handle on the store is left.
    async fn next_group(&mut self) -> Option<Jobs> {
        let late = mem::take(&mut self.late);
        let mut group = Jobs::new();
        let mut first = None;
        if late.is_empty() {
            tokio::select! {
                biased;
                Some(renewal) = self.renewals.recv() => group.push(renewal),
                Some(job) = self.jobs.recv() => first = Some(job),
                else => return None,
            }
        }
        group.extend(waiting(&mut self.renewals, QUEUE));
        // As many as wait already are not taken from the queue: it stays the bound of what waits.
        let room = QUEUE.saturating_sub(late.len());
        group.extend(late);
        group.extend(first);
        group.extend(waiting(&mut self.jobs, room));
        Some(group)
    }
}

/// What waits now, so many at most: those who ask as fast as they are answered must not hold up the group.
fn waiting(queue: &mut mpsc::Receiver<Box<dyn Job>>, most: usize) -> impl Iterator<Item = Box<dyn Job>> {
    std::iter::from_fn(|| queue.try_recv().ok()).take(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Sender = mpsc::Sender<Box<dyn Job>>;

    fn queues(late: usize) -> (Sender, Sender, Queues) {
        let (renewals, waiting_renewals) = mpsc::channel(QUEUE);
        let (jobs, waiting_jobs) = mpsc::channel(QUEUE);
        let late = (0..late).map(|_| job(2)).collect();
        (renewals, jobs, Queues { renewals: waiting_renewals, jobs: waiting_jobs, late })
    }

    /// A job that is told by its lease, in seconds.
    fn job(mark: u64) -> Box<dyn Job> {
        DataJob::asked(Some(Duration::from_secs(mark)), |_, _| Ok(())).0
    }

    fn fill(queue: &Sender, mark: u64) {
        while queue.try_send(job(mark)).is_ok() {}
    }

    async fn next(queues: &mut Queues) -> Vec<u64> {
        queues.next_group().await.unwrap().iter().map(|job| job.lease().unwrap().as_secs()).collect()
    }

    #[tokio::test]
    async fn renewals_go_first_then_what_the_last_group_left_then_the_rest() {
        let (renewals, jobs, mut queues) = queues(2);
        jobs.try_send(job(3)).unwrap();
        renewals.try_send(job(1)).unwrap();
        assert_eq!(next(&mut queues).await, [1, 2, 2, 3]);
        jobs.try_send(job(3)).unwrap();
        renewals.try_send(job(1)).unwrap();
        assert_eq!(next(&mut queues).await, [1, 3]);
    }

    #[tokio::test]
    async fn a_queue_full_of_renewals_leaves_the_others_their_turn() {
        let (renewals, jobs, mut queues) = queues(0);
        fill(&renewals, 1);
        jobs.try_send(job(3)).unwrap();
        let group = next(&mut queues).await;
        assert_eq!((group.len(), group.last()), (QUEUE + 1, Some(&3)));
    }

    #[tokio::test]
    async fn what_a_group_left_takes_places_of_the_queue() {
        let (_renewals, jobs, mut queues) = queues(QUEUE - 10);
        fill(&jobs, 3);
        assert_eq!(next(&mut queues).await.iter().filter(|mark| **mark == 3).count(), 10);
        assert_eq!(jobs.capacity(), 10, "the others wait where a further caller has to wait too");
    }
}
