//! V9 to V12, V36 and V37: leases, and a store that fails a holder.

use std::{future::pending, time::Duration};

use http::StatusCode;
use lab::{
    app::{App, Hold, answer, created},
    clock::until,
    exchange::post,
    gate::{Gate, Verb},
    problem,
};
use tokio::time::Instant;
use tower::ServiceExt;
use tower_idempotency::{
    IdempotencyKey, MemoryStore, Store,
    idempotency::OnFailure,
    store::{ScopedKey, Status},
};

use crate::{LEASE, gated, held, shared};

/// V9: whichever way a run ends, nothing renews its lease afterwards.
#[tokio::test(start_paused = true)]
async fn v09_renewal_stops_on_every_path_out() {
    let store = gated();
    for policy in [OnFailure::Release, OnFailure::HoldUntilLapse, OnFailure::Record] {
        let layer = shared(store.clone()).on_failure(policy).max_run(Duration::from_secs(30));
        let app = App::fallible(&layer, |_, request| async move {
            tokio::time::sleep(LEASE).await;
            match request.uri().path() {
                "/panic" => panic!("the handler panics"),
                "/error" => Err("the service fails".into()),
                "/failure" => Ok(answer(StatusCode::INTERNAL_SERVER_ERROR, "")),
                "/refusal" => Ok(answer(StatusCode::BAD_REQUEST, "")),
                "/endless" => pending().await,
                _ => Ok(created("")),
            }
        });
        for path in ["/created", "/refusal", "/failure", "/error", "/panic", "/endless"] {
            let mut request = post(&format!("{path} {policy:?}"), "{}");
            *request.uri_mut() = path.parse().unwrap();
            let before = store.calls(Verb::Renew);
            let _ = tokio::spawn(app.service().oneshot(request)).await;
            let renewals = store.calls(Verb::Renew);
            assert!(renewals >= before + 2, "it was renewed while it ran: {path}");
            tokio::time::sleep(4 * LEASE).await;
            assert_eq!(store.calls(Verb::Renew), renewals, "{path} {policy:?}");
        }
    }
}

/// V10: 1,000 leases in flight at once are all renewed in time.
#[tokio::test(start_paused = true)]
async fn v10_a_thousand_leases_are_renewed_in_time() {
    let (store, hold) = (gated(), Hold::new());
    let app = held(&shared(store.clone()), &hold);
    let running: Vec<_> = (0..1_000).map(|n| app.start(post(&n.to_string(), "{}"))).collect();
    for _ in 0..1_000 {
        hold.reached().await;
    }
    for _ in 0..6 {
        tokio::time::sleep(LEASE).await;
        for n in 0..1_000 {
            let key = ScopedKey::new("", &IdempotencyKey::parse(&n.to_string()).unwrap());
            assert!(matches!(store.status(&key).await, Ok(Status::InProgress { .. })), "{n}");
        }
    }
    hold.let_go(1_000);
    for request in running {
        assert_eq!(request.await.unwrap().replayed(), Some("false"));
    }
}

/// V11, in memory: a lease is measured on tokio's clock alone. An hour passes there and none on the host's wall clock,
/// which is the wall clock set back by an hour.
#[tokio::test(start_paused = true)]
async fn v11_a_jump_of_the_wall_clock_ends_no_lease_and_no_retention() {
    let (store, hold) = (MemoryStore::new(), Hold::new());
    let app = held(&shared(store.clone()).max_run(Duration::from_secs(2 * 60 * 60)), &hold);
    let first = app.start(post("k", "{}"));
    hold.reached().await;
    let key = ScopedKey::new("", &IdempotencyKey::parse("k").unwrap());
    let Ok(Status::InProgress { since }) = store.status(&key).await else { panic!("it runs") };

    tokio::time::sleep(Duration::from_secs(60 * 60)).await;

    assert_eq!(app.send(post("k", "{}")).await.status, StatusCode::CONFLICT);
    hold.let_go(1);
    assert_eq!(first.await.unwrap().text(), "run 1");
    assert_eq!(app.send(post("k", "{}")).await.text(), "run 1");
    let Ok(Status::Done { at, .. }) = store.status(&key).await else { panic!("it ended") };
    assert_eq!(at.duration_since(since).unwrap(), Duration::from_secs(60 * 60));
}

/// V12: exactly the completion write fails: the caller still gets its response, a repeat gets 409 until the lease
/// lapses, and there is never a second run inside the lease.
#[tokio::test(start_paused = true)]
async fn v12_a_completion_that_fails_costs_the_caller_nothing() {
    for gate in [Gate::Fail, Gate::FailForGood, Gate::Never] {
        let store = gated();
        store.set(Verb::Complete, gate.clone());
        let app = App::numbered(&shared(store.clone()));
        let first = app.start(post("k", "{}"));
        until(|| store.calls(Verb::Complete) > 0).await;
        assert_eq!(app.send(post("k", "{}")).await.status, StatusCode::CONFLICT, "{gate:?}");

        let first = first.await.unwrap();
        assert_eq!((first.text(), first.replayed()), ("run 1", Some("false")), "{gate:?}");
        assert_eq!(app.send(post("k", "{}")).await.status, StatusCode::CONFLICT, "{gate:?}");
        assert_eq!(app.runs(), 1);

        store.set(Verb::Complete, Gate::Open);
        tokio::time::sleep(LEASE).await;
        assert_eq!(app.send(post("k", "{}")).await.text(), "run 2", "{gate:?}");
    }
}

/// V12: a completion whose answer was lost is asked for again, and the record stands.
#[tokio::test(start_paused = true)]
async fn v12_a_completion_whose_answer_was_lost_is_asked_for_again() {
    let store = gated();
    store.set_once(Verb::Complete, Gate::LoseAnswer);
    let app = App::numbered(&shared(store.clone()));
    assert_eq!(app.send(post("k", "{}")).await.text(), "run 1");
    assert_eq!(store.calls(Verb::Complete), 2);
    assert_eq!(app.send(post("k", "{}")).await.replayed(), Some("true"));
}

/// V36: retention 1 minute, a handler of 2 minutes: no second run beside it, and the full retention afterwards.
#[tokio::test(start_paused = true)]
async fn v36_a_run_longer_than_the_retention_is_protected_and_then_retained_in_full() {
    let hold = Hold::new();
    let layer = shared(MemoryStore::new()).retention(Duration::from_secs(60)).purge_interval(Duration::from_secs(1));
    let app = held(&layer, &hold);
    let first = app.start(post("k", "{}"));
    hold.reached().await;
    for _ in 0..120 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(app.send(post("k", "{}")).await.status, StatusCode::CONFLICT);
    }
    hold.let_go(1);
    first.await.unwrap();

    tokio::time::sleep(Duration::from_secs(59)).await;
    assert_eq!(app.send(post("k", "{}")).await.replayed(), Some("true"));
    assert_eq!(app.runs(), 1);
}

/// V37: a store that never answers at the claim: 503 after the limit of a call, and the handler is not called.
#[tokio::test(start_paused = true)]
async fn v37_a_store_that_never_answers_a_claim_is_503() {
    let store = gated();
    store.set(Verb::Claim, Gate::Never);
    let app = App::numbered(&shared(store).store_timeout(Duration::from_secs(2)));
    let began = Instant::now();
    let answer = app.send(post("k", "{}")).await;
    assert_eq!(problem::kind(&answer), (503, "StoreUnavailable".into()));
    assert_eq!((began.elapsed(), app.runs()), (Duration::from_secs(2), 0));
}

/// V37; rule 17: a claim that is granted after its limit is given back, so that the next repeat runs at once.
#[tokio::test(start_paused = true)]
async fn v37_a_claim_that_is_granted_too_late_is_given_back() {
    let store = gated();
    store.set_once(Verb::Claim, Gate::SlowAnswer(Duration::from_secs(7)));
    let layer = shared(store);
    let app = App::numbered(&layer);
    assert_eq!(app.send(post("k", "{}")).await.status, StatusCode::SERVICE_UNAVAILABLE);
    layer.drained().await;
    assert_eq!(app.send(post("k", "{}")).await.text(), "run 1");
}

/// V37: a renewal that is never answered is tried again, in time to keep the lease.
#[tokio::test(start_paused = true)]
async fn v37_a_renewal_that_is_never_answered_is_tried_again() {
    let (store, hold) = (gated(), Hold::new());
    let app = held(&shared(store.clone()), &hold);
    let first = app.start(post("k", "{}"));
    hold.reached().await;
    for _ in 0..10 {
        let before = store.calls(Verb::Renew);
        store.set_once(Verb::Renew, Gate::Never);
        until(|| store.calls(Verb::Renew) >= before + 2).await;
        assert_eq!(app.send(post("k", "{}")).await.status, StatusCode::CONFLICT);
    }
    hold.let_go(1);
    assert_eq!(first.await.unwrap().text(), "run 1");
}

/// V37; rule 17: a release that is never answered does not keep the caller longer than one call may take, is tried
/// again in the background, and then left to lapse.
#[tokio::test(start_paused = true)]
async fn v37_a_release_that_is_never_answered_is_tried_again_in_the_background() {
    let store = gated();
    store.set(Verb::Release, Gate::Never);
    let layer = shared(store.clone());
    let app = App::new(&layer, |run, _| async move {
        if run == 1 { answer(StatusCode::INTERNAL_SERVER_ERROR, "") } else { created("run 2") }
    });
    let began = Instant::now();
    assert_eq!(app.send(post("k", "{}")).await.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(began.elapsed(), Duration::from_secs(5));

    store.set(Verb::Release, Gate::Open);
    layer.drained().await;

    assert!(store.calls(Verb::Release) >= 2);
    assert_eq!(app.send(post("k", "{}")).await.text(), "run 2");
}

/// V37; rule 17: a purge that is never answered ends no later purge.
#[tokio::test(start_paused = true)]
async fn v37_a_purge_that_is_never_answered_is_followed_by_another() {
    let store = gated();
    store.set_once(Verb::Purge, Gate::Never);
    let app = App::numbered(&shared(store.clone()).retention(Duration::from_secs(1)));
    app.send(post("k", "{}")).await;
    until(|| store.calls(Verb::Purge) == 2).await;
    until(|| store.inner().is_empty()).await;
}
