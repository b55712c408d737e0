//! Runs that fail, and completions that do: rules 13 and 17, V12, V14.

use http::StatusCode;
use lab::{
    app::{App, answer, created},
    exchange::post,
    gate::{Gate, GatedStore, Verb},
};
use tokio::time::Instant;
use tower::ServiceExt;
use tower_idempotency::{Store, store::Found};

use crate::{LEASE, ROUNDING, assert_in_progress, places::Place, request, send_until_free, shared, soon};

on_each_store![
    v12_rule_17_a_completion_that_fails_costs_its_caller_nothing_and_lets_nobody_run_within_the_lease,
    v12_rule_17_a_completion_whose_answer_was_lost_is_asked_for_again,
    v14_rule_13_a_failure_gives_the_key_back,
];

/// V12: a repeat gets 409 until the lease lapses.
async fn v12_rule_17_a_completion_that_fails_costs_its_caller_nothing_and_lets_nobody_run_within_the_lease<S: Store>(
    place: &impl Place<Store = S>,
) {
    let store = GatedStore::new(place.store());
    store.set(Verb::Complete, Gate::Fail);
    let app = App::numbered(&shared(store.clone()).lease(LEASE));
    let other = App::numbered(&shared(place.beside().await));

    let first = app.start(post("k", "{}"));
    soon(async || store.calls(Verb::Complete) > 0).await;
    assert_in_progress(&other.send(post("k", "{}")).await);
    let first = first.await.expect("no panic");
    let left = Instant::now();
    let found = store.lookup(&request("k", "{}", LEASE)).await;
    let repeat = send_until_free(&other, "k", "{}").await;

    assert_eq!((first.status, first.text(), first.replayed()), (StatusCode::CREATED, "run 1", Some("false")));
    let Ok(Found::InFlight { lease_left }) = found else { panic!("the lease is left to lapse: {found:?}") };
    assert!(left.elapsed() + ROUNDING >= lease_left, "{:?} into {lease_left:?}", left.elapsed());
    assert_eq!(repeat.replayed(), Some("false"), "taken over");
    assert_eq!((app.runs(), other.runs()), (1, 1));
}

pub(crate) async fn v12_rule_17_a_completion_whose_answer_was_lost_is_asked_for_again<S: Store>(
    place: &impl Place<Store = S>,
) {
    let store = GatedStore::new(place.store());
    store.set_once(Verb::Complete, Gate::LoseAnswer);
    let app = App::numbered(&shared(store.clone()));

    let first = app.send(post("k", "{}")).await;

    assert_eq!((first.text(), first.replayed()), ("run 1", Some("false")));
    assert_eq!(store.calls(Verb::Complete), 2);
    assert_eq!(app.send(post("k", "{}")).await.replayed(), Some("true"));
}

/// V14: a repeat runs at once, from another server, and its answer is kept.
pub(crate) async fn v14_rule_13_a_failure_gives_the_key_back<S: Store>(place: &impl Place<Store = S>) {
    let failing = App::fallible(&shared(place.store()), |run, _| async move {
        match run {
            1 => Ok(answer(StatusCode::INTERNAL_SERVER_ERROR, "it fails")),
            2 => Ok(answer(StatusCode::SERVICE_UNAVAILABLE, "it is away")),
            3 => Err("the service fails".into()),
            _ => panic!("the handler panics"),
        }
    });
    let sound = App::new(&shared(place.beside().await), |_, _| async { created("made") });
    for way in ["500", "503", "an error", "a panic"] {
        let failed = tokio::spawn(failing.service().oneshot(post(way, "{}"))).await;
        assert!(!failed.is_ok_and(|answer| answer.is_ok_and(|answer| answer.status().is_success())), "{way}");

        for replayed in ["false", "true"] {
            let repeat = sound.send(post(way, "{}")).await;
            assert_eq!((repeat.text(), repeat.replayed()), ("made", Some(replayed)), "after {way}");
        }
    }
    assert_eq!((failing.runs(), sound.runs()), (4, 4));
}
