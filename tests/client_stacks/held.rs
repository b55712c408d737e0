//! Rule 10, K11: nothing of the service is held during a wait.

use std::time::Duration;

use http_body_util::BodyExt;
use lab::{
    body,
    scripted::{Scripted, Step, answer},
};
use tower::{ServiceBuilder, limit::ConcurrencyLimit};
use tower_idempotency::retry::Retry;

use crate::{SECOND, keyed, layer, status, unkeyed};

fn one_at_a_time(service: &Scripted) -> Retry<ConcurrencyLimit<Scripted>> {
    ServiceBuilder::new().layer(layer()).concurrency_limit(1).service(service.clone())
}

#[tokio::test(start_paused = true)]
async fn k11_while_one_request_sleeps_another_gets_through() {
    let service = Scripted::new([Step::status(503), Step::status(201)]);
    let client = one_at_a_time(&service);
    let sleeps = tokio::spawn(status(client.clone(), keyed()));
    tokio::task::yield_now().await;
    assert_eq!(service.attempts(), 1);

    assert_eq!(status(client, keyed()).await, 201);

    assert!(!sleeps.is_finished());
    assert_eq!(sleeps.await.expect("no panic"), 201);
    assert_eq!(service.waits(), [Duration::ZERO, SECOND]);
}

#[tokio::test(start_paused = true)]
async fn k11_while_one_request_reads_a_failure_away_another_gets_through() {
    let body = body::ScriptedBody::streaming().data("one").never_ends();
    let stalls = Step::Answer(answer(503, &[], "").map(|_| body.map_err(Into::into).boxed()));
    let service = Scripted::new([stalls, Step::status(201)]);
    let client = one_at_a_time(&service);
    let drains = tokio::spawn(status(client.clone(), keyed()));
    tokio::task::yield_now().await;
    assert_eq!(service.open_bodies(), 1);

    assert_eq!(status(client, keyed()).await, 201);

    assert_eq!((drains.await.expect("no panic"), service.waits()[0]), (201, Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn k11_requests_that_are_retried_at_once_do_not_block_each_other() {
    let late = |status| Step::Late(SECOND / 10, answer(status, &[], ""));
    let service = Scripted::new([late(503), late(503), late(503), late(503), late(201)]);
    let client = one_at_a_time(&service);

    let both = async { tokio::join!(status(client.clone(), keyed()), status(client.clone(), keyed())) };

    assert_eq!(tokio::time::timeout(60 * SECOND, both).await, Ok((201, 201)));
    assert_eq!(service.attempts(), 6);
}

/// A limit hands its permit to who waits in its queue, whether he is asked again or not: a shed request that kept its
/// place would hold a permit while it sleeps.
#[tokio::test(start_paused = true)]
async fn k11_while_a_shed_request_sleeps_another_gets_through() {
    let service = Scripted::new([Step::Late(SECOND / 10, answer(201, &[], "")), Step::status(201)]);
    let client = ServiceBuilder::new().layer(layer()).load_shed().concurrency_limit(1).service(service.clone());
    let first = tokio::spawn(status(client.clone(), unkeyed()));
    tokio::task::yield_now().await;
    let shed = tokio::spawn(status(client.clone(), unkeyed()));
    assert_eq!(first.await.expect("no panic"), 201);
    assert!(!shed.is_finished());

    assert_eq!(status(client, unkeyed()).await, 201);

    assert_eq!(service.waits(), [SECOND / 10], "at once, not when the shed one has had its turn");
    assert_eq!(shed.await.expect("no panic"), 201);
    assert_eq!(service.waits()[1], Duration::from_millis(900));
}
