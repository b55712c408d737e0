//! Rule 7: what retries may cost.

use std::io;

use futures_util::{FutureExt, future::join_all};
use lab::{
    exchange::{get, post_without_key},
    scripted::{Scripted, Step},
};
use tower::{Layer, ServiceExt};
use tower_idempotency::{
    RetryLayer,
    retry::{Backoff, Budget, SentOnce, Stopped},
};

use crate::support::{always, at_once, info, once, secs, send, status, stopped, waiting};

/// Sends GETs that fail every time until the budget is empty. How many retries that were.
async fn empty(layer: &RetryLayer) -> usize {
    let client = always(Step::status(503));
    while stopped(&send(&layer.layer(client.clone()), get("/reports")).await) != Stopped::Budget {}
    client
        .seen()
        .iter()
        .filter(|seen| seen.request.extensions().get::<tower_idempotency::retry::Repeat>().is_some())
        .count()
}

async fn succeed(layer: &RetryLayer) {
    send(&layer.layer(always(Step::status(200))), get("/reports")).await.expect("a response");
}

/// Rule 7: the default is that of the AWS SDKs: of 500 tokens a retry costs 5.
#[tokio::test(start_paused = true)]
async fn each_retry_costs_five() {
    let budget = Budget::default();

    send(&at_once().budget(budget.clone()).layer(always(Step::status(503))), get("/reports"))
        .await
        .expect("a response");

    assert_eq!(budget.available(), 490.0);
}

/// Rule 7: 500, 495, 490, and 495 after the success (K16).
#[tokio::test(start_paused = true)]
async fn a_success_after_retries_gives_the_last_cost_back() {
    let budget = Budget::aws_v2_0();
    let client = Scripted::new([Step::status(503), Step::status(503), Step::status(200)]);

    send(&at_once().budget(budget.clone()).layer(client), get("/reports")).await.expect("a response");

    assert_eq!(budget.available(), 495.0);
}

/// Rule 7: a success at the first try earns one.
#[tokio::test(start_paused = true)]
async fn a_success_at_the_first_try_earns_one() {
    let budget = Budget::aws_v2_0();
    let layer = at_once().budget(budget.clone());
    send(&layer.layer(always(Step::status(503))), get("/reports")).await.expect("a response");

    succeed(&layer).await;

    assert_eq!(budget.available(), 491.0);
}

/// Rule 7: after a timeout a retry costs twice as much, whoever measured the time.
#[tokio::test(start_paused = true)]
async fn a_retry_after_a_timeout_costs_ten() {
    let by_tokio = tokio::time::timeout(secs(0), std::future::pending::<()>()).await.expect_err("no time");
    let timeouts = [
        Step::Never,
        Step::Fail(tower::timeout::error::Elapsed::new().into()),
        Step::Fail(by_tokio.into()),
        Step::Fail(io::Error::from(io::ErrorKind::TimedOut).into()),
    ];
    for client in timeouts.map(always) {
        let budget = Budget::aws_v2_0();
        let layer = at_once().budget(budget.clone()).attempt_timeout(secs(1)).max_attempts(2);

        send(&layer.layer(client.clone()), get("/reports")).await.expect_err("a timeout");

        assert_eq!(budget.available(), 490.0, "{client:?}");
    }
}

/// Rule 7: after a response that says "slow down" a retry may have a price of its own.
#[tokio::test(start_paused = true)]
async fn a_retry_after_a_429_costs_what_throttling_costs() {
    for (status, left) in [(429, 495.0), (500, 486.0)] {
        let budget = Budget::aws_v2_1();
        let layer = at_once().budget(budget.clone()).max_attempts(2);

        send(&layer.layer(always(Step::status(status))), get("/reports")).await.expect("a response");

        assert_eq!(budget.available(), left, "{status}");
    }
}

/// Rule 7: gRPC's budget: each failure takes one, and retries end at half.
#[tokio::test(start_paused = true)]
async fn a_grpc_budget_ends_the_retries_at_half() {
    let budget = Budget::grpc();
    let client = always(Step::status(503));

    let ended = send(&at_once().budget(budget.clone()).max_attempts(9).layer(client.clone()), get("/reports")).await;

    assert_eq!((client.attempts(), stopped(&ended), budget.available()), (5, Stopped::Budget, 5.0));
}

/// Rule 7: empty, the failure is returned at once, and says so: a response.
#[tokio::test(start_paused = true)]
async fn without_a_budget_left_a_response_is_returned_at_once_and_says_so() {
    let client = once(Step::status(503));

    let ended = send(&waiting(secs(9)).budget(Budget::new(4)).layer(client.clone()), get("/reports")).await;

    assert_eq!((client.attempts(), status(&ended), stopped(&ended)), (1, 503, Stopped::Budget));
    assert_eq!(info(&ended).elapsed(), secs(0));
}

/// Rule 7: the same for an error.
#[tokio::test(start_paused = true)]
async fn without_a_budget_left_an_error_is_returned_at_once_and_says_so() {
    let client = once(Step::reset());

    let ended = send(&waiting(secs(9)).budget(Budget::new(4)).layer(client.clone()), get("/reports")).await;

    assert_eq!((client.attempts(), stopped(&ended), info(&ended).elapsed()), (1, Stopped::Budget, secs(0)));
}

/// Rule 7: it empties and it refills to the brim (K16).
#[tokio::test(start_paused = true)]
async fn a_budget_empties_when_all_fail_and_fills_when_all_succeed() {
    let budget = Budget::new(50);
    let layer = at_once().budget(budget.clone());

    assert_eq!((empty(&layer).await, budget.available()), (10, 0.0));
    for _ in 0..60 {
        succeed(&layer).await;
    }
    assert_eq!(budget.available(), 50.0);
}

/// Rule 7: shared by the services of a layer and its clones, and by no other layer's (K18).
#[tokio::test(start_paused = true)]
async fn services_and_clones_of_one_layer_share_a_budget_and_other_layers_do_not() {
    let (layer, other) = (at_once().budget(Budget::new(50)), at_once().budget(Budget::new(50)));
    empty(&layer).await;

    let ended = send(&layer.clone().layer(once(Step::status(503))), get("/reports")).await;
    let elsewhere = send(&other.layer(once(Step::status(503))), get("/reports")).await;

    assert_eq!((stopped(&ended), status(&elsewhere)), (Stopped::Budget, 200));
}

/// Rule 7: in one step: of two hundred requests that fail at the same instant exactly those are retried that it pays for
/// (K15).
#[tokio::test(start_paused = true)]
async fn requests_that_fail_together_get_exactly_what_there_is() {
    let client = always(Step::status(503));
    let budget = Budget::new(100).retry_cost(1);
    let service = waiting(secs(1)).budget(budget.clone()).max_attempts(2).layer(client.clone());

    join_all((0..200).map(|_| send(&service, get("/reports")))).await;

    assert_eq!((client.attempts(), budget.available()), (300, 0.0));
}

/// Rule 7: it is asked last: nothing is taken for a retry that is refused for another reason.
#[tokio::test(start_paused = true)]
async fn nothing_is_taken_for_a_retry_that_another_rule_refuses() {
    let budget = Budget::aws_v2_0();
    let layer = waiting(secs(9)).budget(budget.clone());
    let (busy, late) = (always(Step::status(503)), always(Step::with_headers(503, &[("retry-after", "99")])));
    let nothing_left = Backoff::custom(|_seed| std::iter::empty());

    let ended = [
        send(&layer.layer(busy.clone()), post_without_key("{}")).await,
        send(&layer.clone().max_attempts(1).layer(busy.clone()), get("/")).await,
        send(&layer.clone().deadline(secs(5)).layer(busy.clone()), get("/")).await,
        send(&layer.clone().backoff(nothing_left).layer(busy.clone()), get("/")).await,
        send(&layer.layer(late), get("/")).await,
        send(&layer.layer(busy), get("/").map(SentOnce::new)).await,
    ];

    let why = ended.each_ref().map(stopped);
    use Stopped::{Attempts, Body, Deadline, Hint, NotRepeatable};
    assert_eq!(why, [NotRepeatable, Attempts, Deadline, Stopped::Backoff, Hint, Body]);
    assert_eq!(budget.available(), 500.0);
}

/// Rule 7: a retry that is never sent is refunded: the caller gives up during the wait (K17).
#[tokio::test(start_paused = true)]
async fn the_cost_of_a_retry_that_is_never_sent_comes_back() {
    let budget = Budget::aws_v2_0();
    let service = waiting(secs(9)).budget(budget.clone()).layer(always(Step::status(503)));
    let mut sending = Box::pin(service.oneshot(get("/reports")));
    assert!(sending.as_mut().now_or_never().is_none());
    assert_eq!(budget.available(), 495.0, "taken for the retry that is waited for");

    drop(sending);

    assert_eq!(budget.available(), 500.0);
}

/// Rule 7: the same when the service fails to be ready for it; with the answer, not when the future is dropped.
#[tokio::test(start_paused = true)]
async fn the_cost_of_a_retry_that_the_service_is_not_ready_for_comes_back() {
    let budget = Budget::aws_v2_0();
    let client = Scripted::new([Step::status(503), Step::NotReady("closed".into())]);
    let mut sending = Box::pin(at_once().budget(budget.clone()).layer(client).oneshot(get("/reports")));

    let ended = sending.as_mut().await;

    assert_eq!((stopped(&ended), budget.available()), (Stopped::NotReady, 500.0));
}

/// Rule 7: a refill with time, if it is set.
#[tokio::test(start_paused = true)]
async fn a_budget_can_refill_with_time() {
    let budget = Budget::new(50).refill_per_second(2.0);
    empty(&at_once().budget(budget.clone())).await;

    tokio::time::sleep(secs(10)).await;

    assert_eq!(budget.available(), 20.0);
}

/// Rule 7: without a budget only the attempts bound the retries.
#[tokio::test(start_paused = true)]
async fn without_a_budget_every_failure_is_retried() {
    let client = always(Step::status(503));

    let ended = send(&at_once().without_budget().max_attempts(1000).layer(client.clone()), get("/reports")).await;

    assert_eq!((client.attempts(), stopped(&ended)), (1000, Stopped::Attempts));
}
