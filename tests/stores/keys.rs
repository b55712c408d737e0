//! The verbs that go by the key: `status`, `force_release`, `forget`.

use std::time::{Duration, SystemTime};

use http::StatusCode;
use tower_idempotency::{
    Store,
    store::{Held, Outcome, Status},
};

use crate::{Fixture, LEASE, RETENTION, acquire, acquire_attempt, other_body, outcome, replayed, request, response};

pub(crate) async fn a_status_tells_what_became_of_a_key(fixture: &impl Fixture) {
    let store = fixture.store();
    let key = request("k").key;
    assert_eq!(store.status(&key).await.unwrap(), Status::Unknown);

    let token = acquire(store, &request("k")).await;
    let running = store.status(&key).await.unwrap();
    let Status::InProgress { since } = running else { panic!("in progress: {running:?}") };

    fixture.advance(LEASE).await;
    assert_eq!(store.status(&key).await.unwrap(), Status::Lapsed { since }, "since its claim");

    assert_eq!(store.complete(&token, outcome("order 1")).await.unwrap(), Held::Yes);
    let done = Status::Done { status: StatusCode::CREATED, at: since + LEASE, replayable: true };
    assert_eq!(store.status(&key).await.unwrap(), done);

    fixture.advance(RETENTION).await;
    assert_eq!(store.status(&key).await.unwrap(), Status::Unknown);

    let token = acquire(store, &request("k")).await;
    assert_eq!(store.complete(&token, Outcome::NotReplayable(StatusCode::OK)).await.unwrap(), Held::Yes);
    let closed = store.status(&key).await.unwrap();
    assert!(matches!(closed, Status::Done { status: StatusCode::OK, replayable: false, .. }), "closed: {closed:?}");
}

/// Rule 7. V11: the host's clock stands still here while an hour passes for the store, and nothing else would tell.
pub(crate) async fn a_status_follows_the_stores_clock_and_not_the_hosts(fixture: &impl Fixture) {
    const HOUR: Duration = Duration::from_hours(1);
    let since = async |key: &str| -> SystemTime {
        acquire(fixture.store(), &request(key)).await;
        match fixture.store().status(&request(key).key).await.unwrap() {
            Status::InProgress { since } => since,
            other => panic!("in progress: {other:?}"),
        }
    };
    let first = since("first").await;
    fixture.advance(HOUR).await;

    let second = since("second").await;

    assert_eq!(second.duration_since(first).unwrap(), HOUR);
}

pub(crate) async fn a_forced_release_frees_an_unfinished_key_and_passes_its_holder(fixture: &impl Fixture) {
    let store = fixture.store();
    let live = acquire(store, &request("live")).await;
    let lapsed = acquire(store, &request("lapsed")).await;
    fixture.advance(LEASE).await;
    assert_eq!(store.renew(&live, LEASE).await.unwrap(), Held::Yes);

    for token in [live, lapsed] {
        assert_eq!(store.force_release(token.key()).await.unwrap(), Held::Yes);
        assert_eq!(store.force_release(token.key()).await.unwrap(), Held::No, "absent by now");

        assert_eq!(store.complete(&token, outcome("order 1")).await.unwrap(), Held::No, "its holder is passed");
        assert_eq!(store.renew(&token, LEASE).await.unwrap(), Held::No, "its holder is passed");
        assert_eq!(store.status(token.key()).await.unwrap(), Status::Unknown);
    }
}

pub(crate) async fn a_forced_release_leaves_a_finished_key(fixture: &impl Fixture) {
    let store = fixture.store();
    let token = acquire(store, &request("k")).await;
    assert_eq!(store.complete(&token, outcome("order 1")).await.unwrap(), Held::Yes);

    assert_eq!(store.force_release(token.key()).await.unwrap(), Held::No);

    assert_eq!(replayed(store, &request("k")).await, response("order 1"));
}

pub(crate) async fn a_forgotten_key_runs_again(fixture: &impl Fixture) {
    let store = fixture.store();
    assert_eq!(store.forget(&request("k").key).await.unwrap(), Held::No, "there was none");
    let token = acquire(store, &request("k")).await;
    assert_eq!(store.complete(&token, outcome("order 1")).await.unwrap(), Held::Yes);

    assert_eq!(store.forget(token.key()).await.unwrap(), Held::Yes);

    assert_eq!(store.complete(&token, outcome("order 1")).await.unwrap(), Held::No, "its holder is passed");
    assert_eq!(acquire_attempt(store, &other_body(&request("k"))).await.1, 1);
    assert_eq!(store.forget(token.key()).await.unwrap(), Held::Yes, "unfinished too");
}
