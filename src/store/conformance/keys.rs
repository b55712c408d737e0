//! The verbs that go by the key: `status` (rule 2), `force_release` and `forget` (rule 3).

use http::StatusCode;

use super::{
    Fixture,
    words::{Words, acquire, acquire_attempt, other_body, outcome, replayed, response},
};
use crate::{
    Store,
    store::{Held, Outcome, Status},
};

/// When is asked of rule 7.
pub(super) async fn rule_2_a_status_tells_what_became_of_a_key<F: Fixture>(fixture: &F) {
    let store = fixture.store();
    let key = F::request("k").key;
    assert_eq!(store.status(&key).await.unwrap(), Status::Unknown);

    let token = acquire(store, &F::request("k")).await;
    let status = store.status(&key).await.unwrap();
    assert!(matches!(status, Status::InProgress { .. }), "it runs: {status:?}");
    fixture.advance(F::LEASE).await;
    let status = store.status(&key).await.unwrap();
    assert!(matches!(status, Status::Lapsed { .. }), "its lease has lapsed: {status:?}");

    assert_eq!(store.complete(&token, outcome("order 1")).await.unwrap(), Held::Yes);
    let status = store.status(&key).await.unwrap();
    assert!(matches!(status, Status::Done { status: StatusCode::CREATED, replayable: true, .. }), "done: {status:?}");
    fixture.advance(F::RETENTION).await;
    assert_eq!(store.status(&key).await.unwrap(), Status::Unknown, "past its retention");

    let token = acquire(store, &F::request("k")).await;
    assert_eq!(store.complete(&token, Outcome::NotReplayable(StatusCode::OK)).await.unwrap(), Held::Yes);
    let status = store.status(&key).await.unwrap();
    assert!(matches!(status, Status::Done { status: StatusCode::OK, replayable: false, .. }), "closed: {status:?}");
}

pub(super) async fn rule_3_a_forced_release_frees_an_unfinished_key_and_passes_its_holder<F: Fixture>(fixture: &F) {
    let store = fixture.store();
    let live = acquire(store, &F::request("live")).await;
    let lapsed = acquire(store, &F::request("lapsed")).await;
    fixture.advance(F::LEASE).await;
    assert_eq!(store.renew(&live, F::LEASE).await.unwrap(), Held::Yes);

    for token in [live, lapsed] {
        assert_eq!(store.force_release(token.key()).await.unwrap(), Held::Yes);
        assert_eq!(store.force_release(token.key()).await.unwrap(), Held::No, "absent by now");

        assert_eq!(store.complete(&token, outcome("order 1")).await.unwrap(), Held::No, "its holder is passed");
        assert_eq!(store.renew(&token, F::LEASE).await.unwrap(), Held::No, "its holder is passed");
        assert_eq!(store.status(token.key()).await.unwrap(), Status::Unknown);
    }
}

pub(super) async fn rule_3_a_forced_release_leaves_a_finished_key<F: Fixture>(fixture: &F) {
    let store = fixture.store();
    let token = acquire(store, &F::request("k")).await;
    assert_eq!(store.complete(&token, outcome("order 1")).await.unwrap(), Held::Yes);

    assert_eq!(store.force_release(token.key()).await.unwrap(), Held::No);

    assert_eq!(replayed(store, &F::request("k")).await, response("order 1"));
}

pub(super) async fn rule_3_a_forgotten_key_runs_again<F: Fixture>(fixture: &F) {
    let store = fixture.store();
    assert_eq!(store.forget(&F::request("k").key).await.unwrap(), Held::No, "there was none");
    let token = acquire(store, &F::request("k")).await;
    assert_eq!(store.complete(&token, outcome("order 1")).await.unwrap(), Held::Yes);

    assert_eq!(store.forget(token.key()).await.unwrap(), Held::Yes);

    assert_eq!(store.complete(&token, outcome("order 1")).await.unwrap(), Held::No, "its holder is passed");
    assert_eq!(acquire_attempt(store, &other_body(&F::request("k"))).await.1, 1);
    assert_eq!(store.forget(token.key()).await.unwrap(), Held::Yes, "unfinished too");
}
