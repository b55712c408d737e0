//! Rule 11: a claim is a lease, renewed while its holder lives.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};

use http::StatusCode;
use lab::{
    body::{Broken, ScriptedBody},
    exchange::{post, send, sending},
    gate::{Gate, Verb},
    handler::{Handler, numbered, response},
};
use tower::{Layer, ServiceExt};
use tower_idempotency::{
    idempotency::{Claim, OnFailure, RejectionKind},
    store::Store,
};

use crate::support::{TestStore, filed, gate, layer, millis, pass, refusal, respond, secs, store};

/// Rule 11: renewed while the holder lives: the lease need not exceed the slowest handler (V6).
#[tokio::test(start_paused = true)]
async fn a_handler_may_run_for_many_leases() {
    let gate = gate();
    let handler = Handler::numbered_at(&gate);
    let service = layer(&store()).lease(secs(10)).layer(handler.clone());
    let first = sending(&service, post("k", "{}"));

    for _ in 0..12 {
        pass(millis(9_900)).await;
        assert_eq!(send(&service, post("k", "{}")).await.status, StatusCode::CONFLICT);
    }
    gate.add_permits(1);

    assert_eq!((first.await.unwrap().text(), handler.runs()), ("run 1", 1));
}

/// Rule 11: each lease is renewed in time, however many there are (V10).
#[tokio::test(start_paused = true)]
async fn a_thousand_leases_are_all_renewed_in_time() {
    let gate = gate();
    let handler = Handler::numbered_at(&gate);
    let service = layer(&store()).layer(handler.clone());
    let all: Vec<_> = (0..1_000).map(|n| sending(&service, post(&format!("k{n}"), "{}"))).collect();
    pass(secs(35)).await;

    for n in 0..1_000 {
        assert_eq!(send(&service, post(&format!("k{n}"), "{}")).await.status, StatusCode::CONFLICT);
    }
    gate.add_permits(1_000);

    for one in all {
        assert_eq!(one.await.unwrap().replayed(), Some("false"));
    }
}

/// Rule 11: a lease is renewed at each third of it, from when the claim was asked for.
#[tokio::test(start_paused = true)]
async fn a_lease_is_renewed_each_third_from_when_the_claim_was_asked_for() {
    let (store, gate) = (store(), gate());
    store.set(Verb::Claim, Gate::SlowAnswer(secs(4)));
    let service = layer(&store).lease(secs(9)).layer(Handler::numbered_at(&gate));
    let _first = sending(&service, post("k", "{}"));

    let mut renewals = Vec::new();
    for time in [millis(3_900), millis(200), millis(2_800), millis(200)] {
        pass(time).await;
        renewals.push(store.calls(Verb::Renew));
    }

    assert_eq!(renewals, [0, 1, 1, 2]);
}

/// What has been asked to renew a minute after the exchange has ended.
async fn renewals_after_the_end(store: &TestStore) -> usize {
    let before = store.calls(Verb::Renew);
    pass(secs(60)).await;
    store.calls(Verb::Renew) - before
}

/// Rule 11: renewal stops on every way out (V9).
#[tokio::test(start_paused = true)]
async fn renewals_end_with_the_exchange_on_every_way_out() {
    for policy in [OnFailure::Release, OnFailure::HoldUntilLapse, OnFailure::Record] {
        for way in ["response", "refusal", "error", "panic", "timeout"] {
            let store = store();
            let handler = Handler::scripted(move |call| async move {
                pass(secs(20)).await;
                match way {
                    "response" => Ok(numbered(call.run)),
                    "refusal" => Ok(response(400, "")),
                    "error" => Err(Broken),
                    "panic" => panic!("the handler panics"),
                    _ => std::future::pending().await,
                }
            });
            let service = layer(&store).max_run(secs(60)).on_failure(policy).layer(handler);

            let ended = tokio::spawn(service.oneshot(post("k", "{}"))).await;

            assert_eq!(ended.is_err(), way == "panic");
            assert!(store.calls(Verb::Renew) >= 5, "{way}");
            assert_eq!(renewals_after_the_end(&store).await, 0, "{way}");
        }
    }
}

/// Rule 11: renewal goes on until the completion has been answered.
#[tokio::test(start_paused = true)]
async fn the_lease_is_renewed_until_the_completion_is_answered() {
    let (store, handler) = (store(), Handler::numbered());
    store.set(Verb::Complete, Gate::Slow(secs(50)));
    let service = layer(&store).store_timeout(secs(60)).layer(handler.clone());
    let first = sending(&service, post("k", "{}"));
    pass(secs(45)).await;

    let repeat = send(&service, post("k", "{}")).await;

    assert_eq!(repeat.status, StatusCode::CONFLICT);
    assert_eq!((first.await.unwrap().replayed(), handler.runs()), (Some("false"), 1));
    assert_eq!(send(&service, post("k", "{}")).await.replayed(), Some("true"));
}

/// Rule 11: and while the answer is read to be recorded.
#[tokio::test(start_paused = true)]
async fn the_lease_is_renewed_while_the_answer_is_read() {
    let slow = ScriptedBody::streaming().pause(secs(60)).data("made").sized(4);
    let slow = Mutex::new(Some(slow));
    let handler = Handler::answering(move |_| response(201, slow.lock().unwrap().take().expect("one run")));
    let service = layer(&store()).layer(handler.clone());
    let first = sending(&service, post("k", "{}"));
    pass(secs(45)).await;

    assert_eq!(send(&service, post("k", "{}")).await.status, StatusCode::CONFLICT);
    assert_eq!((first.await.unwrap().text(), handler.runs()), ("made", 1));
}

/// Rule 11: `No` to a renewal only stops renewing: the handler runs on.
#[tokio::test(start_paused = true)]
async fn a_holder_whose_renewal_is_refused_renews_no_more_and_runs_on() {
    let (store, gate) = (store(), gate());
    let handler = Handler::numbered_at(&gate);
    let service = layer(&store).layer(handler.clone());
    let first = sending(&service, post("k", "{}"));
    handler.started(1).await;
    let _ = store.inner().force_release(&filed("k")).await.unwrap();

    pass(secs(4)).await;
    let renewals = store.calls(Verb::Renew);
    pass(secs(60)).await;

    assert_eq!((renewals, store.calls(Verb::Renew), first.is_finished()), (1, 1, false));
    gate.add_permits(1);
    assert_eq!(first.await.unwrap().status, StatusCode::CONFLICT);
}

/// Rule 11: at `max_run` the handler is dropped and the answer is 503.
#[tokio::test(start_paused = true)]
async fn a_handler_that_never_ends_is_dropped_at_max_run() {
    struct Dropped(Arc<AtomicBool>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    let dropped = Arc::new(AtomicBool::new(false));
    let guard = Arc::clone(&dropped);
    let handler = Handler::scripted(move |_| {
        let guard = Dropped(Arc::clone(&guard));
        async move {
            let _guard = guard;
            std::future::pending().await
        }
    });
    let service = layer(&store()).layer(handler.clone());
    let asked = tokio::time::Instant::now();

    let response = respond(&service, post("k", "{}")).await;

    assert!(matches!(refusal(&response), RejectionKind::RunTimedOut));
    assert_eq!((response.status(), asked.elapsed()), (StatusCode::SERVICE_UNAVAILABLE, secs(15 * 60)));
    assert!(dropped.load(Ordering::SeqCst));
}

/// A layer whose handler never ends the first time: the status of its answer, and of a repeat at once.
async fn timed_out_and_repeated(policy: OnFailure) -> ((u16, u16), Option<String>) {
    let handler = Handler::scripted(|call| async move {
        if call.run == 1 { std::future::pending().await } else { Ok(numbered(call.run)) }
    });
    let service = layer(&store()).max_run(secs(60)).on_failure(policy).layer(handler);
    let first = send(&service, post("k", "{}")).await;
    let repeat = send(&service, post("k", "{}")).await;
    ((first.status.as_u16(), repeat.status.as_u16()), repeat.replayed().map(str::to_owned))
}

/// Rule 11: the 503 of `max_run` is judged by rule 13.
#[tokio::test(start_paused = true)]
async fn a_handler_that_was_out_of_time_is_judged_as_a_failure() {
    assert_eq!(timed_out_and_repeated(OnFailure::Release).await, ((503, 201), Some("false".into())));
    assert_eq!(timed_out_and_repeated(OnFailure::HoldUntilLapse).await, ((503, 409), None));
    assert_eq!(timed_out_and_repeated(OnFailure::Record).await, ((503, 410), Some("true".into())));
}

/// Rule 11: when the lease lapses the next repeat takes over, with a higher fence; not before (V6).
#[tokio::test(start_paused = true)]
async fn a_repeat_takes_over_when_the_lease_has_lapsed_and_not_before() {
    let (store, first_ends, second_ends) = (store(), gate(), gate());
    let handler = Handler::numbered_at_each([&first_ends, &second_ends]);
    let service = layer(&store).layer(handler.clone());
    second_ends.add_permits(1);
    store.set(Verb::Renew, Gate::Never);
    let _first = sending(&service, post("k", "{}"));
    handler.started(1).await;

    pass(millis(9_999)).await;
    let early = send(&service, post("k", "{}")).await;
    pass(millis(1)).await;
    let late = send(&service, post("k", "{}")).await;

    assert_eq!((early.status, late.text(), late.replayed()), (StatusCode::CONFLICT, "run 2", Some("false")));
    let claim = |run| handler.call_number(run).parts.extensions.get::<Claim<TestStore>>().expect("a claim").clone();
    assert_eq!((claim(1).attempt(), claim(2).attempt()), (1, 2));
    assert!(claim(2).fence() > claim(1).fence());
}

/// Rule 11: lapsing alone changes nothing: a holder that nobody passed completes.
#[tokio::test(start_paused = true)]
async fn a_holder_whose_lease_lapsed_and_that_nobody_passed_completes() {
    let (store, gate) = (store(), gate());
    let handler = Handler::numbered_at(&gate);
    let service = layer(&store).layer(handler.clone());
    store.set(Verb::Renew, Gate::Never);
    let first = sending(&service, post("k", "{}"));
    handler.started(1).await;
    pass(secs(60)).await;

    gate.add_permits(1);

    assert_eq!(first.await.unwrap().replayed(), Some("false"));
    assert_eq!(send(&service, post("k", "{}")).await.replayed(), Some("true"));
}

/// Rule 11: a lease that lapsed while the store was away is renewed when it is back.
#[tokio::test(start_paused = true)]
async fn a_lapsed_lease_that_nobody_took_over_is_renewed() {
    let (store, gate) = (store(), gate());
    let handler = Handler::numbered_at(&gate);
    let service = layer(&store).layer(handler.clone());
    store.set(Verb::Renew, Gate::Fail);
    let _first = sending(&service, post("k", "{}"));
    handler.started(1).await;
    pass(secs(60)).await;

    store.set(Verb::Renew, Gate::Open);
    pass(secs(1)).await;

    assert_eq!(send(&service, post("k", "{}")).await.status, StatusCode::CONFLICT);
}

/// Rule 11: renewal ends with the longest run, though the exchange is stuck: one that nobody polls any more, or whose
/// handler blocks its thread, must not keep its key for ever (V14).
#[tokio::test(start_paused = true)]
async fn a_lease_whose_exchange_is_stuck_is_not_renewed_for_ever() {
    let handler = Handler::numbered_at(&gate());
    let service = layer(&store()).max_run(secs(60)).layer(handler.clone());
    let mut stuck = Box::pin(service.clone().oneshot(post("k", "{}")));
    let polled = std::future::poll_fn(|cx| std::task::Poll::Ready(stuck.as_mut().poll(cx).is_pending()));
    assert!(polled.await);
    tokio::select! {
        _ = &mut stuck => panic!("it waits at its gate"),
        () = handler.started(1) => {}
    }

    // It is kept, and polled no more.
    pass(secs(60)).await;
    assert_eq!(send(&service, post("k", "{}")).await.status, StatusCode::CONFLICT);
    pass(secs(60)).await;
    let repeat = sending(&service, post("k", "{}"));
    handler.started(2).await;

    drop((stuck, repeat));
}
