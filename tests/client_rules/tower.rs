//! Rule 10: a good neighbour among tower's services.

use futures_util::{FutureExt, future::BoxFuture};
use lab::{
    body::ScriptedBody,
    clock::until,
    exchange::{HeldRequest, get, post, post_without_key},
    scripted::{Scripted, ScriptedBody as Answered, Step, answer},
};
use tower::{BoxError, Layer, ServiceBuilder, ServiceExt, buffer::Buffer};
use tower_idempotency::{
    RetryLayer,
    retry::{Budget, Failure, Outcome, Repeat, RetryError, Stopped},
};

use crate::support::{always, at_once, info, millis, once, pass, secs, send, status, stopped, waiting};

type Answers = Result<http::Response<Answered>, RetryError>;

/// Rule 10: the instance that is ready is the one that is called, each time: this client panics at any other (K11).
#[tokio::test(start_paused = true)]
async fn each_attempt_is_made_on_an_instance_that_was_ready() {
    let client = Scripted::new([
        Step::ReadyAfter(secs(1)),
        Step::status(503),
        Step::ReadyAfter(secs(2)),
        Step::status(503),
        Step::ReadyAfter(secs(3)),
        Step::status(200),
    ]);

    let ended = send(&at_once().layer(client.clone()), get("/reports")).await;

    assert_eq!((status(&ended), client.waits()), (200, [2, 3].map(secs).to_vec()));
}

/// Rule 10: the service outside is ready when the one inside is.
#[tokio::test(start_paused = true)]
async fn readiness_is_that_of_the_client() {
    let mut service = at_once().layer(Scripted::new([Step::ReadyAfter(secs(1)), Step::status(200)]));

    let ready = ServiceExt::<HeldRequest>::ready(&mut service);

    assert!(tokio::time::timeout(millis(999), ready).await.is_err());
}

/// Rule 10: a service that fails before the first attempt has sent nothing.
#[tokio::test(start_paused = true)]
async fn a_client_that_fails_to_be_ready_has_sent_nothing() {
    let client = always(Step::NotReady("closed".into()));

    let error = send(&at_once().layer(client.clone()), post_without_key("{}")).await.expect_err("not ready");

    let info = error.info();
    assert_eq!((info.attempts(), info.stopped(), info.outcome()), (0, Stopped::NotReady, Outcome::NotApplied));
    assert!(matches!(error.last_failure(), Some(Failure::NotReady(error)) if error.to_string() == "closed"));
}

/// Rule 10: if it fails before a later attempt, the failure of the one before is not lost (K12).
#[tokio::test(start_paused = true)]
async fn a_client_that_fails_to_be_ready_again_does_not_hide_the_first_failure() {
    let client = Scripted::new([Step::status(503), Step::NotReady("closed".into())]);

    let ended = send(&at_once().layer(client), post("k", "{}")).await;

    let info = info(&ended);
    let [first, second] = info.failures() else { panic!("{info:?}") };
    assert!(matches!(first.failure(), Failure::Response(head) if head.status() == 503));
    assert!(matches!(second.failure(), Failure::NotReady(_)));
    assert_eq!((info.attempts(), info.stopped(), info.outcome()), (1, Stopped::NotReady, Outcome::Unknown));
}

/// Rule 10: nothing of the service is held during a wait: another request has its only permit (K11).
#[tokio::test(start_paused = true)]
async fn a_request_that_waits_leaves_the_only_permit_to_another() {
    let client = Scripted::new([Step::status(503), Step::Late(secs(1), answer(200, &[], "")), Step::status(201)]);
    let service = ServiceBuilder::new().layer(waiting(secs(60))).concurrency_limit(1).service(client.clone());
    let first = tokio::spawn(service.clone().oneshot(get("/first")));
    until(|| client.attempts() == 1).await;

    let second = send(&service, get("/second")).await;

    assert_eq!((status(&second), client.attempts()), (200, 2));
    assert_eq!(status(&first.await.expect("no panic")), 201);
}

/// Rule 10: the same while a failed response is read away.
#[tokio::test(start_paused = true)]
async fn a_response_that_is_read_away_holds_no_permit() {
    let endless = Step::with_body(503, ScriptedBody::streaming().never_ends());
    let client = Scripted::new([endless, Step::status(200), Step::status(201)]);
    let layer = at_once().max_drain(1, secs(60));
    let service = ServiceBuilder::new().layer(layer).concurrency_limit(1).service(client.clone());
    let _first = tokio::spawn(service.clone().oneshot(get("/first")));
    until(|| client.attempts() == 1).await;

    let second = send(&service, get("/second")).now_or_never();

    assert_eq!(status(&second.expect("no wait")), 200);
}

/// Rule 10: in a buffer, and around one (K11).
#[tokio::test(start_paused = true)]
async fn it_works_in_a_buffer_and_around_one() {
    let client = always(Step::status(503));
    let inside = Buffer::<HeldRequest, BoxFuture<'static, Answers>>::new(at_once().layer(client.clone()).boxed(), 1);
    send(&inside, get("/reports")).await.expect("a response");
    assert_eq!(client.attempts(), 3);

    let client = always(Step::status(503));
    let around = ServiceBuilder::new().layer(at_once()).buffer(1).service(client.clone());
    send::<_, _, Answered>(&around, get("/reports")).await.expect("a response");
    assert_eq!(client.attempts(), 3);
}

/// Rule 10: the one place of a buffer is free during a wait.
#[tokio::test(start_paused = true)]
async fn a_request_that_waits_leaves_the_place_in_the_buffer_to_another() {
    let client = Scripted::new([Step::status(503), Step::status(200), Step::status(201)]);
    let service = ServiceBuilder::new().layer(waiting(secs(60))).buffer(1).service(client.clone());
    let _first = tokio::spawn(service.clone().oneshot(get("/first")));
    until(|| client.attempts() == 1).await;
    pass(secs(1)).await;

    assert_eq!(status::<Answered, _>(&send(&service, get("/second")).await), 200);
}

/// Rules 1 and 10: what was shed was not applied: it is tried again when there is room, without a key too (K11).
#[tokio::test(start_paused = true)]
async fn a_post_that_was_shed_under_load_is_tried_again() {
    let client = Scripted::new([Step::Late(secs(1), answer(200, &[], "")), Step::status(201)]);
    let service =
        ServiceBuilder::new().layer(waiting(secs(2))).load_shed().concurrency_limit(1).service(client.clone());
    let first = tokio::spawn(service.clone().oneshot(post_without_key("first")));
    until(|| client.attempts() == 1).await;

    let second = send(&service, post_without_key("second")).await;

    assert_eq!((status(&second), info(&second).attempts(), client.attempts()), (201, 2, 2));
    assert_eq!(status(&first.await.expect("no panic")), 200);
}

/// Rule 10: under LoadShed a client that is not ready sheds the request before it is begun.
#[tokio::test(start_paused = true)]
async fn it_can_be_shed_itself() {
    let client = Scripted::new([Step::ReadyAfter(secs(1)), Step::status(200)]);
    let service = ServiceBuilder::new().load_shed().layer(at_once()).service(client.clone());

    let error: BoxError = send::<_, _, Answered>(&service, get("/reports")).await.expect_err("shed");

    assert!(error.is::<tower::load_shed::error::Overloaded>() && client.attempts() == 0);
}

/// Drops a request after this long, the first attempt of which was answered so. What is left in the budget, and how many
/// attempts were made and are under way.
async fn dropped_after(milliseconds: u64, steps: impl IntoIterator<Item = Step>) -> (f64, usize, usize) {
    let (budget, client) = (Budget::aws_v2_0(), Scripted::new(steps));
    let layer = waiting(millis(100)).max_drain(1 << 10, millis(50)).budget(budget.clone());
    let sending = layer.layer(client.clone()).oneshot(get("/reports"));
    tokio::time::timeout(millis(milliseconds), sending).await.expect_err("still under way");
    (budget.available(), client.attempts(), client.in_flight())
}

/// Rule 10: dropping the future, at any point, ends what is under way and leaves the budget exact (K17).
#[tokio::test(start_paused = true)]
async fn a_future_that_is_dropped_leaves_the_budget_exact() {
    let endless = || Step::with_body(503, ScriptedBody::streaming().never_ends());

    let in_the_first_attempt = dropped_after(10, [Step::Never]).await;
    let while_it_reads_away = dropped_after(10, [endless(), Step::status(200)]).await;
    let while_it_waits = dropped_after(60, [Step::status(503), Step::status(200)]).await;
    let before_it_is_ready =
        dropped_after(110, [Step::status(503), Step::ReadyAfter(secs(1)), Step::status(200)]).await;
    let in_the_second_attempt = dropped_after(110, [Step::status(503), Step::Never]).await;

    assert_eq!(in_the_first_attempt, (500.0, 1, 0));
    assert_eq!([while_it_reads_away, while_it_waits, before_it_is_ready], [(500.0, 1, 0); 3], "refunded");
    assert_eq!(in_the_second_attempt, (495.0, 2, 0), "spent");
}

/// Rule 10: each repeat can be told from the first attempt, by services inside and by the server.
#[tokio::test(start_paused = true)]
async fn a_repeat_carries_its_number() {
    let client = once(Step::status(503));
    let layer: RetryLayer = at_once().with_attempt_header("x-attempt".parse().expect("a name"));

    let ended = send(&layer.layer(client.clone()), get("/reports")).await;

    let numbers: Vec<_> = client.seen().iter().map(|seen| seen.request.extensions().get::<Repeat>().copied()).collect();
    assert_eq!(numbers.into_iter().map(|repeat| repeat.map(Repeat::number)).collect::<Vec<_>>(), [None, Some(2)]);
    assert_eq!(
        (client.header("x-attempt"), stopped(&ended)),
        (["1", "2"].map(|n| Some(n.into())).to_vec(), Stopped::Succeeded)
    );
}
