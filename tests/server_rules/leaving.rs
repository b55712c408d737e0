//! Rule 14: the caller going away does not stop the work.

use std::{pin::pin, sync::Arc};

use http::StatusCode;
use lab::{
    body::ScriptedBody,
    exchange::{post, send, sending},
    gate::{Gate, Verb},
    handler::{Handler, numbered, response},
};
use tokio::time::Instant;
use tower::{Layer, ServiceExt, limit::ConcurrencyLimitLayer};
use tower_idempotency::idempotency::OnFailure;

use crate::support::{Guarded, gate, layer, millis, pass, post_body, secs, store};

/// Sends a request and leaves after a while, unanswered.
async fn send_and_leave<B>(service: &Guarded, request: http::Request<B>, after: std::time::Duration)
where
    Guarded: tower::Service<http::Request<B>>,
{
    let unanswered = tokio::time::timeout(after, service.clone().oneshot(request)).await;
    assert!(unanswered.is_err(), "answered before the caller left");
}

/// Rule 14: while the store claims.
#[tokio::test(start_paused = true)]
async fn a_caller_may_leave_while_its_key_is_claimed() {
    for claim in [Gate::Slow(secs(2)), Gate::SlowAnswer(secs(2))] {
        let (store, handler) = (store(), Handler::numbered());
        store.set_once(Verb::Claim, claim);
        let layer = layer(&store);
        let service = layer.layer(handler.clone());

        send_and_leave(&service, post("k", "{}"), secs(1)).await;
        layer.drained().await;

        assert_eq!((handler.runs(), send(&service, post("k", "{}")).await.replayed()), (1, Some("true")));
    }
}

/// Rule 14: while the handler runs.
#[tokio::test(start_paused = true)]
async fn a_caller_may_leave_while_its_handler_runs() {
    let handler = Handler::scripted(|call| async move {
        pass(secs(30)).await;
        Ok(numbered(call.run))
    });
    let layer = layer(&store());
    let service = layer.layer(handler.clone());

    send_and_leave(&service, post("k", "{}"), secs(1)).await;
    assert_eq!(send(&service, post("k", "{}")).await.status, StatusCode::CONFLICT);
    layer.drained().await;

    assert_eq!((handler.runs(), send(&service, post("k", "{}")).await.text()), (1, "run 1"));
}

/// Rule 14: while the answer is read to be recorded.
#[tokio::test(start_paused = true)]
async fn a_caller_may_leave_while_its_answer_is_read() {
    let handler = Handler::answering(|_| response(201, ScriptedBody::streaming().pause(millis(900)).data("made")));
    let layer = layer(&store());
    let service = layer.layer(handler.clone());

    send_and_leave(&service, post("k", "{}"), millis(500)).await;
    layer.drained().await;

    assert_eq!((handler.runs(), send(&service, post("k", "{}")).await.text()), (1, "made"));
}

/// Rule 14: while the key is closed (V13).
#[tokio::test(start_paused = true)]
async fn a_caller_may_leave_while_its_key_is_closed() {
    for complete in [Gate::Slow(secs(2)), Gate::SlowAnswer(secs(2)), Gate::Never, Gate::Fail] {
        let (store, handler) = (store(), Handler::numbered());
        store.set(Verb::Complete, complete);
        let layer = layer(&store);
        let service = layer.layer(handler.clone());

        send_and_leave(&service, post("k", "{}"), secs(1)).await;
        store.set(Verb::Complete, Gate::Open);
        layer.drained().await;

        assert_eq!((handler.runs(), send(&service, post("k", "{}")).await.text()), (1, "run 1"));
    }
}

/// Rule 14: while its key is given back.
#[tokio::test(start_paused = true)]
async fn a_caller_may_leave_while_its_key_is_given_back() {
    let store = store();
    store.set(Verb::Release, Gate::Slow(secs(2)));
    let layer = layer(&store);
    let service = layer.layer(Handler::answering(|_| response(503, "")));

    send_and_leave(&service, post("k", "{}"), secs(1)).await;
    layer.drained().await;

    assert_eq!(store.inner().len(), 0);
}

/// Rule 14: what was dropped before it was polled never began.
#[tokio::test(start_paused = true)]
async fn a_request_whose_caller_leaves_at_once_is_not_claimed() {
    let (store, handler) = (store(), Handler::numbered());
    let layer = layer(&store);
    let service = layer.layer(handler.clone());

    drop(service.oneshot(post("k", "{}")));
    layer.drained().await;

    assert_eq!((handler.runs(), store.all_calls()), (0, 0));
}

/// Rule 14: a caller that leaves in the middle of its own body has asked for nothing yet.
#[tokio::test(start_paused = true)]
async fn a_request_whose_caller_leaves_within_its_body_is_not_claimed() {
    let (store, handler) = (store(), Handler::numbered());
    let layer = layer(&store);
    let service = layer.layer(handler.clone());
    let half = ScriptedBody::streaming().data("{").pause(secs(2)).data("}");

    send_and_leave(&service, post_body("k", half), secs(1)).await;
    layer.drained().await;
    pass(secs(5)).await;

    assert_eq!((handler.runs(), store.all_calls()), (0, 0));
}

/// Rule 14: a handler whose caller has left may panic; its key is judged as ever.
#[tokio::test(start_paused = true)]
async fn a_panic_after_the_caller_has_left_releases_the_key() {
    let store = store();
    let layer = layer(&store).on_failure(OnFailure::Release);
    let service = layer.layer(Handler::scripted(|_| async {
        pass(secs(2)).await;
        panic!("nobody hears this")
    }));

    send_and_leave(&service, post("k", "{}"), secs(1)).await;
    layer.drained().await;

    assert_eq!(store.inner().len(), 0);
}

/// Rules 13 and 14: an exchange that panicked does not go on.
#[tokio::test(start_paused = true)]
async fn an_exchange_that_panicked_does_not_go_on() {
    let layer = layer(&store());
    let service = layer.layer(Handler::scripted(|_| async { panic!("the handler panics") }));

    assert!(tokio::spawn(service.oneshot(post("k", "{}"))).await.unwrap_err().is_panic());

    let drained = tokio::time::timeout(secs(60), layer.drained()).await;
    assert!(drained.is_ok(), "something of it goes on");
}

/// Rule 14: `drained` waits for the exchanges whose callers have left, and for as long as they take.
#[tokio::test(start_paused = true)]
async fn drained_waits_for_those_whose_callers_have_left() {
    let handler = Handler::scripted(|call| async move {
        pass(secs(30)).await;
        Ok(numbered(call.run))
    });
    let layer = layer(&store());
    let service = layer.layer(handler);
    let sent = Instant::now();
    send_and_leave(&service, post("k", "{}"), secs(1)).await;

    layer.clone().drained().await;

    assert_eq!(sent.elapsed(), secs(30));
}

/// Rule 14: with nobody gone there is nothing to wait for.
#[tokio::test(start_paused = true)]
async fn drained_waits_for_no_one_who_is_still_there() {
    let gate = gate();
    let handler = Handler::numbered_at(&gate);
    let layer = layer(&store());
    let service = layer.layer(handler.clone());
    let first = sending(&service, post("k", "{}"));
    handler.started(1).await;
    let asked = Instant::now();

    layer.drained().await;

    assert_eq!((asked.elapsed(), first.is_finished()), (secs(0), false));
}

/// Rule 14: after `drained` the layer still works: the order of a shutdown is the server's.
#[tokio::test(start_paused = true)]
async fn a_layer_may_be_drained_twice() {
    let handler = Handler::scripted(|call| async move {
        pass(secs(2)).await;
        Ok(numbered(call.run))
    });
    let layer = layer(&store());
    let service = layer.layer(handler.clone());
    layer.drained().await;

    send_and_leave(&service, post("k", "{}"), secs(1)).await;
    layer.drained().await;

    assert_eq!(send(&service, post("k", "{}")).await.replayed(), Some("true"));
}

/// Rule 14: limits on concurrency stand inside the layer: there they count those whose callers have left.
#[tokio::test(start_paused = true)]
async fn a_limit_inside_counts_those_whose_callers_have_left() {
    let gate = gate();
    let handler = Handler::numbered_at(&gate);
    let layer = layer(&store());
    let service = layer.layer(ConcurrencyLimitLayer::new(1).layer(handler.clone()));
    {
        let mut leaves = pin!(service.clone().oneshot(post("a", "{}")));
        tokio::select! {
            _ = &mut leaves => panic!("not answered"),
            () = handler.started(1) => {}
        }
    }

    let second = sending(&service, post("b", "{}"));
    pass(secs(5)).await;

    assert_eq!(handler.runs(), 1);
    gate.add_permits(2);
    assert_eq!(second.await.unwrap().text(), "run 2");
}

/// Rule 14: a thousand callers that hang up on a handler that never ends leave nothing behind after `max_run` (V34).
#[tokio::test(start_paused = true)]
async fn what_callers_leave_behind_ends_at_max_run() {
    let store = store();
    let layer = layer(&store).max_run(secs(60));
    let service = layer.layer(Handler::numbered_at(&Arc::clone(&gate())));
    let sent = Instant::now();
    for n in 0..1_000 {
        let mut request = pin!(service.clone().oneshot(post(&format!("k{n}"), "{}")));
        assert!(is_pending(request.as_mut()).await, "answered before the caller left");
    }

    layer.drained().await;

    assert_eq!((sent.elapsed(), store.inner().len()), (secs(60), 0));
}

/// Polls a future until it waits for something else than this task: whether it is pending then.
async fn is_pending<F: Future>(future: std::pin::Pin<&mut F>) -> bool {
    tokio::select! {
        biased;
        _ = future => false,
        () = tokio::task::yield_now() => true,
    }
}
