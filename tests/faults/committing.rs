//! Handlers that commit, and what they do afterwards.

use bytes::Bytes;
use http::{Response, StatusCode};
use lab::{
    body::Broken as HandlerFailure,
    handler::{Call, Reply, response},
    panics,
};
use rusqlite::Connection;
use tokio::time::timeout;
use tower_idempotency::{
    SqliteStore,
    idempotency::{Claim, CommitError},
};

use crate::combination::Fault;

/// What the first run does; each other run commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Does {
    Commits,
    CommitsThenAnswers503,
    CommitsThenFails,
    CommitsThenPanics,
    /// A timeout inside the layer drops the handler while it commits, if that takes a while.
    CommitsUnderATimeout,
    /// Not what a commit is for: each run does.
    WritesBesideItsCommit,
}

impl Does {
    pub(crate) async fn reply(self, call: Call) -> Reply {
        match self {
            Self::Commits => commit(call).await,
            Self::CommitsThenAnswers503 => {
                commit(call).await?;
                Ok(response(503, "not now"))
            }
            Self::CommitsThenFails => {
                commit(call).await?;
                Err(HandlerFailure)
            }
            Self::CommitsThenPanics => {
                commit(call).await?;
                std::panic::panic_any(panics::OF_THE_HANDLER)
            }
            Self::CommitsUnderATimeout => match timeout(Fault::SLOW / 2, commit(call)).await {
                Ok(reply) => reply,
                Err(_elapsed) => Ok(response(504, "out of time")),
            },
            Self::WritesBesideItsCommit => Ok(response(201, format!("run {}", call.run))),
        }
    }
}

/// Writes a row and ends the key; a commit that fails is answered 503.
async fn commit(call: Call) -> Reply {
    let Call { run, parts, .. } = call;
    let claim = parts.extensions.get::<Claim<SqliteStore>>().expect("a claim").clone();
    let key = claim.key().as_str().to_owned();
    let committed = claim.commit_response(move |tx| {
        write(tx, &key, run)?;
        let mut made = Response::new(Bytes::from(format!("run {run}")));
        *made.status_mut() = StatusCode::CREATED;
        Ok::<_, Failed>(made)
    });
    Ok(committed.await.map_or_else(|_failed| response(503, "not committed"), |made| made.map(Into::into)))
}

pub(crate) fn write(connection: &Connection, key: &str, run: usize) -> rusqlite::Result<usize> {
    connection.execute("INSERT INTO writes (key, run) VALUES (?1, ?2)", (key, run as i64))
}

struct Failed;

impl From<CommitError> for Failed {
    fn from(_: CommitError) -> Self {
        Self
    }
}

impl From<rusqlite::Error> for Failed {
    fn from(_: rusqlite::Error) -> Self {
        Self
    }
}
