//! The handler's writes and "this key is done", in one transaction.

use std::{ops::Deref, sync::Arc, time::Duration};

use bytes::Bytes;
use http::Response;
use rusqlite::Connection;
use tokio::{sync::oneshot, time::timeout};

use super::{
    SqliteStore,
    columns::Columns,
    error,
    job::{Ending, Job, Step},
    records,
    writer::WriterEnded,
};
use crate::{
    idempotency::{Claim, Commit, CommitError, CommitErrorKind, Recorder},
    store::{Held, Token, clock::Clock},
};

/// The transaction of a commit: a [`rusqlite::Connection`] whose writes are kept together with the completion of the
/// key, or not at all.
///
/// The transaction is the store's: a closure that ends it (`COMMIT`, `ROLLBACK`, `ON CONFLICT ROLLBACK`) is rolled
/// back. [`Connection::execute`], [`Connection::prepare_cached`] and savepoints are the closure's own.
#[derive(Debug)]
pub struct Tx<'a>(&'a Connection);

impl Deref for Tx<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.0
    }
}

impl Claim<SqliteStore> {
    /// Runs `work` and finishes the key with the response that it returns, in one transaction: both are kept, or
    /// neither. After `Ok` the committed response is what the caller gets.
    ///
    /// `work` runs on the store's one writer and keeps it from everybody else: do what is slow before, and nothing
    /// but SQL inside. Dropping the returned future does not call the commit off; the layer awaits its outcome.
    ///
    /// # Errors
    ///
    /// The error that `work` returned, or a [`CommitError`] whose [kind](CommitError::kind) says whether anything can
    /// have been written. Except for [`Unknown`](CommitErrorKind::Unknown) nothing was. `Unknown` is also the answer
    /// to a commit that takes longer than the layer's limit for a call of the store (default 5 s).
    #[cfg(feature = "axum")]
    pub async fn commit<F, R, E>(&self, work: F) -> Result<axum::response::Response, E>
    where
        F: FnOnce(&Tx<'_>) -> Result<R, E> + Send + 'static,
        R: axum::response::IntoResponse,
        E: From<CommitError> + Send + 'static,
    {
        let response = self
            .commit_response(move |tx| crate::idempotency::in_memory(work(tx)?.into_response()).map_err(E::from))
            .await?;
        Ok(response.map(axum::body::Body::from))
    }

    /// As `commit`, which the feature `axum` adds, for a response whose body is bytes.
    ///
    /// # Errors
    ///
    /// As `commit`.
    pub async fn commit_response<F, E>(&self, work: F) -> Result<Response<Bytes>, E>
    where
        F: FnOnce(&Tx<'_>) -> Result<Response<Bytes>, E> + Send + 'static,
        E: From<CommitError> + Send + 'static,
    {
        self.hand_over(work).await.map_err(|refusal| match refusal {
            Refusal::Work(error) => error,
            Refusal::Commit(error) => error.into(),
        })
    }

    async fn hand_over<F, E>(&self, work: F) -> Result<Response<Bytes>, Refusal<E>>
    where
        F: FnOnce(&Tx<'_>) -> Result<Response<Bytes>, E> + Send + 'static,
        E: Send + 'static,
    {
        let limit = self.store_timeout();
        // The commit begins only once its place is sure: a handler that is dropped while it waits for one leaves
        // the state open.
        let place = match timeout(limit, self.store().writer().reserve()).await {
            Ok(place) => place.map_err(|ended| CommitError::because(CommitErrorKind::RolledBack, ended))?,
            Err(elapsed) => return Err(CommitError::because(CommitErrorKind::RolledBack, elapsed).into()),
        };
        let (answer, answered) = oneshot::channel();
        place.send(Box::new(CommitJob {
            work: Some(work),
            token: self.token().clone(),
            recorder: self.recorder().clone(),
            commit: self.begin_commit()?,
            verdict: Verdict::NotRun,
            answer,
        }));
        match timeout(limit, answered).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(CommitError::because(CommitErrorKind::Unknown, WriterEnded).into()),
            Err(elapsed) => Err(CommitError::because(CommitErrorKind::Unknown, elapsed).into()),
        }
    }
}

/// Why there is no committed response. Turned into the application's error by the handler's task: that conversion is
/// not the writer's to run.
enum Refusal<E> {
    Work(E),
    Commit(CommitError),
}

impl<E> From<CommitError> for Refusal<E> {
    fn from(error: CommitError) -> Self {
        Self::Commit(error)
    }
}

struct CommitJob<F, E> {
    work: Option<F>,
    token: Token,
    recorder: Recorder,
    commit: Commit,
    verdict: Verdict<E>,
    answer: oneshot::Sender<Result<Response<Bytes>, Refusal<E>>>,
}

/// How the closure and the completion after it went; counts once the transaction has ended.
enum Verdict<E> {
    NotRun,
    Finished(Response<Bytes>),
    Refused(E),
    Passed,
    Failed(rusqlite::Error),
    Panicked(String),
}

impl<F, E> Job for CommitJob<F, E>
where
    F: FnOnce(&Tx<'_>) -> Result<Response<Bytes>, E> + Send,
    E: Send,
{
    fn run(&mut self, connection: &Connection, clock: &Clock) -> Step {
        let Some(work) = self.work.take() else { return Step::Undo };
        self.verdict = match work(&Tx(connection)) {
            Err(error) => Verdict::Refused(error),
            // Outside of a transaction the completion would be kept by itself.
            Ok(_) if connection.is_autocommit() => Verdict::Failed(error::ended_by_a_job()),
            Ok(response) => {
                let outcome = Columns::from(&self.recorder.outcome(&response));
                match records::finish(connection, &self.token, &outcome, clock.now_millis()) {
                    Ok(Held::Yes) => Verdict::Finished(response),
                    Ok(Held::No) => Verdict::Passed,
                    Err(error) => Verdict::Failed(error),
                }
            }
        };
        if let Verdict::Finished(_) = self.verdict { Step::Keep } else { Step::Undo }
    }

    fn panicked(&mut self, message: String) {
        self.verdict = Verdict::Panicked(message);
    }

    fn closure_of(&self) -> Option<&Token> {
        Some(&self.token)
    }

    fn lease(&self) -> Option<Duration> {
        None
    }

    fn finish(self: Box<Self>, ending: &Ending) {
        // The state is settled before the handler hears of it, and even if the handler is gone.
        let Self { commit, verdict, answer, .. } = *self;
        let answered = match (verdict, ending) {
            (Verdict::Finished(response), Ending::Committed) => {
                commit.committed(response.clone());
                Ok(response)
            }
            (Verdict::Finished(_), Ending::Unknown(error)) => {
                drop(commit);
                Err(CommitError::because(CommitErrorKind::Unknown, Arc::clone(error)).into())
            }
            (Verdict::Passed, Ending::Committed) => {
                commit.passed();
                Err(CommitError::from(CommitErrorKind::Passed).into())
            }
            (verdict, ending) => {
                commit.rolled_back();
                Err(rolled_back(verdict, ending))
            }
        };
        let _ = answer.send(answered);
    }
}

/// Why surely nothing was written.
fn rolled_back<E>(verdict: Verdict<E>, ending: &Ending) -> Refusal<E> {
    match (verdict, ending) {
        (Verdict::Refused(error), _) => Refusal::Work(error),
        (Verdict::Panicked(message), _) => CommitError::because(CommitErrorKind::Panicked, message).into(),
        (Verdict::Failed(error), _) => CommitError::because(CommitErrorKind::RolledBack, error).into(),
        // A passed commit too: what passed it may be undone with the rest of its group, and another try can say.
        (_, Ending::RolledBack(error) | Ending::Unknown(error)) => {
            CommitError::because(CommitErrorKind::RolledBack, Arc::clone(error)).into()
        }
        (_, Ending::Committed) => CommitError::from(CommitErrorKind::RolledBack).into(),
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;
    use crate::{
        IdempotencyKey,
        idempotency::{CommitState, Ended},
        store::ScopedKey,
    };

    type Work = fn(&Tx<'_>) -> Result<Response<Bytes>, &'static str>;

    /// How a closure that went like this ends after an I/O error at COMMIT.
    async fn after_an_io_error(verdict: Verdict<&'static str>) -> (Ended, Refusal<&'static str>) {
        let state = CommitState::new();
        let (answer, mut answered) = oneshot::channel();
        let job: Box<CommitJob<Work, _>> = Box::new(CommitJob {
            work: None,
            token: Token::new(ScopedKey::new("", &IdempotencyKey::parse("a").unwrap()), 1),
            recorder: crate::store::sqlite::tests::recorder(1024),
            commit: state.begin().unwrap(),
            verdict,
            answer,
        });
        let error = rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_IOERR_FSYNC), None);
        job.finish(&Ending::Unknown(Arc::new(error)));
        (state.end(Duration::ZERO).await, answered.try_recv().unwrap().err().unwrap())
    }

    #[tokio::test]
    async fn a_finished_commit_is_unknown_after_an_io_error() {
        let (ended, refusal) = after_an_io_error(Verdict::Finished(Response::default())).await;
        assert!(matches!(ended, Ended::Unknown));
        assert!(matches!(refusal, Refusal::Commit(error) if error.kind() == CommitErrorKind::Unknown));
    }

    #[tokio::test]
    async fn a_commit_that_was_undone_is_rolled_back_after_an_io_error() {
        let (ended, refusal) = after_an_io_error(Verdict::Refused("sold out")).await;
        assert!(matches!((ended, refusal), (Ended::Open, Refusal::Work("sold out"))));
        let (ended, refusal) = after_an_io_error(Verdict::Passed).await;
        assert!(matches!(ended, Ended::Open));
        assert!(matches!(refusal, Refusal::Commit(error) if error.kind() == CommitErrorKind::RolledBack));
    }
}
