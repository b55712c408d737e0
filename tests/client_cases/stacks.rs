//! K11 and K12: between other layers, and services that are not ready.

use std::{error::Error, io, pin::pin, sync::Arc};

use lab::{
    exchange::{HeldRequest, get, post, post_without_key},
    scripted::{Scripted, Step},
};
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout},
};
use tower::{
    Layer, Service, ServiceBuilder, ServiceExt,
    limit::{ConcurrencyLimit, ConcurrencyLimitLayer},
    load_shed::{LoadShedLayer, error::Overloaded},
};
use tower_idempotency::retry::{Budget, Failure, Outcome, Stopped};

use crate::{millis, secs, seeded, told, waiting};

/// K11: all three at once, over a client that panics when it is called without having been ready.
#[tokio::test(start_paused = true)]
async fn k11_it_works_over_buffer_load_shed_and_a_limit_of_one() {
    let script = Scripted::new([Step::status(503), Step::reset(), Step::status(201)]);
    let client = ServiceBuilder::new()
        .layer(seeded())
        .buffer(4)
        .layer(LoadShedLayer::new())
        .layer(ConcurrencyLimitLayer::new(1))
        .service(script.clone());
    assert_eq!(client.oneshot(post("k", "{}")).await.unwrap().status(), 201);
    assert_eq!(script.attempts(), 3);
}

/// K11: each instance that is called is one that was ready, those of a client that is kept and cloned too.
#[tokio::test(start_paused = true)]
async fn k11_a_service_is_never_called_unready() {
    let script = Scripted::new([Step::status(503)]);
    let mut client = seeded().without_budget().layer(script.clone());
    for _ in 0..3 {
        ServiceExt::<HeldRequest>::ready(&mut client).await.unwrap().call(get("/")).await.unwrap();
        client = client.clone();
    }
    assert_eq!(script.attempts(), 9);
}

/// K11: another request passes a limit of one while the first sleeps.
#[tokio::test(start_paused = true)]
async fn k11_no_permit_is_held_while_sleeping() {
    let script = Scripted::new([Step::status(503), Step::status(200)]);
    let permits = Arc::new(Semaphore::new(1));
    let limited = ConcurrencyLimit::with_semaphore(script.clone(), Arc::clone(&permits));
    let client = waiting(secs(60)).layer(limited);
    let mut sleeping = pin!(client.clone().oneshot(get("/")));
    assert!(timeout(secs(1), &mut sleeping).await.is_err());
    assert_eq!((script.attempts(), permits.available_permits()), (1, 1));

    let begun = Instant::now();
    assert_eq!(client.oneshot(get("/")).await.unwrap().status(), 200);
    assert_eq!(begun.elapsed(), secs(0));
    assert_eq!(sleeping.await.unwrap().status(), 200);
}

/// K11: nor the place in a buffer's queue.
#[tokio::test(start_paused = true)]
async fn k11_no_place_in_a_buffer_is_held_while_sleeping() {
    let script = Scripted::new([Step::status(503), Step::status(200)]);
    let client = ServiceBuilder::new().layer(waiting(secs(60))).buffer(1).concurrency_limit(1).service(script.clone());
    let mut sleeping = pin!(client.clone().oneshot(get("/")));
    assert!(timeout(secs(1), &mut sleeping).await.is_err());
    assert_eq!(timeout(secs(1), client.oneshot(get("/"))).await.unwrap().unwrap().status(), 200);
    assert_eq!(sleeping.await.unwrap().status(), 200);
}

/// K11: the permit is free during the drain's end too: what is drained is the body, and the attempt is over.
#[tokio::test(start_paused = true)]
async fn k11_no_permit_is_held_while_draining() {
    let endless = lab::body::ScriptedBody::streaming().never_ends();
    let script = Scripted::new([Step::with_body(503, endless), Step::status(200)]);
    let permits = Arc::new(Semaphore::new(1));
    let client = seeded().layer(ConcurrencyLimit::with_semaphore(script, Arc::clone(&permits)));
    let mut draining = pin!(client.oneshot(get("/")));
    assert!(timeout(millis(100), &mut draining).await.is_err());
    assert_eq!(permits.available_permits(), 1);
}

/// K11: shed under load is not applied: a POST without a key is sent when there is room.
#[tokio::test(start_paused = true)]
async fn k11_a_request_that_was_shed_is_sent_when_there_is_room() {
    let script = Scripted::new([Step::status(201)]);
    let permits = Arc::new(Semaphore::new(1));
    let client = ServiceBuilder::new()
        .layer(waiting(secs(1)))
        .layer(LoadShedLayer::new())
        .service(ConcurrencyLimit::with_semaphore(script.clone(), Arc::clone(&permits)));
    let taken = permits.acquire().await.unwrap();
    let mut sending = pin!(client.oneshot(post_without_key("{}")));
    assert!(timeout(millis(1500), &mut sending).await.is_err());
    assert_eq!(script.attempts(), 0);
    drop(taken);

    let answer = sending.await.unwrap();

    assert_eq!((answer.status().as_u16(), script.attempts(), told(&answer).attempts()), (201, 1, 3));
}

/// K11: and where there never is, it was surely not applied.
#[tokio::test(start_paused = true)]
async fn k11_a_request_that_is_shed_for_ever_was_not_applied() {
    let script = Scripted::new([]);
    let permits = Arc::new(Semaphore::new(0));
    let client = ServiceBuilder::new()
        .layer(seeded())
        .layer(LoadShedLayer::new())
        .service(ConcurrencyLimit::with_semaphore(script.clone(), permits));
    let error = client.oneshot(post_without_key("{}")).await.unwrap_err();
    assert_eq!((error.info().stopped(), error.outcome()), (Stopped::Attempts, Outcome::NotApplied));
    assert!(error.source().unwrap().is::<Overloaded>());
}

/// K12.
#[tokio::test(start_paused = true)]
async fn k12_a_service_that_is_not_ready_for_the_second_attempt_loses_no_failure() {
    let script = Scripted::new([Step::with_headers(503, &[("x-node", "7")]), Step::NotReady("it is closed".into())]);
    let error = script.send(&seeded(), get("/")).await.unwrap_err();

    assert_eq!((script.attempts(), error.info().attempts(), error.info().stopped()), (1, 1, Stopped::NotReady));
    let [first, second] = error.info().failures() else { panic!("{error:?}") };
    assert!(
        matches!(first.failure(), Failure::Response(head) if head.status() == 503 && head.headers()["x-node"] == "7")
    );
    assert!(matches!(second.failure(), Failure::NotReady(error) if error.to_string() == "it is closed"));
    assert_eq!(error.source().unwrap().to_string(), "it is closed");
}

/// K12: it is no ambiguous failure itself: what the first attempt was decides.
#[tokio::test(start_paused = true)]
async fn k12_not_to_be_ready_is_a_failure_that_was_not_applied() {
    for (first, outcome) in [(Step::refused(), Outcome::NotApplied), (Step::reset(), Outcome::Unknown)] {
        let script = Scripted::new([first, Step::NotReady("it is closed".into())]);
        let error = script.send(&seeded(), post("k", "{}")).await.unwrap_err();
        assert_eq!(error.outcome(), outcome, "{error}");
        let Failure::Error(first) = error.info().failures()[0].failure() else { panic!("{error:?}") };
        assert!(first.is::<io::Error>());
    }
}

/// K12: the retry was not sent, and costs nothing.
#[tokio::test(start_paused = true)]
async fn k12_a_retry_for_which_the_service_is_not_ready_is_refunded() {
    let budget = Budget::new(100);
    let script = Scripted::new([Step::status(503), Step::NotReady("it is closed".into())]);
    let error = script.send(&seeded().budget(budget.clone()), get("/")).await.unwrap_err();
    assert_eq!(budget.available(), 100.0, "while {error} is held");
}

/// K12: before the first attempt nothing was sent at all.
#[tokio::test(start_paused = true)]
async fn k12_a_service_that_is_not_ready_at_first_was_sent_nothing() {
    let script = Scripted::new([Step::NotReady("it is closed".into())]);
    let error = script.send(&seeded(), post("k", "{}")).await.unwrap_err();
    assert_eq!((error.info().attempts(), error.info().first_sent()), (0, None));
    assert_eq!((error.info().stopped(), error.outcome()), (Stopped::NotReady, Outcome::NotApplied));
}
