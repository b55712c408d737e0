//! Rule 10: under tower's middlewares.

use std::time::Duration;

use lab::scripted::{Scripted, Step};
use tower::{
    Layer, Service, ServiceBuilder, ServiceExt,
    load_shed::error::Overloaded,
    timeout::error::Elapsed,
    util::{BoxCloneService, BoxCloneSyncService},
};
use tower_idempotency::retry::Budget;

use crate::{SECOND, busy_once, keyed, layer, status};

#[tokio::test(start_paused = true)]
async fn under_a_buffer() {
    let service = busy_once();
    let client = ServiceBuilder::new().buffer(1).layer(layer()).service(service.clone());
    assert_eq!((status(client, keyed()).await, service.attempts()), (201, 2));
}

#[tokio::test(start_paused = true)]
async fn under_a_concurrency_limit_one_request_is_its_attempts_and_waits() {
    let service = Scripted::new([Step::status(503), Step::status(201)]);
    let client = ServiceBuilder::new().concurrency_limit(1).layer(layer()).service(service.clone());

    let both = tokio::join!(status(client.clone(), keyed()), status(client, keyed()));

    assert_eq!((both, service.waits()), ((201, 201), vec![SECOND, Duration::ZERO]));
}

#[tokio::test(start_paused = true)]
async fn under_load_shedding() {
    let service = busy_once();
    let client = ServiceBuilder::new().load_shed().layer(layer()).service(service.clone());
    assert_eq!((status(client, keyed()).await, service.attempts()), (201, 2));
}

#[tokio::test(start_paused = true)]
async fn under_load_shedding_a_service_that_is_not_ready_is_overloaded() {
    let service = busy_once().hesitates(SECOND);
    let client = ServiceBuilder::new().load_shed().layer(layer()).service(service.clone());

    let error = client.oneshot(keyed()).await.expect_err("overloaded");

    assert!(error.is::<Overloaded>());
    assert_eq!(service.attempts(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_timeout_outside_ends_the_wait_and_refunds_the_retry() {
    let (service, budget) = (busy_once(), Budget::aws_v2_0());
    let client =
        ServiceBuilder::new().timeout(SECOND / 2).layer(layer().budget(budget.clone())).service(service.clone());

    let error = client.oneshot(keyed()).await.expect_err("timed out");

    assert!(error.is::<Elapsed>());
    assert_eq!((service.attempts(), budget.available()), (1, 500.0));
}

#[tokio::test(start_paused = true)]
async fn under_a_rate_limit_retries_do_not_count() {
    let service = busy_once();
    let mut client = ServiceBuilder::new().rate_limit(1, 60 * SECOND).layer(layer()).service(service.clone());

    assert_eq!(status(&mut client, keyed()).await, 201);
    assert_eq!(status(&mut client, keyed()).await, 201);

    assert_eq!(service.waits(), [SECOND, 59 * SECOND]);
}

#[tokio::test(start_paused = true)]
async fn in_a_box() {
    let service = busy_once();
    let client = BoxCloneService::new(layer().layer(service.clone()));
    assert_eq!((status(client, keyed()).await, service.attempts()), (201, 2));

    let service = busy_once();
    let client = BoxCloneSyncService::new(layer().layer(service.clone()));
    assert_eq!((status(client, keyed()).await, service.attempts()), (201, 2));

    let service = busy_once();
    let mut client = layer().layer(service.clone()).boxed();
    let answer = client.ready().await.expect("ready").call(keyed()).await.expect("an answer");
    assert_eq!((answer.status().as_u16(), service.attempts()), (201, 2));
}
