//! The routes, and the stack that they stand in.

use std::time::Duration;

use axum::{
    Router,
    routing::{get, post},
};
use deadpool_sqlite::Pool;
use http::{HeaderName, Method, StatusCode, header};
use tower::ServiceBuilder;
use tower_http::{
    compression::CompressionLayer,
    cors::{Any, CorsLayer},
    request_id::{MakeRequestUuid, PropagateRequestIdLayer, SetRequestIdLayer},
    timeout::TimeoutLayer,
    trace::{DefaultMakeSpan, DefaultOnResponse, TraceLayer},
};
use tower_idempotency::{IdempotencyLayer, SqliteStore, idempotency::Scope, key::IDEMPOTENCY_KEY, store::Fingerprint};
use tracing::Level;

use super::{problem, reports};

/// What the handlers work with.
#[derive(Clone, Debug)]
pub struct Tracker {
    /// The database of reports.
    pub pool: Pool,
    /// How long it takes to replay the reproduction steps of a report.
    pub delay: Duration,
}

/// Each report needs a key, and JSON is the same request however it is spelled. There are no accounts here: all callers
/// are one principal, so one scope is right.
pub fn idempotency(store: SqliteStore, lease: Duration) -> IdempotencyLayer<SqliteStore> {
    IdempotencyLayer::new(store, Scope::shared()).require_key().with_fingerprint(Fingerprint::json).lease(lease)
}

/// The longest time that a handler may take beside the replay of the steps.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The whole application.
pub fn app(idempotency: IdempotencyLayer<SqliteStore>, pool: Pool, delay: Duration) -> Router {
    let marker = idempotency.settings().replay_marker().cloned();
    let request_id = HeaderName::from_static("x-request-id");
    let cors = CorsLayer::new()
        .allow_origin(Any)
        .allow_methods([Method::GET, Method::POST])
        .allow_headers([header::CONTENT_TYPE, IDEMPOTENCY_KEY])
        .expose_headers([marker, Some(header::LOCATION)].into_iter().flatten().collect::<Vec<_>>());
    let trace = TraceLayer::new_for_http()
        .make_span_with(DefaultMakeSpan::new().level(Level::INFO))
        .on_response(DefaultOnResponse::new().level(Level::INFO));
    Router::new()
        .route("/reports", post(reports::submit).get(reports::list))
        .route("/reports/{id}", get(reports::one))
        .route("/idempotency", idempotency.status_route())
        .fallback(problem::no_such_page)
        .with_state(Tracker { pool, delay })
        // From the outside in: a replay comes from the idempotency layer, and passes through what stands before it here.
        .layer(
            ServiceBuilder::new()
                .layer(SetRequestIdLayer::new(request_id.clone(), MakeRequestUuid))
                .layer(trace)
                .layer(PropagateRequestIdLayer::new(request_id))
                .layer(cors)
                .layer(CompressionLayer::new())
                .layer(idempotency)
                .layer(TimeoutLayer::with_status_code(StatusCode::SERVICE_UNAVAILABLE, delay.saturating_add(TIMEOUT))),
        )
}
