//! Rules 11 and 12: a `RetryLayer` around another one.

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use lab::{
    exchange::{HeldRequest, get, post_without_key},
    scripted::{Scripted, Step},
};
use tower::{Layer, ServiceBuilder, ServiceExt, service_fn};
use tower_idempotency::{
    RetryLayer,
    retry::{AssumeRepeatable, Backoff, HoldResponses},
};

use crate::support::{Cut, Server, answer, at_once, secs, send};

/// How often a client that fails first in this way is asked, by a layer around one of a single attempt.
async fn around_one_attempt(inner: RetryLayer, first: Step, request: HeldRequest) -> usize {
    let client = Scripted::new([first, Step::status(200)]);
    let stack = ServiceBuilder::new().layer(at_once()).layer(inner.max_attempts(1)).service(client.clone());
    send(stack, request).await.expect("a response");
    client.attempts()
}

/// Rule 11: a layer that is there for its limit has given nothing up.
#[tokio::test(start_paused = true)]
async fn a_single_attempt_that_timed_out_inside_is_repeated() {
    assert_eq!(around_one_attempt(RetryLayer::new().attempt_timeout(secs(1)), Step::Never, get("/reports")).await, 2);
}

/// Rule 11: as above, by the other limit.
#[tokio::test(start_paused = true)]
async fn a_single_attempt_whose_deadline_passed_inside_is_repeated() {
    assert_eq!(around_one_attempt(RetryLayer::new().deadline(secs(1)), Step::Never, get("/reports")).await, 2);
}

/// Rule 1: what proves that nothing was done proves it through a layer, too.
#[tokio::test(start_paused = true)]
async fn a_single_attempt_that_was_refused_inside_is_repeated_without_a_key() {
    assert_eq!(around_one_attempt(RetryLayer::new(), Step::refused(), post_without_key("42 EUR")).await, 2);
}

/// How often a server that always fails is asked by two layers, where the inner one waits for 1 s and then for 2 s.
async fn attempts_of_two(outer: RetryLayer) -> usize {
    let client = Scripted::new([Step::status(503)]);
    let inner = RetryLayer::new().backoff(Backoff::exponential(secs(1), secs(10)));
    let stack = ServiceBuilder::new().layer(outer).layer(inner).service(client.clone());
    drop(send(stack, get("/reports")).await);
    client.attempts()
}

/// Rule 11: the outer one sees that the inner one has given up.
#[tokio::test(start_paused = true)]
async fn two_layers_make_the_attempts_of_one() {
    assert_eq!(attempts_of_two(at_once()).await, 3);
}

/// Rule 11: a timeout between the two throws the mark away: three times the two attempts that the inner one gets to.
#[tokio::test(start_paused = true)]
async fn attempts_multiply_where_a_timeout_cuts_the_inner_layer() {
    assert_eq!(attempts_of_two(at_once().attempt_timeout(secs(2))).await, 6);
}

/// Rule 11: so does `HoldResponses`, where the answer is cut: three times a 503 and a 200 that breaks off.
#[tokio::test(start_paused = true)]
async fn attempts_multiply_where_a_held_response_is_cut_between_two_layers() {
    let server = Server::new(|n| match n % 2 {
        0 => answer(503, Cut::whole()),
        _ => answer(200, Cut::by("cut")),
    });
    let stack = ServiceBuilder::new().layer(at_once()).layer(HoldResponses::up_to(100)).layer(at_once());

    let ended = send(stack.service(server.client()), get("/reports")).await;

    assert_eq!((server.served(), ended.is_err()), (6, true));
}

/// Rule 1: `AssumeRepeatable` stays on the request, and opens the gate of a layer that it is sent on through.
#[tokio::test(start_paused = true)]
async fn the_mark_of_a_request_that_is_sent_on_opens_the_next_gate() {
    let upstream = Scripted::new([Step::reset()]);
    let next = at_once().layer(upstream.clone());
    let sends_on = service_fn(move |request: Request<Full<Bytes>>| next.clone().oneshot(request));
    let mut marked = post_without_key("{}");
    marked.extensions_mut().insert(AssumeRepeatable);

    send(RetryLayer::new().max_attempts(1).layer(sends_on), marked).await.expect_err("reset");

    assert_eq!(upstream.attempts(), 3);
}
