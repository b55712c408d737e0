//! A shop that takes orders, guarded or not, and clients that place them.

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    response::{IntoResponse, Response as Reply},
    routing::post,
};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{HeaderMap, Response, StatusCode};
use http_body::Body;
use http_body_util::BodyExt;
use lab::{
    app::{Hold, Runs},
    exchange::{self, HeldRequest},
    faults::{Faults, Faulty},
};
use rusqlite::Connection;
use tempfile::TempDir;
use tower::{BoxError, Layer, Service, ServiceExt};
use tower_idempotency::{
    IdempotencyLayer, RetryLayer, SqliteStore,
    idempotency::{Claim, CommitError, Scope},
    retry::{Backoff, Outcome, Retry, RetryError, RetryInfo, Stopped},
    store::sqlite::Tx,
};

pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const HOUR: Duration = Duration::from_secs(3600);

/// Orders in a database that holds the keys too.
pub(crate) struct Shop {
    folder: Arc<TempDir>,
    store: SqliteStore,
    runs: Runs,
}

impl Shop {
    pub(crate) async fn open() -> Self {
        let folder = Arc::new(TempDir::new().unwrap());
        let file = folder.path().join("orders.db");
        let schema = "PRAGMA journal_mode = WAL; CREATE TABLE orders (run INTEGER NOT NULL)";
        Connection::open(&file).unwrap().execute_batch(schema).unwrap();
        let store = SqliteStore::builder(&file).open().await.unwrap();
        Self { folder, store, runs: Runs::default() }
    }

    pub(crate) fn layer(&self) -> IdempotencyLayer<SqliteStore> {
        IdempotencyLayer::new(self.store.clone(), Scope::shared())
    }

    /// Takes each order once.
    pub(crate) fn guarded(&self) -> Router {
        self.guarded_after(async |_| Ok(()))
    }

    /// Is held before it commits.
    pub(crate) fn guarded_at(&self, hold: &Hold) -> Router {
        self.guarded_by(self.layer(), held(hold))
    }

    /// Does this before it commits; it is told the number of the run, from 1. A status is the answer to an order that is
    /// not taken.
    pub(crate) fn guarded_after<F, W>(&self, work: F) -> Router
    where
        F: Fn(usize) -> W + Clone + Send + Sync + 'static,
        W: Future<Output = Result<(), StatusCode>> + Send,
    {
        self.guarded_by(self.layer(), work)
    }

    /// As [`guarded_after`](Self::guarded_after), by a layer that is set otherwise.
    pub(crate) fn guarded_by<F, W>(&self, layer: IdempotencyLayer<SqliteStore>, work: F) -> Router
    where
        F: Fn(usize) -> W + Clone + Send + Sync + 'static,
        W: Future<Output = Result<(), StatusCode>> + Send,
    {
        let runs = self.runs.clone();
        let take = async move |claim: Claim<SqliteStore>| -> Result<Reply, Failure> {
            let run = runs.begin();
            work(run).await.map_err(Failure::Refused)?;
            let take = move |tx: &Tx<'_>| {
                insert(tx, run).map_err(Failure::Sql)?;
                Ok((StatusCode::CREATED, format!("order of run {run}")))
            };
            claim.commit(take).await
        };
        Router::new().route("/reports", post(take)).layer(layer)
    }

    /// Knows no keys, and takes whatever comes.
    pub(crate) fn naive(&self) -> Router {
        self.naive_answering(|_| StatusCode::CREATED)
    }

    /// Knows no keys; answers this after it took the order of a run.
    pub(crate) fn naive_answering(&self, status: fn(usize) -> StatusCode) -> Router {
        let (runs, folder) = (self.runs.clone(), Arc::clone(&self.folder));
        let take = async move || {
            let run = runs.begin();
            let connection = Connection::open(folder.path().join("orders.db")).unwrap();
            insert(&connection, run).unwrap();
            (status(run), format!("order of run {run}"))
        };
        Router::new().route("/reports", post(take))
    }

    /// The run that each order was taken in.
    pub(crate) fn orders(&self) -> Vec<i64> {
        let connection = Connection::open(self.folder.path().join("orders.db")).unwrap();
        let mut runs = connection.prepare("SELECT run FROM orders ORDER BY rowid").unwrap();
        runs.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    }

    /// How often the handler ran.
    pub(crate) fn runs(&self) -> usize {
        self.runs.count()
    }
}

/// Work that is held at this place.
pub(crate) fn held(
    hold: &Hold,
) -> impl Fn(usize) -> BoxFuture<'static, Result<(), StatusCode>> + Clone + Send + Sync + 'static + use<> {
    let hold = hold.clone();
    move |_| {
        let hold = hold.clone();
        Box::pin(async move {
            hold.pass().await;
            Ok(())
        })
    }
}

fn insert(connection: &Connection, run: usize) -> rusqlite::Result<usize> {
    connection.execute("INSERT INTO orders VALUES (?1)", [i64::try_from(run).expect("few")])
}

/// What the handler fails with.
enum Failure {
    Refused(StatusCode),
    Sql(rusqlite::Error),
    Commit(CommitError),
}

impl From<CommitError> for Failure {
    fn from(error: CommitError) -> Self {
        Self::Commit(error)
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Reply {
        match self {
            Self::Refused(status) => status.into_response(),
            Self::Sql(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
            Self::Commit(error) => error.into_response(),
        }
    }
}

/// Up to four attempts, a short wait between them.
pub(crate) fn four_attempts() -> RetryLayer {
    RetryLayer::new()
        .max_attempts(4)
        .backoff(Backoff::full(Duration::from_millis(20), Duration::from_millis(200)))
        .seed(1)
}

/// The client of a server in this process.
pub(crate) fn client(retry: &RetryLayer, faults: &Faults, server: Router) -> Retry<Faulty<Router>> {
    retry.layer(faults.layer(server))
}

/// An order under this key.
pub(crate) fn order(key: &str) -> HeldRequest {
    exchange::post(key, "{}")
}

/// What the caller has in the end.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) answer: Option<Whole>,
    /// None where the first answer needed no other.
    pub(crate) info: Option<RetryInfo>,
}

/// A response, read to its end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Whole {
    pub(crate) status: u16,
    pub(crate) replayed: bool,
    pub(crate) body: String,
}

impl Ended {
    /// What the client learns: how often it was tried, why not again, whether it was applied.
    pub(crate) fn told(&self) -> Option<(u32, Stopped, Outcome)> {
        self.info.as_ref().map(|info| (info.attempts(), info.stopped(), info.outcome()))
    }
}

/// Sends a request and reads the answer to its end.
pub(crate) async fn place<C, R>(client: &C, request: HeldRequest) -> Ended
where
    C: Service<HeldRequest, Response = Response<R>, Error = RetryError> + Clone,
    R: Body<Data = Bytes, Error: Into<BoxError>>,
{
    match client.clone().oneshot(request).await {
        Ok(response) => {
            let info = response.extensions().get().cloned();
            let answer = whole(response).await.unwrap();
            Ended { answer: Some(answer), info }
        }
        Err(error) => Ended { answer: None, info: Some(error.info().clone()) },
    }
}

pub(crate) async fn whole<R>(response: Response<R>) -> Result<Whole, BoxError>
where
    R: Body<Data = Bytes, Error: Into<BoxError>>,
{
    let (head, body) = response.into_parts();
    let body = body.collect().await.map_err(Into::into)?.to_bytes();
    let body = String::from_utf8_lossy(&body).into_owned();
    Ok(Whole { status: head.status.as_u16(), replayed: is_replay(&head.headers), body })
}

fn is_replay(headers: &HeaderMap) -> bool {
    headers.get("idempotency-replayed").is_some_and(|mark| mark == "true")
}

/// The answer to the run that took the order.
pub(crate) fn taken(run: usize) -> Option<Whole> {
    Some(Whole { status: 201, replayed: false, body: format!("order of run {run}") })
}

/// The stored answer of that run.
pub(crate) fn replay(run: usize) -> Option<Whole> {
    taken(run).map(|answer| Whole { replayed: true, ..answer })
}

/// An answer that holds nothing.
pub(crate) fn bare(status: u16) -> Option<Whole> {
    Some(Whole { status, replayed: false, body: String::new() })
}
