//! Leases that are renewed, and records that go: rules 11 and 18, V9, V10, V36.

use std::time::Duration;

use http::StatusCode;
use lab::{
    app::{App, Hold, answer, created},
    exchange::post,
    gate::{GatedStore, Verb},
};
use tokio::time::{Instant, sleep};
use tower_idempotency::{Store, store::Status};

use crate::{LEASE, PAUSE, ROUNDING, assert_in_progress, filed, held, places::Place, shared, soon};

on_each_store![
    v09_renewal_stops_when_a_run_has_ended,
    v10_rule_11_fifty_leases_are_renewed_for_as_long_as_their_handlers_run,
    v36_rule_18_after_its_retention_a_key_is_new,
    v36_rule_18_a_run_that_outlasts_its_retention_is_not_forgotten,
];

/// V9: whichever way it ends. That nothing comes can only be waited for.
async fn v09_renewal_stops_when_a_run_has_ended<S: Store>(place: &impl Place<Store = S>) {
    const LEASE: Duration = Duration::from_millis(150);
    let (store, hold) = (GatedStore::new(place.store()), Hold::new());
    let passes = hold.clone();
    let app = App::fallible(&shared(store.clone()).lease(LEASE), move |run, _| {
        let hold = passes.clone();
        async move {
            hold.pass().await;
            match run {
                1 => Ok(created("made")),
                2 => Ok(answer(StatusCode::INTERNAL_SERVER_ERROR, "")),
                3 => Err("the service fails".into()),
                _ => panic!("the handler panics"),
            }
        }
    });
    let running: Vec<_> = (0..4).map(|n| app.start(post(&n.to_string(), "{}"))).collect();
    soon(async || store.calls(Verb::Renew) >= 8).await;

    hold.let_go(4);
    for request in running {
        let _ended = request.await;
    }

    let renewals = store.calls(Verb::Renew);
    sleep(3 * LEASE).await;
    assert_eq!(store.calls(Verb::Renew), renewals);
}

/// V10: for three leases; a repeat of each is refused all the time, by another server.
pub(crate) async fn v10_rule_11_fifty_leases_are_renewed_for_as_long_as_their_handlers_run<S: Store>(
    place: &impl Place<Store = S>,
) {
    const LEASE: Duration = Duration::from_secs(1);
    let (hold, other) = (Hold::new(), App::numbered(&shared(place.beside().await)));
    let app = held(&shared(place.store()).lease(LEASE), &hold);
    let running: Vec<_> = (0..50).map(|n| app.start(post(&n.to_string(), "{}"))).collect();
    for _ in 0..50 {
        hold.reached().await;
    }

    let begun = Instant::now();
    while begun.elapsed() < 3 * LEASE {
        for n in 0..50 {
            assert_in_progress(&other.send(post(&n.to_string(), "{}")).await);
        }
        sleep(LEASE / 4).await;
    }
    hold.let_go(50);

    for (n, request) in running.into_iter().enumerate() {
        assert_eq!(request.await.expect("no panic").replayed(), Some("false"));
        assert_eq!(other.send(post(&n.to_string(), "{}")).await.replayed(), Some("true"));
    }
    assert_eq!((app.runs(), other.runs()), (50, 0));
}

/// Rule 18: and not before; then for another request too.
async fn v36_rule_18_after_its_retention_a_key_is_new<S: Store>(place: &impl Place<Store = S>) {
    let app = App::numbered(&shared(place.store()).retention(LEASE));
    let asked = Instant::now();
    assert_eq!(app.send(post("k", "{}")).await.text(), "run 1");

    let new = loop {
        let answer = app.send(post("k", "[]")).await;
        if answer.status != StatusCode::UNPROCESSABLE_ENTITY {
            break answer;
        }
        sleep(PAUSE).await;
    };

    assert!(asked.elapsed() >= LEASE - ROUNDING, "forgotten after {:?}", asked.elapsed());
    assert_eq!((new.text(), new.replayed()), ("run 2", Some("false")));
}

/// V36: no purge ends it, and no second run begins beside it; its retention counts from its end.
pub(crate) async fn v36_rule_18_a_run_that_outlasts_its_retention_is_not_forgotten<S: Store>(
    place: &impl Place<Store = S>,
) {
    const RETENTION: Duration = Duration::from_millis(100);
    let (store, hold) = (place.store(), Hold::new());
    let layer = shared(store.clone()).lease(2 * LEASE).retention(RETENTION).purge_interval(RETENTION / 2);
    let (app, other) = (held(&layer, &hold), App::numbered(&shared(place.beside().await)));
    let first = app.start(post("k", "{}"));
    hold.reached().await;

    let begun = Instant::now();
    while begun.elapsed() < 4 * LEASE {
        assert_eq!(store.purge(u32::MAX).await.expect("it answers"), 0);
        assert_in_progress(&other.send(post("k", "{}")).await);
        sleep(RETENTION / 4).await;
    }
    hold.let_go(1);

    assert_eq!(first.await.expect("no panic").text(), "run 1");
    soon(async || matches!(store.status(&filed("k")).await, Ok(Status::Unknown))).await;
    assert_eq!((app.runs(), other.runs()), (1, 0));
}
