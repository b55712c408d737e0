//! Two ways to create a job: under a key, and without.

use std::{path::PathBuf, time::Duration};

use axum::{
    Extension, Json, Router,
    extract::State,
    handler::Handler,
    response::{IntoResponse, Response},
    routing::post,
};
use bytes::Bytes;
use http::{StatusCode, request::Parts};
use tower_idempotency::{
    IdempotencyLayer, SqliteStore,
    idempotency::{Claim, Scope},
};

use super::{job, job::NewJob, table};
use crate::bug_tracker::problem::Problem;

/// What the handlers work with.
#[derive(Clone, Debug)]
pub struct Lab {
    /// The file of jobs and keys.
    pub db: PathBuf,
    /// How long the answer of a job that is committed takes.
    pub delay: Duration,
}

/// Who calls. A real server learns it from its authentication; here all callers are one.
#[derive(Clone, Debug)]
pub struct Client(pub &'static str);

/// The client of the lab.
pub const DEMO_CLIENT: Client = Client("fixed-demo-client");

/// How long a repeat waits for the one that runs.
const WAIT: Duration = Duration::from_secs(5);

/// The article's protocol: a key is required and belongs to its client, another job under it is 409, and a repeat of the
/// one that runs waits for its answer.
pub fn idempotency(store: SqliteStore) -> IdempotencyLayer<SqliteStore> {
    let client = Scope::by(|parts: &Parts| match parts.extensions.get::<Client>() {
        Some(client) => Ok(client.0),
        None => Err(StatusCode::UNAUTHORIZED),
    });
    IdempotencyLayer::new(store, client)
        .require_key()
        .with_fingerprint(job::fingerprint)
        .mismatch_status(StatusCode::CONFLICT)
        .wait_for(WAIT)
}

/// `POST /jobs` behind the layer, `POST /unsafe-jobs` beside it.
pub fn app(idempotency: IdempotencyLayer<SqliteStore>, lab: Lab, client: Client) -> Router {
    Router::new()
        .route("/jobs", post(create_once.layer(idempotency)))
        .route("/unsafe-jobs", post(create))
        .with_state(lab)
        .layer(Extension(client))
}

/// Commits the job together with "this key is done with this answer"; then comes the delay.
async fn create_once(State(lab): State<Lab>, claim: Claim<SqliteStore>, body: Bytes) -> Result<Response, Problem> {
    let job = NewJob::parse(&body).map_err(Problem::bad_request)?;
    let committed =
        claim.commit(move |tx| Ok::<_, Problem>((StatusCode::CREATED, Json(table::insert(tx, &job)?)))).await?;
    tokio::time::sleep(lab.delay).await;
    Ok(committed)
}

/// The control: the same job and the same delay, and nothing that knows a repeat.
async fn create(State(lab): State<Lab>, body: Bytes) -> Result<Response, Problem> {
    let job = NewJob::parse(&body).map_err(Problem::bad_request)?;
    // hyper drops the handler of a client that leaves. A layer's exchange goes on then, and so does the article's server:
    // here a task does.
    let work = tokio::spawn(async move {
        let inserted = tokio::task::spawn_blocking(move || table::insert_alone(&lab.db, &job)).await;
        let job = inserted.expect("an insert does not panic")?;
        tokio::time::sleep(lab.delay).await;
        Ok((StatusCode::CREATED, Json(job)).into_response())
    });
    work.await.expect("the work does not panic")
}
