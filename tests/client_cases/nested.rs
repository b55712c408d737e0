//! K21: retries in one another.

use std::error::Error;

use lab::{
    exchange::{get, post},
    scripted::{Scripted, Step},
};
use tower::{Layer, ServiceBuilder, ServiceExt};
use tower_idempotency::retry::{Budget, Outcome, RetryError, Stopped};

use crate::{seeded, told};

/// K21: an error, found among the causes: three attempts and not nine.
#[tokio::test(start_paused = true)]
async fn k21_an_error_that_a_layer_inside_gave_up_is_not_multiplied() {
    let script = Scripted::new([Step::reset()]);
    let error = seeded().layer(seeded().layer(script.clone())).oneshot(post("k", "{}")).await.unwrap_err();
    assert_eq!((script.attempts(), error.info().attempts()), (3, 1));
    assert_eq!((error.info().stopped(), error.outcome()), (Stopped::Nested, Outcome::Unknown));
    let inner = error.source().unwrap().downcast_ref::<RetryError>().unwrap();
    assert_eq!((inner.info().stopped(), inner.info().attempts()), (Stopped::Attempts, 3));
}

/// K21: a response, by the mark in its extensions, which stands.
#[tokio::test(start_paused = true)]
async fn k21_a_response_that_a_layer_inside_gave_up_is_not_multiplied() {
    let script = Scripted::new([Step::status(503)]);
    let answer = seeded().layer(seeded().layer(script.clone())).oneshot(get("/")).await.unwrap();
    assert_eq!((answer.status().as_u16(), script.attempts()), (503, 3));
    assert_eq!((told(&answer).stopped(), told(&answer).attempts()), (Stopped::Attempts, 3));
}

/// K21: through layers that wrap the error.
#[tokio::test(start_paused = true)]
async fn k21_a_failure_is_not_multiplied_through_a_buffer() {
    let script = Scripted::new([Step::reset()]);
    let client = ServiceBuilder::new()
        .layer(seeded())
        .buffer(4)
        .load_shed()
        .timeout(crate::secs(3600))
        .layer(seeded())
        .service(script.clone());
    let error = client.oneshot(post("k", "{}")).await.unwrap_err();
    assert_eq!((script.attempts(), error.info().stopped()), (3, Stopped::Nested));
}

/// K21: whatever made the layer inside give up, but for one that tries only once and multiplies nothing.
#[tokio::test(start_paused = true)]
async fn k21_what_the_layer_inside_refused_is_not_tried_outside() {
    for inside in [seeded().budget(Budget::new(0)), seeded().deadline(std::time::Duration::ZERO)] {
        let script = Scripted::new([Step::status(503)]);
        let answer = seeded().layer(inside.layer(script.clone())).oneshot(get("/")).await.unwrap();
        assert_eq!((answer.status().as_u16(), script.attempts()), (503, 1));
    }
}

/// K21: what the layer inside made good is a success outside.
#[tokio::test(start_paused = true)]
async fn k21_what_the_layer_inside_made_good_is_a_success() {
    let script = Scripted::new([Step::reset(), Step::status(503), Step::status(201)]);
    let answer = seeded().layer(seeded().layer(script.clone())).oneshot(post("k", "{}")).await.unwrap();
    assert_eq!((answer.status().as_u16(), script.attempts()), (201, 3));
    assert_eq!((told(&answer).stopped(), told(&answer).outcome()), (Stopped::Succeeded, Outcome::Applied));
}

/// K21: and both layers send the one key.
#[tokio::test(start_paused = true)]
async fn k21_the_layer_inside_keeps_the_key_of_the_one_outside() {
    let script = Scripted::new([Step::status(503)]);
    let layer = || seeded().with_idempotency_keys();
    let client = layer().layer(layer().layer(script.clone()));
    client.oneshot(lab::exchange::post_without_key("{}")).await.unwrap();
    let keys = script.header("idempotency-key");
    assert!(keys.len() == 3 && keys.iter().all(|key| *key == keys[0]), "{keys:?}");
}
