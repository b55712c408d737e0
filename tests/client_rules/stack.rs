//! Rules 11 and 12: one retry in the stack. A second one sees what the first has done, and adds nothing.

use futures_util::future::BoxFuture;
use lab::{
    exchange::{HeldRequest, get, post, post_without_key},
    scripted::{Scripted, ScriptedBody, Step},
};
use tower::{BoxError, Layer, ServiceBuilder};
use tower_idempotency::{
    RetryLayer,
    retry::{Budget, Outcome, Stopped},
};

use crate::support::{always, at_once, info, secs, send, status, stopped};

/// As many retries of this kind around a client, one in the other.
async fn naive(attempts: &'static [u32], client: Scripted, request: HeldRequest) -> u16 {
    fn again(attempts: &'static [u32], client: Scripted, request: HeldRequest) -> BoxFuture<'static, u16> {
        Box::pin(async move {
            let Some((outer, inner)) = attempts.split_first() else { return status(&send(&client, request).await) };
            let mut last = 0;
            for _ in 0..*outer {
                last = again(inner, client.clone(), request.clone()).await;
                if last == 200 {
                    break;
                }
            }
            last
        })
    }
    again(attempts, client, request).await
}

/// Rule 12: attempts across layers multiply: five deep, three each.
#[tokio::test(start_paused = true)]
async fn five_naive_retries_of_three_attempts_make_243_calls() {
    let client = always(Step::status(503));

    naive(&[3; 5], client.clone(), get("/reports")).await;

    assert_eq!(client.attempts(), 243);
}

/// Rule 12: a harness that tries four times around an SDK that tries three times.
#[tokio::test(start_paused = true)]
async fn a_naive_harness_around_a_naive_sdk_makes_12_calls() {
    let client = always(Step::status(503));

    naive(&[4, 3], client.clone(), get("/reports")).await;

    assert_eq!(client.attempts(), 12);
}

/// Rule 12: of five layers the innermost retries, and the others leave it at that.
#[tokio::test(start_paused = true)]
async fn five_layers_of_three_attempts_make_three_calls() {
    let client = always(Step::status(503));
    let five = || (at_once(), at_once());
    let service = ServiceBuilder::new().layer(five()).layer(five()).layer(at_once()).service(client.clone());

    let ended = send(&service, get("/reports")).await;

    assert_eq!((client.attempts(), status(&ended)), (3, 503));
}

/// Rules 11 and 12: what the inner layer gave up is not multiplied: a response (K21).
#[tokio::test(start_paused = true)]
async fn a_response_that_a_layer_inside_gave_up_on_is_not_retried() {
    let client = always(Step::status(503));
    let service = ServiceBuilder::new().layer(at_once()).layer(at_once()).service(client.clone());

    let ended = send(&service, get("/reports")).await;

    let info = info(&ended);
    assert_eq!((client.attempts(), info.attempts(), info.stopped()), (3, 3, Stopped::Attempts));
}

/// Rules 11 and 12: the same for an error, through what tower puts around it (K21).
#[tokio::test(start_paused = true)]
async fn an_error_that_a_layer_inside_gave_up_on_is_not_retried() {
    let client = always(Step::reset());
    let service = ServiceBuilder::new()
        .layer(at_once())
        .timeout(secs(60))
        .load_shed()
        .buffer(8)
        .layer(at_once())
        .service(client.clone());

    let error = send::<_, _, ScriptedBody>(&service, get("/reports")).await.expect_err("a reset");

    assert_eq!((client.attempts(), error.info().stopped()), (3, Stopped::Nested));
}

/// Rules 11 and 12: where the inner layer refused to repeat, the outer one does not do it in its place.
#[tokio::test(start_paused = true)]
async fn a_retry_that_a_layer_inside_refused_is_not_made_outside() {
    let refusals: [(RetryLayer, HeldRequest, Stopped); 2] = [
        (at_once(), post_without_key("{}"), Stopped::NotRepeatable),
        (at_once().budget(Budget::new(0)), get("/reports"), Stopped::Budget),
    ];
    for (inner, request, why) in refusals {
        let client = always(Step::status(503));
        let service = ServiceBuilder::new().layer(at_once()).layer(inner).service(client.clone());

        let ended = send(&service, request).await;

        assert_eq!((client.attempts(), stopped(&ended)), (1, why));
    }
}

/// Rules 11 and 12: a layer that makes one attempt, for its keys or its limits, multiplies nothing.
#[tokio::test(start_paused = true)]
async fn a_layer_inside_that_makes_one_attempt_leaves_the_retries_to_the_one_outside() {
    let client = always(Step::status(503));
    let service = ServiceBuilder::new().layer(at_once()).layer(at_once().max_attempts(1)).service(client.clone());

    let ended = send(&service, get("/reports")).await;

    assert_eq!((client.attempts(), stopped(&ended)), (3, Stopped::Attempts));
}

/// Rule 11: the outcome of the layer inside is that of the one outside.
#[tokio::test(start_paused = true)]
async fn the_outcome_goes_up_through_the_layers() {
    for (steps, outcome) in [
        (vec![Step::refused()], Outcome::NotApplied),
        (vec![Step::reset(), Step::refused()], Outcome::Unknown),
        (vec![Step::reset(), Step::status(201)], Outcome::Applied),
    ] {
        let service = ServiceBuilder::new().layer(at_once()).layer(at_once()).service(Scripted::new(steps));

        let ended = send(&service, post("k", "{}")).await;

        assert_eq!(info(&ended).outcome(), outcome);
    }
}

/// Rule 12: what another layer between them causes is no word of the inner one: it is retried.
#[tokio::test(start_paused = true)]
async fn a_failure_between_two_layers_is_retried_by_the_outer_one() {
    let client = Scripted::new([Step::Never, Step::status(200)]);
    let service = ServiceBuilder::new().layer(at_once()).timeout(secs(1)).layer(at_once()).service(client.clone());

    let response = send::<_, _, ScriptedBody>(&service, get("/reports")).await.expect("a response");

    assert_eq!((client.attempts(), response.status().as_u16()), (2, 200));
}

/// Rules 7 and 12: the outer layer pays nothing for the retries of the inner one, and counts its success.
#[tokio::test(start_paused = true)]
async fn the_budget_outside_pays_nothing_for_retries_inside() {
    let budget = Budget::new(100);
    let outer = at_once().budget(budget.clone());
    let service = ServiceBuilder::new().layer(outer).layer(at_once()).service(always(Step::status(503)));

    send(&service, get("/reports")).await.expect("a response");

    assert_eq!(budget.available(), 100.0);
}

/// Rule 12: one key for all layers, whichever of them makes it.
#[tokio::test(start_paused = true)]
async fn the_layer_outside_makes_the_key_for_all_inside() {
    let client = always(Step::status(503));
    let keyed = || at_once().with_idempotency_keys();

    send(&keyed().layer(keyed().layer(client.clone())), post_without_key("{}")).await.expect("a response");

    let keys = client.header("idempotency-key");
    assert!(keys.len() == 3 && keys[0].is_some() && keys.iter().all(|key| *key == keys[0]), "{keys:?}");
}

/// Rule 12: a client that is not ready is so through all layers, and is not asked again by any.
#[tokio::test(start_paused = true)]
async fn a_client_that_is_not_ready_is_an_error_of_the_outermost_layer() {
    let client = Scripted::new([Step::status(503), Step::NotReady(BoxError::from("closed")), Step::status(200)]);
    let service = ServiceBuilder::new().layer(at_once()).layer(at_once()).service(client.clone());

    let ended = send(&service, get("/reports")).await;

    assert_eq!((client.attempts(), stopped(&ended)), (1, Stopped::Nested));
}
