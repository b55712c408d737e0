//! Rule 10: over tower's middlewares. `Scripted` panics when it is called without having been ready.

use std::time::Duration;

use axum::{Router, extract::State, routing::post};
use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::BodyExt;
use lab::scripted::{Scripted, ScriptedBody, Step, answer};
use tower::{
    BoxError, Layer, ServiceBuilder, ServiceExt,
    util::{BoxCloneService, BoxCloneSyncService},
};
use tower_idempotency::retry::{Budget, Outcome, RetryError};

use crate::{SECOND, busy_once, keyed, layer, status, unkeyed};

#[tokio::test(start_paused = true)]
async fn over_a_buffer() {
    let service = busy_once();
    let client = ServiceBuilder::new().layer(layer()).buffer(1).service(service.clone());
    assert_eq!((status(client, keyed()).await, service.attempts()), (201, 2));
}

#[tokio::test(start_paused = true)]
async fn over_a_concurrency_limit() {
    let service = busy_once();
    let client = ServiceBuilder::new().layer(layer()).concurrency_limit(1).service(service.clone());
    assert_eq!((status(client, keyed()).await, service.attempts()), (201, 2));
}

#[tokio::test(start_paused = true)]
async fn over_load_shedding() {
    let service = busy_once();
    let client = ServiceBuilder::new().layer(layer()).load_shed().service(service.clone());
    assert_eq!((status(client, keyed()).await, service.attempts()), (201, 2));
}

#[tokio::test(start_paused = true)]
async fn over_a_timeout() {
    let service = Scripted::new([Step::Never, Step::status(201)]);
    let client = ServiceBuilder::new().layer(layer()).timeout(SECOND).service(service.clone());
    assert_eq!((status(client, keyed()).await, service.attempts()), (201, 2));
}

/// Rule 7: tower's timeout is one of an attempt, too.
#[tokio::test(start_paused = true)]
async fn a_retry_after_a_timeout_inside_costs_what_a_timeout_costs() {
    let budget = Budget::aws_v2_0();
    let service = Scripted::new([Step::Never]);
    let retry = layer().max_attempts(2).budget(budget.clone());
    let client = ServiceBuilder::new().layer(retry).timeout(SECOND).service(service);

    client.oneshot(keyed()).await.expect_err("timed out");

    assert_eq!(budget.available(), 490.0);
}

/// A rate limit is no `Clone`: it stands in a buffer.
#[tokio::test(start_paused = true)]
async fn over_a_rate_limit_it_waits_for_its_turn() {
    let service = busy_once();
    let limited = ServiceBuilder::new().layer(layer()).buffer(1).rate_limit(1, 60 * SECOND).service(service.clone());
    assert_eq!((status(limited, keyed()).await, service.waits()), (201, vec![60 * SECOND]));
}

#[tokio::test(start_paused = true)]
async fn over_boxed_services() {
    let service = busy_once();
    let client = layer().layer(BoxCloneService::new(service.clone()));
    assert_eq!((status(client, keyed()).await, service.attempts()), (201, 2));

    let service = busy_once();
    let client = layer().layer(BoxCloneSyncService::new(service.clone()));
    assert_eq!((status(client, keyed()).await, service.attempts()), (201, 2));
}

#[tokio::test(start_paused = true)]
async fn over_all_of_them() {
    let service = busy_once().hesitates(Duration::from_millis(10));
    let client = ServiceBuilder::new()
        .layer(layer())
        .layer(BoxCloneSyncService::<_, Response<ScriptedBody>, BoxError>::layer())
        .buffer(1)
        .concurrency_limit(1)
        .timeout(SECOND)
        .rate_limit(1, SECOND)
        .service(service.clone());
    assert_eq!((status(client, keyed()).await, service.attempts()), (201, 2));
}

#[tokio::test(start_paused = true)]
async fn over_a_service_that_takes_its_time_to_be_ready() {
    let service = busy_once().hesitates(5 * SECOND);
    let client = layer().layer(service.clone());
    assert_eq!((status(client, keyed()).await, service.waits()), (201, vec![6 * SECOND]));
}

/// Rule 1: shed under load, it was surely not applied.
#[tokio::test(start_paused = true)]
async fn what_is_shed_under_load_is_repeated_without_a_key() {
    let service = Scripted::new([Step::Late(2 * SECOND, answer(201, &[], "")), Step::status(201)]);
    let client =
        ServiceBuilder::new().layer(layer().max_attempts(5)).load_shed().concurrency_limit(1).service(service.clone());

    let both = tokio::join!(status(client.clone(), unkeyed()), status(client, unkeyed()));

    assert_eq!((both, service.attempts()), ((201, 201), 2));
}

#[tokio::test(start_paused = true)]
async fn what_is_always_shed_under_load_was_not_applied() {
    let service = Scripted::new([Step::Never]);
    let client = ServiceBuilder::new().layer(layer()).load_shed().concurrency_limit(1).service(service.clone());
    let under_way = tokio::spawn(client.clone().oneshot(unkeyed()));
    tokio::task::yield_now().await;

    let error: RetryError = client.oneshot(unkeyed()).await.expect_err("overloaded");

    assert_eq!((error.info().attempts(), error.outcome(), service.attempts()), (3, Outcome::NotApplied, 1));
    under_way.abort();
}

/// In process, as the requests of an application's own tests.
#[tokio::test(start_paused = true)]
async fn over_a_router() {
    let app = Router::new()
        .route("/charges", post(odd_is_busy))
        .with_state(Scripted::new([Step::status(503), Step::status(201)]));
    let client = layer().layer(app);

    let answer = client.oneshot(keyed()).await.expect("an answer");

    assert_eq!(answer.status(), StatusCode::CREATED);
    assert_eq!(answer.into_body().collect().await.expect("a body").to_bytes(), "42 EUR");
}

async fn odd_is_busy(State(script): State<Scripted>, body: Bytes) -> (StatusCode, Bytes) {
    let answer = script.oneshot(http::Request::new(http_body_util::Full::new(body.clone()))).await.expect("an answer");
    (answer.status(), body)
}
