//! A test is trusted once it has been seen red: each scenario below runs twice, with the layer and with a small client
//! that leaves one rule out, as many do, and has to go wrong with that.

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use futures_util::future::join_all;
use lab::{
    body::ScriptedBody,
    exchange::{HeldRequest, get, post, post_without_key},
    scripted::{Scripted, Step, answer},
};
use tokio::time::{Instant, sleep};
use tower::Layer;
use tower_idempotency::{
    IdempotencyKey, RetryLayer,
    retry::{Backoff, Budget, SentOnce},
};

use crate::support::{always, at_once, layer, once, secs, send, status, waiting};

/// The layer, as a client of these scenarios.
fn with(layer: RetryLayer) -> impl AsyncFn(Scripted, HeldRequest) -> u16 {
    async move |client, request| status(&send(&layer.layer(client), request).await)
}

/// The server did the work and its answer was lost. How often it does it.
async fn a_charge_whose_answer_is_lost(client: impl AsyncFn(Scripted, HeldRequest) -> u16) -> usize {
    let server = once(Step::reset());
    client(server.clone(), post_without_key("42 EUR")).await;
    server.attempts()
}

/// Rule 1: without the gate the customer pays twice.
#[tokio::test(start_paused = true)]
async fn without_the_gate_a_post_is_sent_twice() {
    let retries_all = async |client: Scripted, request: HeldRequest| {
        let first = status(&send(&client, request.clone()).await);
        if first == 200 { first } else { status(&send(&client, request).await) }
    };

    assert_eq!(a_charge_whose_answer_is_lost(with(at_once())).await, 1);
    assert_eq!(a_charge_whose_answer_is_lost(retries_all).await, 2);
}

/// How many keys the server gets for one logical request: as many times it does the work.
async fn keys_of_one_charge(client: impl AsyncFn(Scripted, HeldRequest) -> u16) -> usize {
    let server = always(Step::reset());
    client(server.clone(), post_without_key("42 EUR")).await;
    server.header("idempotency-key").into_iter().flatten().collect::<HashSet<_>>().len()
}

/// Rule 2: a key that is made inside of the loop, one for each attempt, guards nothing.
#[tokio::test(start_paused = true)]
async fn with_a_key_for_each_attempt_one_request_is_three() {
    let key_in_the_loop = async |client: Scripted, mut request: HeldRequest| {
        for _ in 0..3 {
            request.headers_mut().insert("idempotency-key", IdempotencyKey::random().to_header_value());
            let _ = send(&client, request.clone()).await;
        }
        0
    };

    assert_eq!(keys_of_one_charge(with(at_once().with_idempotency_keys())).await, 1);
    assert_eq!(keys_of_one_charge(key_in_the_loop).await, 3);
}

/// How many different waits a hundred clients have that fail at the same instant.
async fn waits_of_a_herd(step: impl Fn() -> Step, client: impl AsyncFn(Scripted, HeldRequest) -> u16) -> usize {
    let servers: Vec<_> = (0..100).map(|_| once(step())).collect();
    join_all(servers.iter().map(|server| client(server.clone(), get("/reports")))).await;
    servers.iter().flat_map(Scripted::waits).collect::<HashSet<_>>().len()
}

/// Rule 4, K2: one random stream, cloned for each request, makes the herd come back as one.
#[tokio::test(start_paused = true)]
async fn with_one_random_stream_for_all_a_herd_stays_together() {
    let backoff = Backoff::full(secs(1000), secs(1000));
    let one_stream = async |client: Scripted, request: HeldRequest| {
        let mut delays = Backoff::full(secs(1000), secs(1000)).delays(1);
        let _ = send(&client, request.clone()).await;
        sleep(delays.next().expect("it never ends")).await;
        status(&send(&client, request).await)
    };

    assert_eq!(waits_of_a_herd(|| Step::status(503), with(layer().backoff(backoff))).await, 100);
    assert_eq!(waits_of_a_herd(|| Step::status(503), one_stream).await, 1);
}

/// Rule 5, K6: a client that does exactly as it is told comes back with all the others.
#[tokio::test(start_paused = true)]
async fn without_jitter_above_the_hint_a_herd_comes_back_together() {
    let busy = || Step::with_headers(503, &[("retry-after", "60")]);
    let obeys = async |client: Scripted, request: HeldRequest| {
        let told = send(&client, request.clone()).await.expect("a response");
        sleep(secs(told.headers()["retry-after"].to_str().expect("text").parse().expect("seconds"))).await;
        status(&send(&client, request).await)
    };

    assert!(waits_of_a_herd(busy, with(at_once())).await > 90);
    assert_eq!(waits_of_a_herd(busy, obeys).await, 1);
}

/// The time of the last attempt of a request that has ten seconds: each takes five, and the wait is eight.
async fn last_attempt_under_a_deadline(client: impl AsyncFn(Scripted, HeldRequest) -> u16) -> Duration {
    let (began, server) = (Instant::now(), always(Step::Late(secs(5), answer(503, &[], ""))));
    client(server.clone(), get("/reports")).await;
    server.seen().last().expect("an attempt").at - began
}

/// Rule 6, K13: what is left of the time, looked at before the wait, says nothing of what is left after it.
#[tokio::test(start_paused = true)]
async fn with_the_time_looked_at_before_the_wait_an_attempt_begins_after_the_deadline() {
    let looks_before_the_wait = async |client: Scripted, request: HeldRequest| {
        let began = Instant::now();
        let mut last = status(&send(&client, request.clone()).await);
        while last != 200 && began.elapsed() < secs(10) {
            sleep(secs(8)).await;
            last = status(&send(&client, request.clone()).await);
        }
        last
    };

    assert_eq!(last_attempt_under_a_deadline(with(waiting(secs(8)).deadline(secs(10)))).await, secs(0));
    assert_eq!(last_attempt_under_a_deadline(looks_before_the_wait).await, secs(13));
}

/// How many retries two hundred requests make that fail at the same instant, for a hundred tokens.
async fn retries_for_a_hundred(client: impl AsyncFn(Scripted, HeldRequest) -> u16) -> usize {
    let server = always(Step::status(503));
    join_all((0..200).map(|_| client(server.clone(), get("/reports")))).await;
    server.attempts() - 200
}

/// Rule 7, K15: looked at before the wait and paid after it, a budget is spent twice.
#[tokio::test(start_paused = true)]
async fn with_a_budget_that_is_checked_and_then_spent_too_many_are_retried() {
    let tokens = Arc::new(AtomicU32::new(100));
    let checks_then_acts = async |client: Scripted, request: HeldRequest| {
        let first = status(&send(&client, request.clone()).await);
        if tokens.load(Ordering::SeqCst) == 0 {
            return first;
        }
        sleep(secs(1)).await;
        let _ = tokens.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        status(&send(&client, request).await)
    };
    let budget = Budget::new(100).retry_cost(1);

    let ours = with(waiting(secs(1)).budget(budget).max_attempts(2));
    assert_eq!(retries_for_a_hundred(ours).await, 100);
    assert_eq!(retries_for_a_hundred(checks_then_acts).await, 200);
}

/// What is sent of a stream, attempt by attempt, to a server that is busy.
async fn a_stream_to_a_busy_server<C>(client: C) -> Vec<String>
where
    C: AsyncFn(Scripted, http::Request<SentOnce<ScriptedBody>>),
{
    let server = once(Step::status(503));
    client(server.clone(), post("k", "").map(|_| SentOnce::new(ScriptedBody::whole("42 EUR")))).await;
    server.seen().iter().map(|seen| String::from_utf8_lossy(seen.request.body()).into_owned()).collect()
}

/// Rule 8, K8: a body that is taken out for the first attempt is empty for the second.
#[tokio::test(start_paused = true)]
async fn with_the_body_taken_out_by_the_first_attempt_the_second_is_empty() {
    let ours = async |client: Scripted, request| {
        let _ = send(&at_once().layer(client), request).await;
    };
    let takes = async |client: Scripted, request: http::Request<SentOnce<ScriptedBody>>| {
        let (head, mut body) = (request.headers().clone(), Some(request.into_body()));
        for _ in 0..2 {
            let mut request = post("k", "").map(|_| body.take().unwrap_or_default());
            *request.headers_mut() = head.clone();
            let _ = send(&client, request).await;
        }
    };

    assert_eq!(a_stream_to_a_busy_server(ours).await, ["42 EUR"]);
    assert_eq!(a_stream_to_a_busy_server(takes).await, ["42 EUR", ""]);
}
