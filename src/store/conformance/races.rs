//! Rule 1 in a crowd: a hundred calls at once, on one thread and on many.

use std::sync::Arc;

use futures_util::future::join_all;
use tokio::{sync::Barrier, task::JoinSet};

use super::{
    Fixture,
    words::{Words, acquire, outcome, replayed, response},
};
use crate::{
    Store,
    store::{Claimed, Held, StoreError, Token},
};

const CROWD: usize = 100;

/// V1, V2.
pub(super) async fn rule_1_one_of_a_hundred_claims_is_granted<F: Fixture>(fixture: &F) {
    let claims = join_all((0..CROWD).map(async |_| fixture.store().claim(&F::lasting("k")).await)).await;

    let token = the_one_granted(claims);
    assert_eq!(fixture.store().complete(&token, outcome("order 1")).await.unwrap(), Held::Yes);
}

/// V1, V2.
pub(super) async fn rule_1_one_of_a_hundred_claims_is_granted_on_many_threads<F: Fixture>(fixture: &F) {
    let claims = at_once(fixture.store(), |store, _| async move { store.claim(&F::lasting("k")).await }).await;

    let token = the_one_granted(claims);
    assert_eq!(fixture.store().complete(&token, outcome("order 1")).await.unwrap(), Held::Yes);
}

pub(super) async fn rule_1_one_of_a_hundred_takeovers_is_granted<F: Fixture>(fixture: &F) {
    let passed = acquire(fixture.store(), &F::lapsing("k")).await;

    let claims = join_all((0..CROWD).map(async |_| fixture.store().claim(&F::lasting("k")).await)).await;

    let token = the_one_granted(claims);
    assert_eq!(fixture.store().complete(&passed, outcome("passed")).await.unwrap(), Held::No);
    assert_eq!(fixture.store().complete(&token, outcome("order 1")).await.unwrap(), Held::Yes);
}

pub(super) async fn rule_1_one_of_a_hundred_completions_with_different_outcomes_counts<F: Fixture>(fixture: &F) {
    let store = fixture.store();
    let token = acquire(store, &F::lasting("k")).await;
    let text = |n: usize| format!("order {n}");

    let answers = join_all((0..CROWD).map(async |n| store.complete(&token, outcome(&text(n))).await.unwrap())).await;

    let counted: Vec<usize> = (0..CROWD).filter(|n| answers[*n] == Held::Yes).collect();
    assert_eq!(counted.len(), 1, "completions that counted: {counted:?}");
    assert_eq!(replayed(store, &F::lasting("k")).await, response(&text(counted[0])));
}

/// V4: the claim is on its way before the completion, and looks after it.
pub(super) async fn rule_1_a_completion_answered_is_seen_by_every_later_claim<F: Fixture>(fixture: &F) {
    let store = fixture.store();
    let token = acquire(store, &F::lasting("k")).await;
    let asked = F::lasting("k");
    let claim = store.claim(&asked);

    assert_eq!(store.complete(&token, outcome("order 1")).await.unwrap(), Held::Yes);

    let claimed = claim.await.unwrap();
    assert!(matches!(&claimed, Claimed::Done(it) if *it == response("order 1")), "a replay: {claimed:?}");
}

/// V4, at the same instant: before the completion or after it, never between.
pub(super) async fn rule_1_a_hundred_claims_beside_a_completion_are_in_flight_or_replay<F: Fixture>(fixture: &F) {
    let token = Arc::new(acquire(fixture.store(), &F::lasting("k")).await);

    let claims = at_once(fixture.store(), |store, n| {
        let token = Arc::clone(&token);
        async move {
            if n == CROWD / 2 {
                assert_eq!(store.complete(&token, outcome("order 1")).await.unwrap(), Held::Yes);
            }
            store.claim(&F::lasting("k")).await
        }
    })
    .await;

    for claimed in claims {
        match claimed.unwrap() {
            Claimed::InFlight { .. } => {}
            Claimed::Done(it) => assert_eq!(it, response("order 1")),
            other => panic!("in flight or a replay: {other:?}"),
        }
    }
    assert_eq!(replayed(fixture.store(), &F::lasting("k")).await, response("order 1"));
}

/// V5.
pub(super) async fn rule_1_a_purge_beside_claims_of_an_expired_key_takes_no_granted_claim<F: Fixture>(fixture: &F) {
    acquire(fixture.store(), &F::expiring("k")).await;

    let claims = at_once(fixture.store(), |store, n| async move {
        if n % 2 == 0 {
            store.purge(10).await?;
        }
        store.claim(&F::lasting("k")).await
    })
    .await;

    let token = the_one_granted(claims);
    assert_eq!(fixture.store().complete(&token, outcome("order 1")).await.unwrap(), Held::Yes);
}

/// Runs the step on a hundred tasks that start together.
async fn at_once<S, T, Step, Fut>(store: &S, step: Step) -> Vec<T>
where
    S: Store,
    T: Send + 'static,
    Step: Fn(S, usize) -> Fut,
    Fut: Future<Output = T> + Send + 'static,
{
    let start = Arc::new(Barrier::new(CROWD));
    let mut tasks = JoinSet::new();
    for n in 0..CROWD {
        let (start, step) = (Arc::clone(&start), step(store.clone(), n));
        tasks.spawn(async move {
            start.wait().await;
            step.await
        });
    }
    tasks.join_all().await
}

/// The one token; the others were told that it is in flight.
pub(super) fn the_one_granted(claims: Vec<Result<Claimed, StoreError>>) -> Token {
    let mut granted = Vec::new();
    for claimed in claims {
        match claimed.expect("a lost race is no error") {
            Claimed::Acquired { token, .. } => granted.push(token),
            Claimed::InFlight { .. } => {}
            other => panic!("granted or in flight: {other:?}"),
        }
    }
    assert_eq!(granted.len(), 1, "claims granted at once");
    granted.remove(0)
}
