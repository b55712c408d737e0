//! What the writer is asked to do.

use std::{sync::Arc, time::Duration};

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::error;
use crate::store::{StoreError, Token, clock::Clock};

pub(super) type Jobs = Vec<Box<dyn Job>>;

/// One job of a group: run in a savepoint of its own, answered when the group's transaction has ended.
pub(super) trait Job: Send {
    /// The work. It may be run again, after a rollback, unless the job is a closure.
    fn run(&mut self, connection: &Connection, clock: &Clock) -> Step;

    /// [`run`](Self::run) panicked, and what it wrote is undone.
    fn panicked(&mut self, message: String);

    /// The claim whose closure this is: the application's work, run once at most, and it may be slow.
    fn closure_of(&self) -> Option<&Token>;

    fn is_closure(&self) -> bool {
        self.closure_of().is_some()
    }

    /// The lease that this job grants or renews.
    fn lease(&self) -> Option<Duration>;

    /// Answers the caller, who may have gone.
    fn finish(self: Box<Self>, ending: &Ending);
}

/// What becomes of a job's savepoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Keep,
    Undo,
}

/// How the transaction of a group ended.
#[derive(Clone, Debug)]
pub(super) enum Ending {
    Committed,
    /// Surely nothing of it was written.
    RolledBack(Arc<rusqlite::Error>),
    /// It may have been written or not.
    Unknown(Arc<rusqlite::Error>),
}

/// A verb of the store.
pub(super) struct DataJob<T, W> {
    work: W,
    lease: Option<Duration>,
    found: Option<Result<T, StoreError>>,
    answer: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, W> DataJob<T, W>
where
    T: Send + 'static,
    W: FnMut(&Connection, i64) -> rusqlite::Result<T> + Send + 'static,
{
    /// The job, and where its answer will be.
    pub(super) fn asked(lease: Option<Duration>, work: W) -> (Box<dyn Job>, oneshot::Receiver<Result<T, StoreError>>) {
        let (answer, answered) = oneshot::channel();
        (Box::new(Self { work, lease, found: None, answer }), answered)
    }
}

impl<T, W> Job for DataJob<T, W>
where
    T: Send,
    W: FnMut(&Connection, i64) -> rusqlite::Result<T> + Send,
{
    fn run(&mut self, connection: &Connection, clock: &Clock) -> Step {
        let found = (self.work)(connection, clock.now_millis()).map_err(error::failed);
        let step = if found.is_ok() { Step::Keep } else { Step::Undo };
        self.found = Some(found);
        step
    }

    fn panicked(&mut self, message: String) {
        self.found = Some(Err(StoreError::permanent(message)));
    }

    fn closure_of(&self) -> Option<&Token> {
        None
    }

    fn lease(&self) -> Option<Duration> {
        self.lease
    }

    fn finish(self: Box<Self>, ending: &Ending) {
        let answer = match (self.found, ending) {
            (Some(Ok(found)), Ending::Committed) => Ok(found),
            (Some(Err(error)), _) => Err(error),
            (_, Ending::RolledBack(error)) => Err(error::failed_together(error)),
            // Asked again, each verb finds what the first try left.
            (_, Ending::Unknown(error)) => Err(StoreError::transient(Arc::clone(error))),
            (None, Ending::Committed) => Err(StoreError::permanent("the job was not run")),
        };
        // A caller that went away has nothing to be told.
        let _ = self.answer.send(answer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::{Error, ffi};

    fn broken() -> Arc<Error> {
        Arc::new(Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_IOERR_FSYNC), None))
    }

    #[test]
    fn a_verb_whose_commit_is_unknown_is_worth_another_try() {
        let (mut job, mut answered) = DataJob::asked(None, |_, _| Ok(1));
        assert_eq!(job.run(&Connection::open_in_memory().unwrap(), &Clock::sample()), Step::Keep);
        job.finish(&Ending::Unknown(broken()));
        assert!(answered.try_recv().unwrap().unwrap_err().is_transient());
    }

    #[test]
    fn a_verb_answers_from_the_last_transaction_that_ran_it() {
        let mut rounds = 0;
        let (mut job, mut answered) = DataJob::asked(None, move |_, _| {
            rounds += 1;
            Ok(rounds)
        });
        let connection = Connection::open_in_memory().unwrap();
        for _ in 0..2 {
            assert_eq!(job.run(&connection, &Clock::sample()), Step::Keep);
        }
        job.finish(&Ending::Committed);
        assert_eq!(answered.try_recv().unwrap().unwrap(), 2);
    }

    #[test]
    fn a_caller_that_went_away_is_no_failure() {
        let (mut job, answered) = DataJob::asked(None, |_, _| Ok(()));
        drop(answered);
        assert_eq!(job.run(&Connection::open_in_memory().unwrap(), &Clock::sample()), Step::Keep);
        job.finish(&Ending::Committed);
    }
}
