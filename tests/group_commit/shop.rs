//! A shop that takes orders, and a clerk who decides which of them share a transaction.

use std::{
    collections::HashMap,
    future::{Future, poll_fn},
    pin::pin,
    sync::{Arc, Mutex},
    task::Poll,
    time::Duration,
};

use axum::{
    Router,
    extract::State,
    response::{IntoResponse, Response},
    routing::post,
};
use futures_util::future::join_all;
use lab::{
    app::Hold,
    clock::{comes, until},
    exchange::{self, Answer, send, sending},
};
use rusqlite::Connection;
use tempfile::TempDir;
use tokio::{sync::Semaphore, task::JoinHandle, time::advance};
use tower_idempotency::{
    IdempotencyKey, IdempotencyLayer, SqliteStore, Store,
    idempotency::{Claim, Scope},
    store::{ScopedKey, Status, sqlite::SqliteStoreBuilder},
};

use crate::plan::{Gate, OrderError, Plan, gated, insert};

pub(crate) const LEASE: Duration = Duration::from_secs(9);

const TABLES: &str = "
    PRAGMA foreign_keys = ON;
    CREATE TABLE IF NOT EXISTS orders (note TEXT NOT NULL UNIQUE);
    CREATE TABLE IF NOT EXISTS wholes (id INTEGER PRIMARY KEY);
    CREATE TABLE IF NOT EXISTS parts (whole REFERENCES wholes DEFERRABLE INITIALLY DEFERRED);
    CREATE TABLE IF NOT EXISTS papers (bytes BLOB NOT NULL);
    CREATE TRIGGER IF NOT EXISTS no_zero BEFORE INSERT ON wholes WHEN new.id = 0
        BEGIN SELECT RAISE(ROLLBACK, 'no zero'); END";

pub(crate) struct Shop {
    folder: TempDir,
    store: SqliteStore,
    app: Router,
    desk: Arc<Desk>,
}

struct Desk {
    plans: Mutex<HashMap<String, (Hold, Plan)>>,
    /// One permit for each handler that has handed its job to the store.
    handed_over: Semaphore,
}

impl Shop {
    pub(crate) async fn open() -> Self {
        Self::open_with(|builder| builder).await
    }

    pub(crate) async fn open_with(settings: impl FnOnce(SqliteStoreBuilder) -> SqliteStoreBuilder) -> Self {
        let folder = TempDir::new().unwrap();
        let builder = SqliteStore::builder(folder.path().join("shop.db")).with_set_up(set_up);
        let store = settings(builder).open().await.unwrap();
        Self::on(folder, store)
    }

    pub(crate) fn on(folder: TempDir, store: SqliteStore) -> Self {
        Self::with(folder, store, |layer| layer)
    }

    /// The same file behind a layer that waits for the store as long as it takes.
    pub(crate) fn patient(self) -> Self {
        Self::with(self.folder, self.store, |layer| layer.store_timeout(Duration::from_secs(3600)))
    }

    fn with(
        folder: TempDir,
        store: SqliteStore,
        settings: impl FnOnce(IdempotencyLayer<SqliteStore>) -> IdempotencyLayer<SqliteStore>,
    ) -> Self {
        let desk = Arc::new(Desk { plans: Mutex::default(), handed_over: Semaphore::new(0) });
        let layer = settings(IdempotencyLayer::new(store.clone(), Scope::shared()).lease(LEASE));
        let app = Router::new().route("/reports", post(order)).with_state(Arc::clone(&desk)).layer(layer);
        Self { folder, store, app, desk }
    }

    /// An ordinary order, or a repeat.
    pub(crate) async fn order(&self, key: &str) -> Answer {
        comes(send(&self.app, exchange::post(key, "{}"))).await
    }

    /// Sends an ordinary order from a task of its own.
    pub(crate) fn start(&self, key: &str) -> JoinHandle<Answer> {
        sending(&self.app, exchange::post(key, "{}"))
    }

    /// Sends a request whose handler has its claim and waits.
    pub(crate) async fn claimed(&self, key: &str, plan: Plan) -> Claimed {
        let hold = Hold::new();
        self.desk.plans.lock().unwrap().insert(key.to_owned(), (hold.clone(), plan));
        let caller = self.start(key);
        hold.reached().await;
        Claimed { key: key.to_owned(), hold, caller }
    }

    /// Lets a handler go on until its job waits for the writer.
    pub(crate) async fn hand_over(&self, claimed: &Claimed) {
        claimed.hold.let_go(1);
        comes(self.desk.handed_over.acquire()).await.unwrap().forget();
    }

    /// Keeps the writer busy with a closure until the gate is opened.
    pub(crate) async fn hold_the_writer(&self, key: &str) -> (Gate, Claimed) {
        let (gate, plan) = gated(key);
        let holder = self.claimed(key, plan).await;
        self.hand_over(&holder).await;
        (gate.entered().await, holder)
    }

    /// Runs these as one group, in this order, together with renewals of their leases.
    pub(crate) async fn in_one_group<const N: usize>(&self, plans: [(&str, Plan); N]) -> [Answer; N] {
        let holder = format!("before {}", plans[0].0);
        let mut claimed = Vec::new();
        for (key, plan) in plans {
            claimed.push(self.claimed(key, plan).await);
        }
        let (gate, holder) = self.hold_the_writer(&holder).await;
        advance(LEASE / 3).await;
        for claimed in &claimed {
            self.hand_over(claimed).await;
        }
        gate.open();
        assert_eq!(holder.answer().await.status, 201);
        join_all(claimed.into_iter().map(Claimed::answer)).await.try_into().unwrap()
    }

    /// A connection of another program.
    pub(crate) fn connection(&self) -> Connection {
        Connection::open(self.folder.path().join("shop.db")).unwrap()
    }

    /// What other programs find among the orders, without those that held the writer for a group.
    pub(crate) fn orders(&self) -> Vec<String> {
        let connection = self.connection();
        let sql = "SELECT note FROM orders WHERE note NOT LIKE 'before %' ORDER BY rowid";
        let mut orders = connection.prepare(sql).unwrap();
        orders.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    }

    /// What the store says of a key.
    pub(crate) async fn status(&self, key: &str) -> &'static str {
        let key = ScopedKey::new("", &IdempotencyKey::parse(key).unwrap());
        match self.store.status(&key).await.unwrap() {
            Status::InProgress { .. } => "in progress",
            Status::Lapsed { .. } => "lapsed",
            Status::Done { .. } => "done",
            Status::Unknown => "unknown",
        }
    }

    /// Waits until each unfinished record was renewed so long after it was claimed.
    pub(crate) async fn renewals_reach(&self, added: Duration) {
        let least =
            "SELECT min(lease_until - lease - claimed_at) FROM tower_idempotency_records WHERE ended_at IS NULL";
        let connection = self.connection();
        until(|| {
            let renewed: Option<i64> = connection.query_row(least, [], |row| row.get(0)).unwrap();
            renewed.unwrap_or_default() >= i64::try_from(added.as_millis()).unwrap()
        })
        .await;
    }
}

/// A request whose handler waits.
pub(crate) struct Claimed {
    pub(crate) key: String,
    hold: Hold,
    caller: JoinHandle<Answer>,
}

impl Claimed {
    pub(crate) async fn answer(self) -> Answer {
        comes(self.caller).await.unwrap()
    }
}

async fn order(State(desk): State<Arc<Desk>>, claim: Claim<SqliteStore>) -> Result<Response, OrderError> {
    let planned = desk.plans.lock().unwrap().remove(claim.key().as_str());
    let Some((hold, plan)) = planned else {
        return claim.commit(insert(claim.key().as_str())).await;
    };
    hold.pass().await;
    match plan {
        Plan::Commit(work) => {
            let mut committing = pin!(claim.commit(work));
            // Its first poll puts it in the writer's queue.
            let first = poll_fn(|cx| Poll::Ready(committing.as_mut().poll(cx))).await;
            desk.handed_over.add_permits(1);
            match first {
                Poll::Ready(answer) => answer,
                Poll::Pending => committing.await,
            }
        }
        Plan::Answer(status) => {
            // The layer asks the store in this same poll, before a test on this thread goes on.
            desk.handed_over.add_permits(1);
            Ok((status, "not committed").into_response())
        }
    }
}

pub(crate) fn set_up(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(TABLES)
}
