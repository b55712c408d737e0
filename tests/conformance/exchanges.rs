//! S25 to S31: first requests, repeats, and what ends a claim.

use std::time::Duration;

use http::StatusCode;
use lab::{
    app::{App, Hold, created},
    clock::until,
    exchange::post,
    gate::{Gate, GatedStore, Verb},
    problem,
};
use tokio::sync::Semaphore;
use tower::{Service, ServiceExt};
use tower_idempotency::{IdempotencyLayer, MemoryStore, Store};

use crate::{shared, spied};

const LEASE: Duration = Duration::from_secs(10);

/// A handler that is held, then answers `run 1`.
fn held<S: Store>(layer: &IdempotencyLayer<S>, hold: &Hold) -> App {
    let hold = hold.clone();
    App::new(layer, move |run, _| {
        let hold = hold.clone();
        async move {
            hold.pass().await;
            created(format!("run {run}"))
        }
    })
}

/// S25, IK 2.6, SHOULD: the inner service is called once and its response is unchanged. The row has no marker on it;
/// rule 7 of the layer sends `Idempotency-Replayed: false`.
#[tokio::test(start_paused = true)]
async fn s25_a_first_response_is_unchanged_but_for_the_marker_false() {
    let app = App::new(&shared(spied()), |_, _| async {
        let mut response = created("made");
        response.headers_mut().insert("location", "/reports/1".parse().unwrap());
        response
    });

    let mut answer = app.send(post("k", "{}")).await;

    assert_eq!(answer.headers.remove("idempotency-replayed").unwrap(), "false");
    assert_eq!(answer.headers.remove("location").unwrap(), "/reports/1");
    assert_eq!((answer.status, answer.text(), answer.headers.len()), (StatusCode::CREATED, "made", 0));
    assert_eq!(app.runs(), 1);
}

/// S26, IK 2.6, SHOULD: a retry after completion gets the same status and body; the inner service is not called.
#[tokio::test(start_paused = true)]
async fn s26_a_repeat_after_the_end_gets_the_same_answer() {
    let app = App::numbered(&shared(spied()));
    let first = app.send(post("k", "{}")).await;
    for _ in 0..3 {
        let repeat = app.send(post("k", "{}")).await;
        assert_eq!((repeat.status, &repeat.body), (first.status, &first.body));
    }
    assert_eq!(app.runs(), 1);
}

/// S27, IK 2.6 and 2.7, SHOULD: a retry while the first runs is a 409 problem.
#[tokio::test(start_paused = true)]
async fn s27_a_repeat_while_the_first_runs_is_409() {
    let hold = Hold::new();
    let app = held(&shared(spied()), &hold);
    let first = app.start(post("k", "{}"));
    hold.reached().await;

    assert_eq!(problem::kind(&app.send(post("k", "{}")).await), (409, "InProgress".into()));

    hold.let_go(1);
    assert_eq!(first.await.unwrap().text(), "run 1");
    assert_eq!(app.runs(), 1);
}

/// S28, own: of 100 simultaneous duplicates, all of which stand before the claim at one instant, one runs; the rest
/// get 409 or a replay.
#[tokio::test(start_paused = true)]
async fn s28_one_of_a_hundred_simultaneous_duplicates_runs() {
    let store = spied();
    let door = std::sync::Arc::new(Semaphore::new(0));
    store.set(Verb::Claim, Gate::Permit(door.clone()));
    let app = App::numbered(&shared(store.clone()));
    let started: Vec<_> = (0..100).map(|_| app.start(post("k", "{}"))).collect();
    until(|| store.calls(Verb::Claim) == 100).await;

    door.add_permits(100);

    let mut ran = 0;
    for answer in started {
        let answer = answer.await.unwrap();
        match (answer.status.as_u16(), answer.replayed()) {
            (201, Some("false")) => ran += 1,
            (201, Some("true")) => assert_eq!(answer.text(), "run 1"),
            (409, None) => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((ran, app.runs()), (1, 1));
}

/// S29, own: where the layer waits, a duplicate waits for the end and gets the stored response.
#[tokio::test(start_paused = true)]
async fn s29_a_waiting_duplicate_gets_the_stored_response() {
    let hold = Hold::new();
    let store = spied();
    let app = held(&shared(store.clone()).wait_for(Duration::from_secs(30)), &hold);
    let first = app.start(post("k", "{}"));
    hold.reached().await;
    let second = app.start(post("k", "{}"));
    until(|| store.calls(Verb::Claim) == 3).await;

    hold.let_go(1);

    assert_eq!(first.await.unwrap().replayed(), Some("false"));
    assert_eq!(second.await.unwrap().replayed(), Some("true"));
    assert_eq!(app.runs(), 1);
}

/// S29, own: at the deadline, and no later, it is answered 409.
#[tokio::test(start_paused = true)]
async fn s29_a_waiting_duplicate_is_answered_409_at_the_deadline() {
    let hold = Hold::new();
    let app = held(&shared(spied()).wait_for(Duration::from_secs(30)), &hold);
    let _first = app.start(post("k", "{}"));
    hold.reached().await;
    let began = tokio::time::Instant::now();

    let answer = app.send(post("k", "{}")).await;

    assert_eq!(problem::kind(&answer), (409, "InProgress".into()));
    assert_eq!(began.elapsed(), Duration::from_secs(30));
}

/// S30, ACP 6.4 and 9457 4, own: a 409 carries Retry-After, an integer of 1 at least. Rule 9 adds: never more than what
/// is left of the lease, rounded up.
#[tokio::test(start_paused = true)]
async fn s30_a_409_says_when_to_come_again() {
    let hold = Hold::new();
    let store = spied();
    store.set(Verb::Renew, Gate::Fail);
    for (setting, expected) in [(60_000, ["10", "7", "1"]), (2_000, ["2", "2", "1"]), (1, ["1", "1", "1"])] {
        let app = held(&shared(store.clone()).retry_after(Duration::from_millis(setting)), &hold);
        let key = format!("k{setting}");
        let _first = app.start(post(&key, "{}"));
        hold.reached().await;
        for (wait, expected) in [0, 3_500, 6_200].into_iter().zip(expected) {
            tokio::time::advance(Duration::from_millis(wait)).await;
            let answer = app.send(post(&key, "{}")).await;
            assert_eq!((answer.status.as_u16(), answer.header("retry-after")), (409, Some(expected)), "{setting}");
        }
    }
}

/// Every way in which a run ends without an outcome, and what the first caller sees of it.
fn failing(layer: &IdempotencyLayer<GatedStore<MemoryStore>>, panics: bool) -> App {
    App::fallible(layer, move |run, _| async move {
        match run {
            1 if panics => panic!("the handler panics"),
            1 => Err("the service fails".into()),
            _ => Ok(created(format!("run {run}"))),
        }
    })
}

/// S31, own: a panic is handed on, and the key is free at once.
#[tokio::test(start_paused = true)]
async fn s31_a_panic_frees_the_key() {
    let app = failing(&shared(spied()), true);
    assert!(app.start(post("k", "{}")).await.is_err_and(|error| error.is_panic()));
    assert_eq!(app.send(post("k", "{}")).await.text(), "run 2");
}

/// S31, own: an error of the inner service is handed on, and the key is free at once.
#[tokio::test(start_paused = true)]
async fn s31_an_error_frees_the_key() {
    let app = failing(&shared(spied()), false);
    let error = app.service().oneshot(post("k", "{}")).await.expect_err("the handler's error");
    assert_eq!(error.to_string(), "the service fails");
    assert_eq!(app.send(post("k", "{}")).await.text(), "run 2");
}

/// S31; rule 14: a request whose caller has gone runs to its end, and its key answers with the replay.
#[tokio::test(start_paused = true)]
async fn s31_a_dropped_future_is_run_to_its_end() {
    let hold = Hold::new();
    let layer = shared(spied());
    let app = held(&layer, &hold);
    let first = app.start(post("k", "{}"));
    hold.reached().await;
    first.abort();
    assert!(first.await.is_err_and(|error| error.is_cancelled()));

    hold.let_go(1);
    layer.drained().await;

    let repeat = app.send(post("k", "{}")).await;
    assert_eq!((repeat.text(), repeat.replayed()), ("run 1", Some("true")));
}

/// S31: a future that was never polled has begun nothing.
#[tokio::test(start_paused = true)]
async fn s31_a_future_that_is_dropped_unpolled_leaves_the_key_free() {
    let app = App::numbered(&shared(spied()));
    drop(app.service().ready().await.unwrap().call(post("k", "{}")));
    assert_eq!(app.send(post("k", "{}")).await.text(), "run 1");
}

/// S31, own: a holder that dies leaves a lease that lapses.
#[tokio::test(start_paused = true)]
async fn s31_a_holder_that_dies_is_followed_once_its_lease_has_lapsed() {
    let store = MemoryStore::new();
    let hold = Hold::new();
    let dying = {
        let store = GatedStore::new(store.clone());
        store.set(Verb::Renew, Gate::Never);
        held(&shared(store), &hold).start(post("k", "{}"))
    };
    hold.reached().await;
    let app = App::numbered(&shared(store));

    assert_eq!(app.send(post("k", "{}")).await.status, StatusCode::CONFLICT);
    tokio::time::advance(LEASE).await;
    assert_eq!(app.send(post("k", "{}")).await.status, StatusCode::CREATED);
    drop(dying);
}

/// S31, own: a late writer with an old fence cannot overwrite; its caller gets the recorded answer.
#[tokio::test(start_paused = true)]
async fn s31_a_late_writer_cannot_overwrite() {
    let store = MemoryStore::new();
    let cut_off = GatedStore::new(store.clone());
    cut_off.set(Verb::Renew, Gate::Fail);
    let hold = Hold::new();
    let late = held(&shared(cut_off), &hold).start(post("k", "{}"));
    hold.reached().await;
    tokio::time::advance(LEASE).await;
    let successor = App::new(&shared(store), |_, _| async { created("of the successor") });
    let of_successor = successor.send(post("k", "{}")).await;

    hold.let_go(1);

    let late = late.await.unwrap();
    assert_eq!((late.text(), late.replayed()), ("of the successor", Some("true")));
    assert_eq!(of_successor.replayed(), Some("false"));
    assert_eq!(successor.send(post("k", "{}")).await.text(), "of the successor");
}
