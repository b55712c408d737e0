//! Rule 7: the store's clock, and V11.

use std::time::{Duration, SystemTime};

use http::StatusCode;

use super::{
    Fixture,
    words::{Words, acquire, assert_near, outcome},
};
use crate::{
    Store,
    store::{Held, Status},
};

/// Where the clock is paused the host's moves on by next to nothing meanwhile, and a store that read it would tell.
pub(super) async fn rule_7_a_status_follows_the_stores_clock<F: Fixture>(fixture: &F) {
    let first = claimed_at(fixture, "first").await;
    fixture.advance(2 * F::LEASE).await;

    let second = claimed_at(fixture, "second").await;

    assert_near::<F>(between(first, second), 2 * F::LEASE);
}

pub(super) async fn rule_7_a_status_tells_when_by_the_stores_clock<F: Fixture>(fixture: &F) {
    let store = fixture.store();
    let key = F::request("k").key;
    let first = acquire(store, &F::request("k")).await;
    let Status::InProgress { since } = store.status(&key).await.unwrap() else { panic!("it runs") };

    fixture.advance(F::LEASE / 2).await;
    assert_eq!(store.renew(&first, F::LEASE / 2).await.unwrap(), Held::Yes);
    assert_eq!(store.status(&key).await.unwrap(), Status::InProgress { since }, "since its claim, not its renewal");
    fixture.advance(F::LEASE).await;
    assert_eq!(store.status(&key).await.unwrap(), Status::Lapsed { since }, "since its claim, not its lapse");

    let second = acquire(store, &F::request("k")).await;
    let Status::InProgress { since: again } = store.status(&key).await.unwrap() else { panic!("it runs again") };
    assert_near::<F>(between(since, again), F::LEASE * 3 / 2);
    fixture.advance(F::MOMENT).await;
    assert_eq!(store.complete(&second, outcome("order 1")).await.unwrap(), Held::Yes);
    fixture.advance(F::LEASE).await;
    let Status::Done { status: StatusCode::CREATED, at, replayable: true } = store.status(&key).await.unwrap() else {
        panic!("it has ended")
    };
    assert_near::<F>(between(again, at), F::MOMENT);
}

async fn claimed_at<F: Fixture>(fixture: &F, key: &str) -> SystemTime {
    acquire(fixture.store(), &F::request(key)).await;
    match fixture.store().status(&F::request(key).key).await.unwrap() {
        Status::InProgress { since } => since,
        other => panic!("in progress: {other:?}"),
    }
}

#[track_caller]
fn between(earlier: SystemTime, later: SystemTime) -> Duration {
    later.duration_since(earlier).expect("time goes on")
}
