//! Seen red, as in [`seen_red`](crate::seen_red): what a client holds, asks and tells between its attempts.

use std::{
    io,
    panic::AssertUnwindSafe,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use futures_util::{FutureExt, future::join};
use lab::{
    clock::until,
    exchange::{HeldRequest, get, post},
    scripted::{Scripted, Step},
};
use tokio::time::{Instant, sleep, timeout};
use tower::{Layer, Service, ServiceBuilder, ServiceExt, limit::ConcurrencyLimit};
use tower_idempotency::retry::{Budget, Failure, Outcome};

use crate::support::{always, at_once, info, millis, once, secs, send, status, waiting};

/// As many attempts as there are waits, and one more, whatever comes back.
async fn naive(waits: &[Duration], client: &Scripted, request: HeldRequest) -> u16 {
    let mut last = status(&send(client, request.clone()).await);
    for wait in waits {
        if last < 400 && last > 0 {
            break;
        }
        sleep(*wait).await;
        last = status(&send(client, request.clone()).await);
    }
    last
}

/// How often the stored answer is asked for.
async fn attempts_at_a_stored_503(client: impl AsyncFn(Scripted)) -> usize {
    let server = always(Step::with_headers(503, &[("idempotency-replayed", "true")]));
    client(server.clone()).await;
    server.attempts()
}

/// Rule 3: to who looks at the status only, an answer that cannot change is worth another attempt.
#[tokio::test(start_paused = true)]
async fn by_its_status_alone_a_replay_is_asked_for_again_and_again() {
    let ours = async |client| drop(send(&at_once().layer(client), post("k", "{}")).await);
    let by_status = async |client: Scripted| _ = naive(&[secs(0); 2], &client, post("k", "{}")).await;

    assert_eq!(attempts_at_a_stored_503(ours).await, 1);
    assert_eq!(attempts_at_a_stored_503(by_status).await, 3);
}

/// How long the caller is kept by a server that says: tomorrow.
async fn kept_by_a_server_that_is_down_for_a_day(client: impl AsyncFn(Scripted)) -> Duration {
    let began = Instant::now();
    client(once(Step::with_headers(503, &[("retry-after", "86400")]))).await;
    began.elapsed()
}

/// Rule 5: without a maximum the server decides how long the caller is kept.
#[tokio::test(start_paused = true)]
async fn without_a_maximum_a_server_keeps_the_caller_for_a_day() {
    let ours = async |client| drop(send(&at_once().layer(client), get("/reports")).await);
    let obeys = async |client: Scripted| _ = naive(&[secs(86_400)], &client, get("/reports")).await;

    assert_eq!(kept_by_a_server_that_is_down_for_a_day(ours).await, secs(0));
    assert_eq!(kept_by_a_server_that_is_down_for_a_day(obeys).await, secs(86_400));
}

/// The status that the caller of a client with a deadline learns of: a 503, then nothing (K22).
async fn told_after_a_deadline(client: impl AsyncFn(Scripted) -> Option<u16>) -> Option<u16> {
    client(Scripted::new([Step::status(503), Step::Never])).await
}

/// Rule 6: a deadline around the loop knows nothing of what went on inside.
#[tokio::test(start_paused = true)]
async fn with_a_deadline_around_the_loop_the_caller_learns_only_that_time_is_up() {
    let ours = async |client| {
        let error = send(&at_once().deadline(secs(10)).layer(client), get("/reports")).await.expect_err("no answer");
        let Some(Failure::Response(head)) = error.last_failure() else { return None };
        Some(head.status().as_u16())
    };
    let around = async |client: Scripted| timeout(secs(10), naive(&[secs(0)], &client, get("/reports"))).await.ok();

    assert_eq!(told_after_a_deadline(ours).await, Some(503));
    assert_eq!(told_after_a_deadline(around).await, None);
}

/// Rule 7, K17: what a caller that gives up has paid for is lost, unless it comes back by itself.
#[tokio::test(start_paused = true)]
async fn without_a_refund_callers_that_give_up_empty_the_budget() {
    let (budget, tokens) = (Budget::new(100), AtomicU32::new(100));
    let ours = waiting(secs(9)).budget(budget.clone()).layer(always(Step::status(503)));
    let pays_and_waits = async || {
        tokens.fetch_sub(5, Ordering::SeqCst);
        sleep(secs(9)).await;
    };

    for _ in 0..20 {
        timeout(secs(1), send(&ours, get("/reports"))).await.expect_err("it waits");
        timeout(secs(1), pays_and_waits()).await.expect_err("it waits");
    }

    assert_eq!((budget.available(), tokens.into_inner()), (100.0, 0));
}

/// Whether a second request gets the only permit while the first one waits for a minute.
async fn a_second_request_gets_through(client: impl AsyncFn(ConcurrencyLimit<Scripted>)) -> bool {
    let server = Scripted::new([Step::status(503), Step::status(200)]);
    let limited = ServiceBuilder::new().concurrency_limit(1).service(server.clone());
    let second = async {
        until(|| server.attempts() == 1).await;
        timeout(millis(1000), send(&limited, get("/second"))).await.is_ok()
    };
    join(client(limited.clone()), second).await.1
}

/// Rule 10, K11: a service that is made ready before the wait keeps its permit through the wait.
#[tokio::test(start_paused = true)]
async fn with_the_service_made_ready_before_the_wait_nobody_else_gets_through() {
    let ours = async |limited| drop(send(&waiting(secs(60)).layer(limited), get("/first")).await);
    let ready_first = async |mut limited: ConcurrencyLimit<Scripted>| {
        let attempt = ServiceExt::<HeldRequest>::ready(&mut limited).await.expect("ready").call(get("/first"));
        drop(attempt.await);
        let ready = ServiceExt::<HeldRequest>::ready(&mut limited).await.expect("ready");
        sleep(secs(60)).await;
        drop(ready.call(get("/first")).await);
    };

    assert!(a_second_request_gets_through(ours).await);
    assert!(!a_second_request_gets_through(ready_first).await);
}

/// Whether a client survives a service that panics when it is called before it was ready.
async fn survives_a_strict_service(client: impl AsyncFn(Scripted)) -> bool {
    AssertUnwindSafe(client(once(Step::status(503)))).catch_unwind().await.is_ok()
}

/// Rule 10, K11: a clone of a service that is ready is not ready.
#[tokio::test(start_paused = true)]
async fn a_repeat_on_a_clone_that_was_not_asked_panics() {
    let ours = async |client| drop(send(&at_once().layer(client), get("/reports")).await);
    let calls_a_clone = async |mut client: Scripted| {
        let mut fresh = client.clone();
        let attempt = ServiceExt::<HeldRequest>::ready(&mut client).await.expect("ready").call(get("/reports"));
        drop(attempt.await);
        drop(fresh.call(get("/reports")).await);
    };

    assert!(survives_a_strict_service(ours).await);
    assert!(!survives_a_strict_service(calls_a_clone).await);
}

/// What a client says of a charge that timed out, and whose repeat was refused the connection (K24).
async fn said_of_a_timeout_and_a_refusal(client: impl AsyncFn(Scripted) -> Outcome) -> Outcome {
    client(Scripted::new([Step::Never, Step::refused()])).await
}

/// Rule 11: the last error alone says "not applied", and the customer is charged again under another key.
#[tokio::test(start_paused = true)]
async fn by_the_last_error_alone_a_charge_that_may_be_done_is_called_not_applied() {
    let ours = async |client| {
        let layer = at_once().attempt_timeout(secs(1)).max_attempts(2);
        info(&send(&layer.layer(client), post("k", "42 EUR")).await).outcome()
    };
    let last_error = async |client: Scripted| {
        let _ = timeout(secs(1), send(&client, post("k", "42 EUR"))).await;
        let error = send(&client, post("k", "42 EUR")).await.expect_err("refused");
        let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
        if kind == Some(io::ErrorKind::ConnectionRefused) { Outcome::NotApplied } else { Outcome::Unknown }
    };

    assert_eq!(said_of_a_timeout_and_a_refusal(ours).await, Outcome::Unknown);
    assert_eq!(said_of_a_timeout_and_a_refusal(last_error).await, Outcome::NotApplied);
}
