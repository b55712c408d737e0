//! After success the committed response is what the caller gets, whatever is said afterwards (V31).

use std::future::pending;

use axum::{
    Router,
    response::{IntoResponse, Response},
    routing::post,
};
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, StatusCode};
use http_body_util::Full;
use lab::exchange::{Answer, post as request, send};
use tower::{BoxError, Layer, ServiceBuilder, service_fn};
use tower_http::timeout::TimeoutLayer;
use tower_idempotency::{
    SqliteStore,
    idempotency::{Claim, MaybeHeld},
};

use crate::{
    log,
    tracker::{Failure, SECOND, Tracker, file, seen},
};

const WARNING: &str = "ended with another response than it had committed";

/// V31.
#[tokio::test]
async fn a_handler_that_returns_an_error_after_its_commit_has_committed() {
    let tracker = Tracker::open().await;
    let app = tracker.app(async |claim: Claim<SqliteStore>| -> Result<Response, Failure> {
        claim.commit(file("slow page")).await?;
        Err(Failure::NoSuchModule)
    });
    assert_the_committed_one_is_answered(&tracker, &app).await;
}

/// V31.
#[tokio::test]
async fn a_handler_that_panics_after_its_commit_has_committed() {
    let tracker = Tracker::open().await;
    let app = tracker.app(async |claim: Claim<SqliteStore>| -> StatusCode {
        claim.commit(file("slow page")).await.unwrap();
        panic!("the mail server is down")
    });
    assert_the_committed_one_is_answered(&tracker, &app).await;
}

/// V31.
#[tokio::test]
async fn a_handler_that_returns_another_response_after_its_commit_has_committed() {
    let tracker = Tracker::open().await;
    let app = tracker.app(async |claim: Claim<SqliteStore>| {
        claim.commit(file("slow page")).await?;
        Ok::<_, Failure>((StatusCode::ACCEPTED, "soon"))
    });
    assert_the_committed_one_is_answered(&tracker, &app).await;
}

/// V31.
#[tokio::test(start_paused = true)]
async fn a_handler_that_a_timeout_layer_cuts_after_its_commit_has_committed() {
    let tracker = Tracker::open().await;
    let stack = ServiceBuilder::new()
        .layer(tracker.layer())
        .layer(TimeoutLayer::with_status_code(StatusCode::GATEWAY_TIMEOUT, SECOND));
    let handler = async |claim: Claim<SqliteStore>| -> StatusCode {
        claim.commit(file("slow page")).await.unwrap();
        pending().await
    };
    let app = Router::new().route("/reports", post(handler)).layer(stack);
    assert_the_committed_one_is_answered(&tracker, &app).await;
}

/// V31.
#[tokio::test]
async fn a_layer_in_between_changes_nothing_of_a_committed_response() {
    async fn decorate(mut response: Response) -> impl IntoResponse {
        response.headers_mut().insert(HeaderName::from_static("x-decorated"), HeaderValue::from_static("yes"));
        *response.status_mut() = StatusCode::OK;
        response
    }
    let tracker = Tracker::open().await;
    let stack = ServiceBuilder::new().layer(tracker.layer()).layer(axum::middleware::map_response(decorate));
    let handler = async |claim: Claim<SqliteStore>| claim.commit(file("slow page")).await;
    let app = Router::new().route("/reports", post(handler)).layer(stack);

    let first = assert_the_committed_one_is_answered(&tracker, &app).await;

    assert_eq!(first.header("x-decorated"), None);
}

/// V31: the inner service is any service, and the base form needs no framework.
#[tokio::test(start_paused = true)]
async fn an_error_of_the_inner_service_after_a_commit_is_not_what_the_caller_gets() {
    let tracker = Tracker::open().await;
    let service = service_fn(async |request: Request<MaybeHeld<Full<Bytes>>>| {
        let claim: &Claim<SqliteStore> = request.extensions().get().unwrap();
        let commit = claim.commit_response(|tx| {
            let (status, title) = file("slow page")(tx)?;
            Ok::<_, Failure>(http::Response::builder().status(status).body(Bytes::from(title)).unwrap())
        });
        commit.await.unwrap();
        Err::<http::Response<Full<Bytes>>, BoxError>("the mail server is down".into())
    });
    let service = tracker.layer().layer(service);

    let first = send(&service, request("k", "{}")).await;
    let repeat = send(&service, request("k", "{}")).await;

    assert_eq!(seen(&first), (201, "slow page", Some("false")));
    assert_eq!(seen(&repeat), (201, "slow page", Some("true")));
    assert_eq!(tracker.reports(), ["slow page"]);
}

#[tokio::test]
async fn another_response_than_the_committed_one_is_warned_about_once() {
    log::start();
    let tracker = Tracker::open().await;
    let app = tracker.app(async |claim: Claim<SqliteStore>| {
        claim.commit(file("slow page")).await?;
        Ok::<_, Failure>(StatusCode::ACCEPTED)
    });

    send(&app, request("k", "{}")).await;
    send(&app, request("l", "{}")).await;

    assert_eq!(log::count(WARNING), 1);
}

#[tokio::test]
async fn a_handler_that_returns_what_it_committed_is_not_warned_about() {
    log::start();
    let tracker = Tracker::open().await;
    let app = tracker.app(async |claim: Claim<SqliteStore>| claim.commit(file("slow page")).await);

    send(&app, request("k", "{}")).await;

    assert_eq!((log::count(WARNING), log::count("")), (0, 0));
}

/// The first caller and each repeat get the committed response, and it was committed once.
async fn assert_the_committed_one_is_answered(tracker: &Tracker, app: &Router) -> Answer {
    let first = send(app, request("k", "{}")).await;
    let repeats = [send(app, request("k", "{}")).await, send(app, request("k", "{}")).await];

    assert_eq!(seen(&first), (201, "slow page", Some("false")));
    for mut repeat in repeats {
        assert_eq!(repeat.replayed(), Some("true"));
        repeat.headers.insert("idempotency-replayed", HeaderValue::from_static("false"));
        assert_eq!(repeat, first, "but for the mark");
    }
    assert_eq!(tracker.reports(), ["slow page"]);
    first
}
