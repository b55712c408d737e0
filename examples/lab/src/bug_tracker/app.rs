//! The routes, and the stack that they stand in.

use std::time::Duration;

use axum::{
    Router, middleware,
    routing::{MethodRouter, get, post},
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
use tower_idempotency::{
    IdempotencyLayer, SqliteStore,
    idempotency::Scope,
    key::IDEMPOTENCY_KEY,
    store::{Fingerprint, Store},
};
use tracing::Level;

use super::{
    Implementation,
    backend::{Backend, Sqlite},
    faults::{self, Faults},
    filed::{self, Filed},
    key_split, naive,
    problem::{self, Problem},
    reports,
};
use crate::watch::{Before, Event, Watch};

/// What the handlers work with.
#[derive(Clone, Debug)]
pub struct Tracker<B = Sqlite> {
    /// How reports are filed, and where.
    pub backend: B,
    /// How long it takes to replay the reproduction steps of a report.
    pub delay: Duration,
    /// What goes wrong; nothing, until it is set.
    pub faults: Faults,
    /// Who is told of reports.
    pub filed: Filed,
}

impl<B> Tracker<B> {
    /// The slow part of filing a report, after the look-up of its key or the claim, and before the write.
    pub(super) async fn replay_the_steps(&self, watch: &Watch) {
        watch.saw(Event::Working);
        tokio::time::sleep(self.delay).await;
        self.faults.before_the_write().await;
        watch.hold(Before::Writing).await;
    }

    /// Where the server is weakest.
    pub(super) fn crash(&self, watch: &Watch) -> Result<(), Problem> {
        self.faults.crash().inspect_err(|_| watch.saw(Event::Crashed))
    }
}

/// Whether clients may set faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultsPage {
    /// `/faults` is there.
    Open,
    /// There is no such page.
    Closed,
}

/// Each report needs a key, and JSON is the same request however it is spelled. There are no accounts here: all callers
/// are one principal, so one scope is right.
pub fn idempotency<S: Store>(store: S, lease: Duration) -> IdempotencyLayer<S> {
    IdempotencyLayer::new(store, Scope::shared()).require_key().with_fingerprint(Fingerprint::json).lease(lease)
}

/// The longest time that a handler may take beside the replay of the steps.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The whole application, with the crate's layer, without faults and without further pages.
pub fn app(idempotency: IdempotencyLayer<SqliteStore>, pool: Pool, delay: Duration) -> Router {
    let tracker = Tracker { backend: Sqlite::new(pool), delay, faults: Faults::default(), filed: Filed::default() };
    app_of(Implementation::KeyAtomic, idempotency, tracker, FaultsPage::Closed, Router::new())
}

/// The whole application on SQLite, with these further pages.
pub fn app_of(
    implementation: Implementation,
    idempotency: IdempotencyLayer<SqliteStore>,
    tracker: Tracker,
    faults_page: FaultsPage,
    further: Router,
) -> Router {
    let submit = match implementation {
        Implementation::Naive => post(naive::submit),
        Implementation::KeySplit => post(key_split::submit),
        Implementation::KeyAtomic => return app_on(idempotency, tracker, faults_page, further),
    };
    let marker = idempotency.settings().replay_marker().cloned();
    let pages = pages(submit, &tracker);
    in_its_stack(pages, marker, tracker.faults, faults_page, further)
}

/// The whole application on any store, with the crate's layer and these further pages.
pub fn app_on<B: Backend>(
    idempotency: IdempotencyLayer<B::Store>,
    tracker: Tracker<B>,
    faults_page: FaultsPage,
    further: Router,
) -> Router {
    let marker = idempotency.settings().replay_marker().cloned();
    let status = idempotency.status_route();
    let pages = pages(post(reports::submit::<B>), &tracker).layer(idempotency).route("/idempotency", status);
    in_its_stack(pages, marker, tracker.faults, faults_page, further)
}

fn pages<B: Backend>(submit: MethodRouter<Tracker<B>>, tracker: &Tracker<B>) -> Router {
    let limit = tracker.delay.saturating_add(TIMEOUT);
    Router::new()
        .route("/reports", submit.get(reports::list::<B>))
        .route("/reports/{id}", get(reports::one::<B>))
        .with_state(tracker.clone())
        .layer(middleware::map_response_with_state(tracker.filed.clone(), filed::tell))
        .layer(TimeoutLayer::with_status_code(StatusCode::SERVICE_UNAVAILABLE, limit))
}

fn in_its_stack(
    pages: Router,
    marker: Option<HeaderName>,
    faults: Faults,
    faults_page: FaultsPage,
    further: Router,
) -> Router {
    let request_id = HeaderName::from_static("x-request-id");
    let cors = CorsLayer::new()
        .allow_origin(Any)
        .allow_methods([Method::GET, Method::POST])
        .allow_headers([header::CONTENT_TYPE, IDEMPOTENCY_KEY])
        .expose_headers([marker, Some(header::LOCATION)].into_iter().flatten().collect::<Vec<_>>());
    let trace = TraceLayer::new_for_http()
        .make_span_with(DefaultMakeSpan::new().level(Level::INFO))
        .on_response(DefaultOnResponse::new().level(Level::INFO));
    let pages = match faults_page {
        FaultsPage::Open => {
            let pages = pages.merge(faults::routes(faults.clone())).merge(further);
            pages.layer(middleware::from_fn(faults::one_request_a_connection))
        }
        FaultsPage::Closed => pages.merge(further),
    };
    // From the outside in: a replay comes from the idempotency layer, and passes through what stands before it here.
    pages
        .fallback(problem::no_such_page)
        .layer(
            ServiceBuilder::new()
                .layer(SetRequestIdLayer::new(request_id.clone(), MakeRequestUuid))
                .layer(trace)
                .layer(PropagateRequestIdLayer::new(request_id))
                .layer(cors)
                .layer(CompressionLayer::new()),
        )
        .layer(middleware::map_response_with_state(faults, faults::on_the_way_out))
}
