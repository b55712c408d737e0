//! Who runs, and what the others are told: rules 5, 9 and 10, V1 to V5, V19.

use std::{sync::Arc, time::Duration};

use http::{StatusCode, request::Parts};
use lab::{
    app::{App, Hold},
    exchange::{Answer, HeldRequest, post},
    gate::{Gate, GatedStore, Verb},
    problem,
};
use tokio::{
    sync::{Barrier, Semaphore},
    time::sleep,
};
use tower_idempotency::{
    IdempotencyLayer, Store,
    idempotency::Scope,
    store::{ClaimRequest, Found, Status},
};

use crate::{assert_in_progress, filed, held, lost_holder, places::Place, request, shared, soon};

on_each_store![
    v01_of_fifty_requests_at_one_instant_one_runs,
    v02_the_loser_of_a_race_gets_409_or_the_replay,
    v04_a_winner_that_ends_before_the_losers_claim_is_replayed,
    v05_a_key_that_is_purged_as_it_is_claimed_runs_once,
    v03_rule_10_another_body_is_422_and_leaves_the_record_as_it_was,
    v19_rule_5_the_same_key_in_another_scope_is_another_key,
    rule_9_a_repeat_while_it_runs_is_409_and_may_come_back,
    rule_9_a_waiter_gets_the_replay,
];

/// V1: through two servers.
pub(crate) async fn v01_of_fifty_requests_at_one_instant_one_runs<S: Store>(place: &impl Place<Store = S>) {
    let apps = [App::numbered(&shared(place.store())), App::numbered(&shared(place.beside().await))];

    let answers = at_once(&apps, 50, "k", Duration::ZERO).await;

    assert_one_ran(&answers);
    assert_eq!(apps[0].runs() + apps[1].runs(), 1);
}

/// V2: the loser comes later by a little more each time, so that it asks while the winner claims, runs, completes or has
/// ended.
async fn v02_the_loser_of_a_race_gets_409_or_the_replay<S: Store>(place: &impl Place<Store = S>) {
    let apps = [App::numbered(&shared(place.store())), App::numbered(&shared(place.beside().await))];
    for race in 1..=20 {
        let answers = at_once(&apps, 2, &race.to_string(), Duration::from_micros(250 * (race as u64 - 1))).await;

        assert_one_ran(&answers);
        assert_eq!(apps[0].runs() + apps[1].runs(), race);
    }
}

/// V4: the loser's claim is under way when the winner begins, and reaches the store when it has ended.
async fn v04_a_winner_that_ends_before_the_losers_claim_is_replayed<S: Store>(place: &impl Place<Store = S>) {
    let (gated, reaches) = (GatedStore::new(place.beside().await), Arc::new(Semaphore::new(0)));
    gated.set(Verb::Claim, Gate::Permit(reaches.clone()));
    let (winner, loser) = (App::numbered(&shared(place.store())), App::numbered(&shared(gated.clone())));
    let late = loser.start(post("k", "{}"));
    soon(async || gated.calls(Verb::Claim) == 1).await;

    let first = winner.send(post("k", "{}")).await;
    reaches.add_permits(1);
    let late = late.await.expect("no panic");

    assert_eq!((first.text(), first.replayed()), ("run 1", Some("false")));
    assert_eq!((late.text(), late.replayed()), ("run 1", Some("true")));
    assert_eq!(loser.runs(), 0);
}

/// V5: what a purge takes is the record before; whoever has claimed meanwhile stays guarded.
async fn v05_a_key_that_is_purged_as_it_is_claimed_runs_once<S: Store>(place: &impl Place<Store = S>) {
    const MOMENT: Duration = Duration::from_millis(1);
    let (store, other) = (place.store(), place.beside().await);
    let apps = [App::numbered(&shared(store.clone())), App::numbered(&shared(other.clone()))];
    for race in 1..=10 {
        let key = race.to_string();
        let expired = ClaimRequest { retention: MOMENT, ..request(&key, "{}", MOMENT) };
        lost_holder(&store, &expired).await;
        soon(async || matches!(store.lookup(&expired).await, Ok(Found::Absent))).await;

        let (answers, purged) = tokio::join!(at_once(&apps, 4, &key, Duration::ZERO), other.purge(u32::MAX));

        assert_one_ran(&answers);
        assert!(purged.is_ok_and(|records| records <= 1));
        assert_eq!(apps[0].runs() + apps[1].runs(), race);
    }
}

pub(crate) async fn v03_rule_10_another_body_is_422_and_leaves_the_record_as_it_was<S: Store>(
    place: &impl Place<Store = S>,
) {
    let (store, hold) = (place.store(), Hold::new());
    let app = held(&shared(store.clone()), &hold);
    let first = app.start(post("k", "{}"));
    hold.reached().await;

    let meanwhile = app.send(post("k", "[]")).await;
    let running = store.status(&filed("k")).await;
    let repeat = app.send(post("k", "{}")).await;
    hold.let_go(1);
    let first = first.await.expect("no panic");
    let ended = store.status(&filed("k")).await.expect("it answers");
    let afterwards = app.send(post("k", "[]")).await;

    for reused in [meanwhile, afterwards] {
        assert_eq!(problem::kind(&reused), (422, "KeyReused".into()));
        assert_eq!(problem::of(&reused)["differs"], serde_json::json!(["body"]));
    }
    assert!(matches!(running, Ok(Status::InProgress { .. })), "{running:?}");
    assert_in_progress(&repeat);
    assert_eq!((first.text(), first.replayed()), ("run 1", Some("false")));
    assert!(matches!(ended, Status::Done { status: StatusCode::CREATED, replayable: true, .. }), "{ended:?}");
    assert_eq!(store.status(&filed("k")).await.expect("it answers"), ended);
    assert_eq!(app.send(post("k", "{}")).await.replayed(), Some("true"));
    assert_eq!(app.runs(), 1);
}

/// V19: both run at the same time, and each gets its own answer again; a name and a key do not run into each other.
pub(crate) async fn v19_rule_5_the_same_key_in_another_scope_is_another_key<S: Store>(place: &impl Place<Store = S>) {
    #[derive(Clone)]
    struct Principal(&'static str);
    let of = |(principal, key): (&'static str, &str)| -> HeldRequest {
        let mut request = post(key, "{}");
        request.extensions_mut().insert(Principal(principal));
        request
    };
    let scope = Scope::by(|parts: &Parts| {
        parts.extensions.get::<Principal>().map(|principal| principal.0).ok_or(StatusCode::UNAUTHORIZED)
    });
    let hold = Hold::new();
    let app = held(&IdempotencyLayer::new(place.store(), scope), &hold);
    let callers = [("ann", "k"), ("bob", "k"), ("a", "b:c"), ("a:b", "c")];

    let mut running = Vec::new();
    for (n, caller) in callers.into_iter().enumerate() {
        running.push(app.start(of(caller)));
        soon(async || app.runs() == n + 1 || running[n].is_finished()).await;
        assert_eq!(app.runs(), n + 1, "it runs beside the others");
    }
    hold.let_go(callers.len());

    for (n, (caller, first)) in callers.into_iter().zip(running).enumerate() {
        let expected = format!("run {}", n + 1);
        let (first, repeat) = (first.await.expect("no panic"), app.send(of(caller)).await);
        assert_eq!((first.text(), first.replayed()), (&*expected, Some("false")), "{caller:?}");
        assert_eq!((repeat.text(), repeat.replayed()), (&*expected, Some("true")), "{caller:?}");
    }
}

pub(crate) async fn rule_9_a_repeat_while_it_runs_is_409_and_may_come_back<S: Store>(place: &impl Place<Store = S>) {
    let (hold, other) = (Hold::new(), App::numbered(&shared(place.beside().await)));
    let app = held(&shared(place.store()), &hold);
    let first = app.start(post("k", "{}"));
    hold.reached().await;

    let meanwhile = other.send(post("k", "{}")).await;
    hold.let_go(1);
    let first = first.await.expect("no panic");

    assert_in_progress(&meanwhile);
    assert_eq!((meanwhile.header("retry-after"), meanwhile.replayed()), (Some("1"), None));
    assert_eq!((first.text(), first.replayed()), ("run 1", Some("false")));
    assert_eq!(other.send(post("k", "{}")).await.replayed(), Some("true"));
    assert_eq!(other.runs(), 0);
}

async fn rule_9_a_waiter_gets_the_replay<S: Store>(place: &impl Place<Store = S>) {
    let (hold, gated) = (Hold::new(), GatedStore::new(place.beside().await));
    let app = held(&shared(place.store()), &hold);
    let other = App::numbered(&shared(gated.clone()).wait_for(Duration::from_secs(20)));
    let first = app.start(post("k", "{}"));
    hold.reached().await;

    let waiter = other.start(post("k", "{}"));
    soon(async || gated.calls(Verb::Claim) >= 2).await;
    assert!(!waiter.is_finished());
    hold.let_go(1);
    let (first, waiter) = (first.await.expect("no panic"), waiter.await.expect("no panic"));

    assert_eq!((first.text(), first.replayed()), ("run 1", Some("false")));
    assert_eq!((waiter.text(), waiter.replayed()), ("run 1", Some("true")));
    assert_eq!(other.runs(), 0);
}

/// So many of the same request at the same instant, or each so much after the one before; half of them through each app.
async fn at_once(apps: &[App; 2], requests: u32, key: &str, apart: Duration) -> Vec<Answer> {
    let start = Arc::new(Barrier::new(requests as usize));
    let sent = (0..requests).map(|n| {
        let (app, start, request) = (apps[n as usize % 2].clone(), start.clone(), post(key, "{}"));
        tokio::spawn(async move {
            start.wait().await;
            sleep(n * apart).await;
            app.send(request).await
        })
    });
    let sent: Vec<_> = sent.collect();
    let mut answers = Vec::new();
    for request in sent {
        answers.push(request.await.expect("no panic"));
    }
    answers
}

/// One answer is the first; each other one a replay of it or 409.
fn assert_one_ran(answers: &[Answer]) {
    let firsts: Vec<_> = answers.iter().filter(|answer| answer.replayed() == Some("false")).collect();
    let [first] = firsts[..] else { panic!("{} have run", firsts.len()) };
    for other in answers.iter().filter(|answer| answer.replayed() != Some("false")) {
        match other.status {
            StatusCode::CREATED => assert_eq!((other.text(), other.replayed()), (first.text(), Some("true"))),
            _ => assert_in_progress(other),
        }
    }
}
