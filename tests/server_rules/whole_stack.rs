//! "Where it stands in a stack": trace, CORS, compression, authentication, idempotency, limits, the handler.

use std::time::Duration;

use axum::{Router, body::Body, routing::post as on_post};
use http::{
    HeaderName, HeaderValue, Request, StatusCode,
    header::{ACCEPT_ENCODING, CONTENT_ENCODING, ORIGIN},
    request::Parts,
};
use lab::exchange::{post, send};
use tower::{ServiceBuilder, limit::ConcurrencyLimitLayer};
use tower_http::{compression::CompressionLayer, cors::CorsLayer, timeout::TimeoutLayer, trace::TraceLayer};
use tower_idempotency::{IdempotencyLayer, MemoryStore, idempotency::Scope, key::IDEMPOTENCY_KEY};

use crate::support::{pass, secs};

#[derive(Clone)]
struct User(String);

/// Authenticates by a header, for want of something real.
fn authenticated(mut request: Request<Body>) -> Result<Request<Body>, StatusCode> {
    let user = request.headers().get("x-user").and_then(|user| user.to_str().ok()).ok_or(StatusCode::UNAUTHORIZED)?;
    let user = User(user.to_owned());
    request.extensions_mut().insert(user);
    Ok(request)
}

/// The stack that the layer's page shows, around a handler that takes `time` and answers much that compresses well.
fn stack(time: Duration) -> Router {
    let by_user = Scope::by(|parts: &Parts| match parts.extensions.get::<User>() {
        Some(user) => Ok(user.0.clone()),
        None => Err(StatusCode::INTERNAL_SERVER_ERROR),
    });
    let marker = HeaderName::from_static("idempotency-replayed");
    let handler = async move || {
        pass(time).await;
        let run = tower_idempotency::IdempotencyKey::random();
        format!("{run} {}", "a".repeat(10_000))
    };
    Router::new().route("/reports", on_post(handler)).layer(
        ServiceBuilder::new()
            .layer(TraceLayer::new_for_http())
            .layer(CorsLayer::new().allow_headers([IDEMPOTENCY_KEY]).expose_headers([marker]))
            .layer(CompressionLayer::new())
            .layer(axum::middleware::from_fn(async |request, next: axum::middleware::Next| {
                Ok::<_, StatusCode>(next.run(authenticated(request)?).await)
            }))
            .layer(IdempotencyLayer::new(MemoryStore::new(), by_user))
            .layer(ConcurrencyLimitLayer::new(64))
            .layer(TimeoutLayer::with_status_code(StatusCode::GATEWAY_TIMEOUT, secs(30))),
    )
}

fn of(user: &'static str, encoding: Option<&'static str>) -> Request<Body> {
    let mut request = post("k", "{}").map(Body::new);
    let headers = request.headers_mut();
    headers.insert("x-user", HeaderValue::from_static(user));
    headers.insert(ORIGIN, HeaderValue::from_static("https://example.com"));
    if let Some(encoding) = encoding {
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(encoding));
    }
    request
}

/// Each user's keys are their own, and the mark may be read by a page of another origin (V19).
#[tokio::test(start_paused = true)]
async fn the_whole_stack_replays_to_the_same_user_only() {
    let app = stack(secs(1));

    let ann = send(&app, of("ann", None)).await;
    let bob = send(&app, of("bob", None)).await;
    let again = send(&app, of("ann", None)).await;

    assert_eq!((ann.replayed(), bob.replayed(), again.replayed()), (Some("false"), Some("false"), Some("true")));
    assert!(again.body == ann.body && bob.body != ann.body);
    assert_eq!(again.header("access-control-expose-headers"), Some("idempotency-replayed"));
}

/// What is stored is not compressed: each repeat gets it as it accepts it, with a length that is right (V25).
#[tokio::test(start_paused = true)]
async fn a_compression_layer_outside_encodes_each_answer_as_its_caller_accepts_it() {
    let app = stack(secs(1));

    let gzip = send(&app, of("ann", Some("gzip"))).await;
    let plain = send(&app, of("ann", None)).await;
    let gzip_again = send(&app, of("ann", Some("gzip"))).await;

    assert_eq!((gzip.header("content-encoding"), gzip_again.header("content-encoding")), (Some("gzip"), Some("gzip")));
    assert_eq!(gzip.body, gzip_again.body);
    assert!(!plain.headers.contains_key(CONTENT_ENCODING));
    assert_eq!((plain.body.len(), plain.replayed()), (36 + 1 + 10_000, Some("true")));
}

/// Rule 4: one inside is told of no encoding, and so compresses nothing (V25).
#[tokio::test(start_paused = true)]
async fn a_compression_layer_inside_compresses_nothing_that_is_stored() {
    let app = Router::new()
        .route("/reports", on_post(async || "a".repeat(10_000)))
        .layer(CompressionLayer::new())
        .layer(IdempotencyLayer::new(MemoryStore::new(), Scope::shared()));

    send(&app, of("ann", Some("gzip"))).await;
    let repeat = send(&app, of("ann", None)).await;

    assert!(!repeat.headers.contains_key(CONTENT_ENCODING));
    assert_eq!((repeat.body.len(), repeat.replayed()), (10_000, Some("true")));
}

/// Rule 13: a timeout inside is a failure of the handler: its key is free again.
#[tokio::test(start_paused = true)]
async fn a_timeout_inside_gives_the_key_back() {
    let app = stack(secs(31));

    let first = send(&app, of("ann", None)).await;
    let second = send(&app, of("ann", None)).await;

    assert_eq!((first.status, first.replayed()), (StatusCode::GATEWAY_TIMEOUT, Some("false")));
    assert_eq!((second.status, second.replayed()), (StatusCode::GATEWAY_TIMEOUT, Some("false")));
}
