//! The routes, and the layer that recognises what is sent again.

use std::{path::PathBuf, time::Duration};

use axum::{
    Json, Router,
    extract::State,
    response::{IntoResponse, Response},
    routing::post,
};
use bytes::Bytes;
use http::StatusCode;
use rusqlite::Connection;
use serde::Serialize;
use tower_idempotency::{
    IdempotencyLayer, SqliteStore,
    idempotency::{Claim, Scope},
    store::Fingerprint,
};

use super::table::{self, Notification};
use crate::bug_tracker::problem::Problem;

/// How long keys are remembered: longer than anybody lets an outbox stand.
pub const RETENTION: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// How long a repeat waits for the one that runs: two workers with the same row each send it once.
const WAIT: Duration = Duration::from_secs(5);

/// The file of notifications and keys.
type Db = PathBuf;

/// What its client is told.
#[derive(Clone, Copy, Debug, Serialize)]
struct NotificationId {
    notification_id: i64,
}

/// One client, the bug tracker: one scope is right. As most services it takes a request without a key, and cannot
/// recognise it.
pub fn idempotency(store: SqliteStore) -> IdempotencyLayer<SqliteStore> {
    IdempotencyLayer::new(store, Scope::shared())
        .with_fingerprint(Fingerprint::json)
        .wait_for(WAIT)
        .retention(RETENTION)
}

/// The whole application.
pub fn app(idempotency: IdempotencyLayer<SqliteStore>, db: PathBuf) -> Router {
    Router::new().route("/notifications", post(notify).get(list)).with_state(db).layer(idempotency)
}

/// Commits the notification together with "this key is done".
async fn notify(State(db): State<Db>, claim: Option<Claim<SqliteStore>>, body: Bytes) -> Result<Response, Problem> {
    let notification: Notification =
        serde_json::from_slice(&body).map_err(|error| Problem::bad_request(format!("No notification: {error}.")))?;
    let created = |notification_id| (StatusCode::CREATED, Json(NotificationId { notification_id }));
    match claim {
        Some(claim) => claim.commit(move |tx| Ok(created(table::insert(tx, &notification)?))).await,
        None => on(db, move |connection| table::insert(connection, &notification))
            .await
            .map(created)
            .map(IntoResponse::into_response),
    }
}

/// All notifications, the oldest first.
async fn list(State(db): State<Db>) -> Result<Json<Vec<Notification>>, Problem> {
    on(db, table::all).await.map(Json)
}

async fn on<T, F>(db: Db, query: F) -> Result<T, Problem>
where
    T: Send + 'static,
    F: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
{
    let done = tokio::task::spawn_blocking(move || query(&Connection::open(db)?)).await;
    Ok(done.expect("a query does not panic")?)
}
