//! Rule 1, at every point where a verb can be interrupted: one verb is paused after each of its steps while another
//! runs, then the other way round.

use std::{
    future::poll_fn,
    pin::{Pin, pin},
    task::Poll,
};

use tokio::time::timeout;

use super::{
    Fixture,
    races::the_one_granted,
    words::{Words, acquire, outcome, replayed, response},
};
use crate::{
    Store,
    store::{Claimed, Held, Token},
};

/// At how many steps a verb is paused, if it has so many.
const STEPS: usize = 16;

/// V1, V2.
pub(super) async fn rule_1_two_claims_of_a_new_key_have_one_winner<F: Fixture>(fixture: &F) {
    let store = fixture.store();
    let claim = async |key: &String| store.claim(&F::lasting(key)).await;

    interleaved::<F, _, _, _>(
        async |key| key,
        claim,
        claim,
        async |_, one, other| {
            let token = the_one_granted(vec![one, other]);
            assert_eq!(store.complete(&token, outcome("order 1")).await.unwrap(), Held::Yes);
        },
    )
    .await;
}

pub(super) async fn rule_1_two_takeovers_have_one_winner<F: Fixture>(fixture: &F) {
    let store = fixture.store();
    let lapsed = async |key: String| acquire(store, &F::lapsing(&key)).await;
    let claim = async |passed: &Token| store.claim(&F::lasting(passed.key().key())).await;

    interleaved::<F, _, _, _>(lapsed, claim, claim, async |passed, one, other| {
        let token = the_one_granted(vec![one, other]);
        assert_eq!(store.complete(&passed, outcome("passed")).await.unwrap(), Held::No);
        assert_eq!(store.complete(&token, outcome("order 1")).await.unwrap(), Held::Yes);
    })
    .await;
}

/// V4.
pub(super) async fn rule_1_a_claim_beside_a_completion_is_in_flight_or_replays<F: Fixture>(fixture: &F) {
    let store = fixture.store();
    let running = async |key: String| acquire(store, &F::lasting(&key)).await;
    let claim = async |token: &Token| store.claim(&F::lasting(token.key().key())).await.unwrap();
    let complete = async |token: &Token| store.complete(token, outcome("order 1")).await.unwrap();

    interleaved::<F, _, _, _>(running, claim, complete, async |token, claimed, held| {
        assert_eq!(held, Held::Yes);
        assert!(matches!(claimed, Claimed::InFlight { .. } | Claimed::Done(_)), "before or after: {claimed:?}");
        assert_eq!(replayed(store, &F::lasting(token.key().key())).await, response("order 1"));
    })
    .await;
}

pub(super) async fn rule_1_a_claim_beside_a_release_is_in_flight_or_granted<F: Fixture>(fixture: &F) {
    let store = fixture.store();
    let running = async |key: String| acquire(store, &F::lasting(&key)).await;
    let claim = async |token: &Token| store.claim(&F::lasting(token.key().key())).await.unwrap();
    let release = async |token: &Token| store.release(token).await.unwrap();

    interleaved::<F, _, _, _>(running, claim, release, async |token, claimed, held| {
        assert_eq!(held, Held::Yes);
        let next = match claimed {
            Claimed::Acquired { token, attempt: 1 } => token,
            Claimed::InFlight { .. } => acquire(store, &F::lasting(token.key().key())).await,
            other => panic!("before or after: {other:?}"),
        };
        assert_eq!(store.complete(&next, outcome("order 1")).await.unwrap(), Held::Yes);
    })
    .await;
}

pub(super) async fn rule_1_a_takeover_or_the_late_completion_wins_never_both<F: Fixture>(fixture: &F) {
    let store = fixture.store();
    let lapsed = async |key: String| acquire(store, &F::lapsing(&key)).await;
    let claim = async |late: &Token| store.claim(&F::lasting(late.key().key())).await.unwrap();
    let complete = async |late: &Token| store.complete(late, outcome("late")).await.unwrap();

    interleaved::<F, _, _, _>(lapsed, claim, complete, async |_, claimed, held| match (claimed, held) {
        (Claimed::Done(it), Held::Yes) => assert_eq!(it, response("late")),
        (Claimed::Acquired { token, .. }, Held::No) => {
            assert_eq!(store.complete(&token, outcome("order 1")).await.unwrap(), Held::Yes);
        }
        both => panic!("one of them: {both:?}"),
    })
    .await;
}

pub(super) async fn rule_1_a_takeover_or_the_late_renewal_wins_never_both<F: Fixture>(fixture: &F) {
    let store = fixture.store();
    let lapsed = async |key: String| acquire(store, &F::lapsing(&key)).await;
    let claim = async |late: &Token| store.claim(&F::lasting(late.key().key())).await.unwrap();
    let renew = async |late: &Token| store.renew(late, F::lasting("k").lease).await.unwrap();

    interleaved::<F, _, _, _>(lapsed, claim, renew, async |late, claimed, held| {
        let holder = match (claimed, held) {
            (Claimed::InFlight { .. }, Held::Yes) => late,
            (Claimed::Acquired { token, .. }, Held::No) => token,
            both => panic!("one of them: {both:?}"),
        };
        assert_eq!(store.complete(&holder, outcome("order 1")).await.unwrap(), Held::Yes);
    })
    .await;
}

/// V5.
pub(super) async fn rule_1_a_purge_takes_no_granted_claim<F: Fixture>(fixture: &F) {
    let store = fixture.store();
    let expired = async |key: String| acquire(store, &F::expiring(&key)).await;
    let claim = async |expired: &Token| acquire(store, &F::lasting(expired.key().key())).await;
    let purge = async |_: &Token| store.purge(100).await.unwrap();

    interleaved::<F, _, _, _>(expired, claim, purge, async |_, token, purged| {
        assert!(purged <= 1, "one record was expired: {purged}");
        assert_eq!(store.complete(&token, outcome("order 1")).await.unwrap(), Held::Yes);
    })
    .await;
}

pub(super) async fn rule_1_one_of_two_completions_counts<F: Fixture>(fixture: &F) {
    let store = fixture.store();
    let running = async |key: String| acquire(store, &F::lasting(&key)).await;
    let with = |text: &'static str| async move |token: &Token| store.complete(token, outcome(text)).await.unwrap();

    interleaved::<F, _, _, _>(running, with("one"), with("other"), async |token, one, other| {
        let counted = match (one, other) {
            (Held::Yes, Held::No) => "one",
            (Held::No, Held::Yes) => "other",
            both => panic!("one of them: {both:?}"),
        };
        assert_eq!(replayed(store, &F::lasting(token.key().key())).await, response(counted));
    })
    .await;
}

pub(super) async fn rule_1_a_forced_release_or_the_completion_wins_never_both<F: Fixture>(fixture: &F) {
    let store = fixture.store();
    let running = async |key: String| acquire(store, &F::lasting(&key)).await;
    let complete = async |token: &Token| store.complete(token, outcome("order 1")).await.unwrap();
    let free = async |token: &Token| store.force_release(token.key()).await.unwrap();

    interleaved::<F, _, _, _>(running, complete, free, async |token, completed, freed| {
        let request = F::lasting(token.key().key());
        match (completed, freed) {
            (Held::Yes, Held::No) => assert_eq!(replayed(store, &request).await, response("order 1")),
            (Held::No, Held::Yes) => drop(acquire(store, &request).await),
            both => panic!("one of them: {both:?}"),
        }
    })
    .await;
}

/// Runs `one` and `other` on a record each time set up anew, paused and run in turn, and judges what they were answered.
async fn interleaved<F: Fixture, T, A, B>(
    set_up: impl AsyncFn(String) -> T,
    one: impl AsyncFn(&T) -> A,
    other: impl AsyncFn(&T) -> B,
    judge: impl AsyncFn(T, A, B),
) {
    for steps in 0..STEPS {
        let record = set_up(format!("one-{steps}")).await;
        let (first, second, paused) = paused::<F, _, _>(steps, one(&record), other(&record)).await;
        judge(record, first, second).await;
        if !paused {
            break;
        }
    }
    for steps in 0..STEPS {
        let record = set_up(format!("other-{steps}")).await;
        let (first, second, paused) = paused::<F, _, _>(steps, other(&record), one(&record)).await;
        judge(record, second, first).await;
        if !paused {
            break;
        }
    }
}

/// Pauses `first` after so many steps, runs `second`, then what is left. Tells whether `first` had so many.
async fn paused<F: Fixture, A, B>(
    steps: usize,
    first: impl Future<Output = A>,
    second: impl Future<Output = B>,
) -> (A, B, bool) {
    let (mut first, mut second) = (pin!(first), pin!(second));
    if let Some(first) = step(first.as_mut(), steps).await {
        return (first, second.await, false);
    }
    // The one may wait for what the other holds: then they go on together.
    match timeout(F::MOMENT, second.as_mut()).await {
        Ok(second) => (first.await, second, true),
        Err(_) => {
            let (first, second) = tokio::join!(first, second);
            (first, second, true)
        }
    }
}

/// Polls so many times; the future's answer, if it has come.
async fn step<T>(mut future: Pin<&mut impl Future<Output = T>>, steps: usize) -> Option<T> {
    let mut left = steps;
    poll_fn(|cx| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match future.as_mut().poll(cx) {
            Poll::Ready(answer) => Poll::Ready(Some(answer)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}
