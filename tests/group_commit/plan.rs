//! What the handler of an order does.

use std::sync::mpsc::{Sender, channel};

use axum::response::{IntoResponse, Response};
use http::StatusCode;
use lab::clock::comes;
use tokio::sync::oneshot;
use tower_idempotency::{
    idempotency::{CommitError, CommitErrorKind},
    store::sqlite::Tx,
};

type Work = Box<dyn FnOnce(&Tx<'_>) -> Result<Response, OrderError> + Send>;

/// What the handler of one order does, once. A repeat is an ordinary order.
pub(crate) enum Plan {
    /// Commits this.
    Commit(Work),
    /// Commits nothing and answers this.
    Answer(StatusCode),
}

impl Plan {
    pub(crate) fn commit(work: impl FnOnce(&Tx<'_>) -> Result<Response, OrderError> + Send + 'static) -> Self {
        Self::Commit(Box::new(work))
    }

    pub(crate) fn order(note: &str) -> Self {
        Self::commit(insert(note))
    }
}

/// Holds a closure on the writer.
pub(crate) struct Gate {
    entered: oneshot::Receiver<()>,
    open: Sender<()>,
}

impl Gate {
    /// Waits until the writer runs the closure.
    pub(crate) async fn entered(mut self) -> Self {
        comes(&mut self.entered).await.unwrap();
        self
    }

    pub(crate) fn open(self) {
        self.open.send(()).unwrap();
    }
}

/// An order whose closure waits for a gate.
pub(crate) fn gated(note: &str) -> (Gate, Plan) {
    let (enter, entered) = oneshot::channel();
    let (open, opened) = channel();
    let insert = insert(note);
    let plan = Plan::commit(move |tx| {
        enter.send(()).unwrap();
        opened.recv().unwrap();
        insert(tx)
    });
    (Gate { entered, open }, plan)
}

/// Puts an order in the books.
pub(crate) fn insert(note: &str) -> impl FnOnce(&Tx<'_>) -> Result<Response, OrderError> + Send + use<> {
    let note = note.to_owned();
    move |tx| {
        tx.prepare_cached("INSERT INTO orders VALUES (?1)")?.execute([&note])?;
        Ok((StatusCode::CREATED, note).into_response())
    }
}

/// Why an order was not taken: 500, and the reason as the body.
#[derive(Debug)]
pub(crate) enum OrderError {
    Sql(rusqlite::Error),
    Commit(CommitErrorKind),
    SoldOut,
}

impl From<rusqlite::Error> for OrderError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<CommitError> for OrderError {
    fn from(error: CommitError) -> Self {
        Self::Commit(error.kind())
    }
}

impl IntoResponse for OrderError {
    fn into_response(self) -> Response {
        let reason = match self {
            Self::Sql(error) => error.to_string(),
            Self::Commit(kind) => format!("{kind:?}"),
            Self::SoldOut => "sold out".to_owned(),
        };
        (StatusCode::INTERNAL_SERVER_ERROR, reason).into_response()
    }
}
