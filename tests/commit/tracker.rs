//! A bug tracker: a file, apps on it, and what the file holds afterwards.

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex,
        mpsc::{self, Sender},
    },
    time::{Duration, SystemTime},
};

use axum::{
    Router,
    handler::Handler,
    response::{IntoResponse, Response},
    routing::post,
};
use http::{Request, StatusCode};
use lab::exchange::{self, Answer, HeldRequest, send};
use rusqlite::Connection;
use tempfile::TempDir;
use tokio::{sync::Notify, task::JoinHandle};
use tower_idempotency::{
    IdempotencyKey, IdempotencyLayer, SqliteStore,
    idempotency::{Claim, CommitError, Scope},
    store::{
        ScopedKey, Status,
        sqlite::{SqliteStoreBuilder, Tx},
    },
};

pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const HOUR: Duration = Duration::from_secs(3600);

/// A store on a file of reports. Several may share one file, as several processes do.
pub(crate) struct Tracker {
    folder: Arc<TempDir>,
    pub(crate) store: SqliteStore,
}

impl Tracker {
    pub(crate) async fn open() -> Self {
        Self::open_with(|builder| builder).await
    }

    pub(crate) async fn open_with(set: impl FnOnce(SqliteStoreBuilder) -> SqliteStoreBuilder) -> Self {
        let folder = Arc::new(TempDir::new().unwrap());
        let schema = "PRAGMA journal_mode = WAL;
                      CREATE TABLE reports (title TEXT NOT NULL);
                      CREATE TABLE wholes (id INTEGER PRIMARY KEY);
                      CREATE TABLE parts (whole REFERENCES wholes DEFERRABLE INITIALLY DEFERRED)";
        Connection::open(folder.path().join("reports.db")).unwrap().execute_batch(schema).unwrap();
        Self::on(folder, Duration::ZERO, set).await
    }

    /// Another store on the same file.
    pub(crate) async fn beside(&self) -> Self {
        self.ahead(Duration::ZERO).await
    }

    /// Another store on the same file, on a host whose clock is ahead.
    pub(crate) async fn ahead(&self, by: Duration) -> Self {
        Self::on(Arc::clone(&self.folder), by, |builder| builder).await
    }

    async fn on(
        folder: Arc<TempDir>,
        later: Duration,
        set: impl FnOnce(SqliteStoreBuilder) -> SqliteStoreBuilder,
    ) -> Self {
        let epoch = SystemTime::UNIX_EPOCH + 500_000 * HOUR;
        let builder = SqliteStore::builder(folder.path().join("reports.db")).wall_clock(epoch + later);
        let store = set(builder).open().await.unwrap();
        Self { folder, store }
    }

    pub(crate) fn layer(&self) -> IdempotencyLayer<SqliteStore> {
        IdempotencyLayer::new(self.store.clone(), Scope::shared())
    }

    /// The handler behind a layer with the defaults.
    pub(crate) fn app<H, T>(&self, handler: H) -> Router
    where
        H: Handler<T, ()>,
        T: 'static,
    {
        Router::new().route("/reports", post(handler)).layer(self.layer())
    }

    pub(crate) fn db(&self) -> PathBuf {
        self.folder.path().join("reports.db")
    }

    /// A connection of the application's own.
    pub(crate) fn connection(&self) -> Connection {
        Connection::open(self.db()).unwrap()
    }

    /// The titles of what is filed.
    pub(crate) fn reports(&self) -> Vec<String> {
        let connection = self.connection();
        let mut titles = connection.prepare("SELECT title FROM reports ORDER BY rowid").unwrap();
        titles.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    }

    pub(crate) async fn status(&self, key: &str) -> Status {
        self.layer().status(&self.key(key)).await.unwrap()
    }

    /// The key as the layer files it.
    pub(crate) fn key(&self, key: &str) -> ScopedKey {
        let (parts, ()) = Request::new(()).into_parts();
        self.layer().scoped_key(&parts, &IdempotencyKey::parse(key).unwrap()).unwrap()
    }

    /// Lets a handler go on to its commit, which then waits in the writer's queue until the answer is dropped.
    pub(crate) async fn keep_waiting(&self, stop: &Stop) -> HeldWriter {
        stop.reached().await;
        let writer = self.hold_writer().await;
        stop.let_go_on().await;
        writer
    }

    /// Keeps the one writer busy with a closure of another key.
    pub(crate) async fn hold_writer(&self) -> HeldWriter {
        let entered = Arc::new(Notify::new());
        let (let_go, held) = mpsc::channel::<()>();
        let (enter, held) = (Arc::clone(&entered), Arc::new(Mutex::new(held)));
        let app = self.app(async move |claim: Claim<SqliteStore>| {
            let work = move |_: &Tx<'_>| {
                enter.notify_one();
                held.lock().unwrap().recv().expect_err("nothing is sent");
                Ok::<_, CommitError>(StatusCode::NO_CONTENT)
            };
            claim.commit(work).await
        });
        sending(&app, exchange::post("of the holder", ""));
        entered.notified().await;
        HeldWriter { _let_go: let_go }
    }
}

/// Lets the writer go on when it is dropped, so that a test that fails ends.
pub(crate) struct HeldWriter {
    _let_go: Sender<()>,
}

/// Where a handler stops until it is let go.
#[derive(Clone, Default)]
pub(crate) struct Stop(Arc<StopState>);

#[derive(Default)]
struct StopState {
    reached: Notify,
    let_go: Notify,
    went_on: Notify,
}

impl Stop {
    pub(crate) async fn here(&self) {
        self.0.reached.notify_one();
        self.0.let_go.notified().await;
        self.0.went_on.notify_one();
    }

    pub(crate) async fn reached(&self) {
        self.0.reached.notified().await;
    }

    pub(crate) fn let_go(&self) {
        self.0.let_go.notify_one();
    }

    /// On the one thread of a test this returns when the handler has come to its next wait.
    pub(crate) async fn let_go_on(&self) {
        self.let_go();
        self.0.went_on.notified().await;
    }
}

/// What the handlers of these tests fail with.
#[derive(Debug)]
pub(crate) enum Failure {
    /// 404, which rule 13 keeps.
    NoSuchModule,
    Sql(rusqlite::Error),
    Commit(CommitError),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<CommitError> for Failure {
    fn from(error: CommitError) -> Self {
        Self::Commit(error)
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        match self {
            Self::NoSuchModule => StatusCode::NOT_FOUND.into_response(),
            Self::Sql(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
            Self::Commit(error) => error.into_response(),
        }
    }
}

/// Files a report and answers 201 with its title.
pub(crate) fn file(title: &str) -> impl FnOnce(&Tx<'_>) -> Result<(StatusCode, String), Failure> + Send + use<> {
    let title = title.to_owned();
    move |tx| {
        tx.execute("INSERT INTO reports VALUES (?1)", [&title])?;
        Ok((StatusCode::CREATED, title))
    }
}

/// A request under way.
pub(crate) fn sending(app: &Router, request: HeldRequest) -> JoinHandle<Answer> {
    let app = app.clone();
    tokio::spawn(async move { send(&app, request).await })
}

/// What a test mostly asks of an answer: status, body, replay mark.
pub(crate) fn seen(answer: &Answer) -> (u16, &str, Option<&str>) {
    (answer.status.as_u16(), answer.text(), answer.replayed())
}

/// The reason of a refusal by the layer: the end of its problem's `type`.
pub(crate) fn reason(answer: &Answer) -> String {
    let problem: serde_json::Value = serde_json::from_slice(&answer.body).expect("a problem");
    problem["type"].as_str().unwrap().rsplit('.').next().unwrap().to_owned()
}
