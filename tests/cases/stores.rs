//! V27 and V28: a store that is down, and one that is full of old records.

use std::{sync::Arc, time::Duration};

use http::StatusCode;
use lab::{
    app::{App, Hold},
    clock::until,
    exchange::post,
    gate::{Gate, GatedStore, Verb},
    problem,
};
use tokio::sync::Semaphore;
use tower_idempotency::{
    IdempotencyKey, MemoryStore, Store,
    store::{ClaimRequest, Claimed, Fingerprint, Outcome, ScopedKey},
};

use crate::{gated, held, shared};

/// V27: the store is down at the claim: 503 with Retry-After, and the handler is not called.
#[tokio::test(start_paused = true)]
async fn v27_a_store_that_is_down_at_the_claim_is_503() {
    for gate in [Gate::Fail, Gate::FailForGood, Gate::Never] {
        let store = gated();
        store.set(Verb::Claim, gate);
        let app = App::numbered(&shared(store));
        let answer = app.send(post("k", "{}")).await;
        assert_eq!(problem::kind(&answer), (503, "StoreUnavailable".into()));
        assert_eq!((answer.header("retry-after"), app.runs()), (Some("1"), 0));
    }
}

/// V27; rule 17: one that is up again runs the repeat.
#[tokio::test(start_paused = true)]
async fn v27_a_repeat_runs_once_the_store_is_up_again() {
    let store = gated();
    store.set_once(Verb::Claim, Gate::Fail);
    let app = App::numbered(&shared(store));
    assert_eq!(app.send(post("k", "{}")).await.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(app.send(post("k", "{}")).await.text(), "run 1");
}

/// V27; rule 17: where it is set to serve unprotected all the same, a run ends at `max_run` too.
#[tokio::test(start_paused = true)]
async fn v27_a_run_that_is_not_protected_ends_at_max_run() {
    let store = gated();
    store.set(Verb::Claim, Gate::Fail);
    let layer = shared(store).serve_unprotected_when_the_store_fails().max_run(Duration::from_secs(60));
    let hold = Hold::new();
    let app = held(&layer, &hold);
    let left = app.start(post("k", "{}"));
    hold.reached().await;
    left.abort();
    assert!(left.await.is_err());

    let stays = app.send(post("k", "{}")).await;
    layer.drained().await;

    assert_eq!(problem::kind(&stays), (503, "RunTimedOut".into()));
}

/// A finished record that is kept for one second.
async fn finish<S: Store>(store: &S, key: usize) {
    let claim = ClaimRequest {
        key: ScopedKey::new("", &IdempotencyKey::parse(&format!("old-{key}")).unwrap()),
        fingerprint: Fingerprint::of(b"", b"", b""),
        lease: Duration::from_secs(10),
        retention: Duration::from_secs(1),
    };
    let Ok(Claimed::Acquired { token, .. }) = store.claim(&claim).await else { panic!("a new key") };
    let _held = store.complete(&token, Outcome::NotReplayable(StatusCode::CREATED)).await.unwrap();
}

/// V28, at a size that memory is made for: expired records are purged in batches, claims go on between two of them, and
/// a live lease is never purged.
#[tokio::test(start_paused = true)]
async fn v28_old_records_are_purged_in_batches_while_claims_go_on() {
    const OLD: usize = 20_000;
    let (store, batches, hold) = (GatedStore::new(MemoryStore::new()), Arc::new(Semaphore::new(0)), Hold::new());
    store.set(Verb::Purge, Gate::Permit(Arc::clone(&batches)));
    for key in 0..OLD {
        finish(&store, key).await;
    }
    let layer = shared(store.clone()).retention(Duration::from_secs(1)).store_timeout(Duration::from_secs(60 * 60));
    let app = held(&layer, &hold);
    let live = app.start(post("live", "{}"));
    hold.reached().await;

    for batch in 1..=4 {
        until(|| store.calls(Verb::Purge) == batch).await;
        let before = store.inner().len();
        batches.add_permits(1);
        until(|| store.calls(Verb::Purge) == batch + 1).await;
        let purged = before - store.inner().len();
        assert!((1..=1_000).contains(&purged), "a batch of {purged}");
        let between = app.start(post(&format!("between {batch}"), "{}"));
        hold.reached().await;
        assert_eq!(app.send(post("live", "{}")).await.status, StatusCode::CONFLICT);
        drop(between);
    }
    batches.add_permits(OLD);
    until(|| store.inner().len() == 5).await;

    hold.let_go(5);
    assert_eq!(live.await.unwrap().text(), "run 1");
}

/// V28: a record with a live lease outlives any number of purges, however short its retention.
#[tokio::test(start_paused = true)]
async fn v28_a_live_lease_is_never_purged() {
    let (store, hold) = (gated(), Hold::new());
    let app =
        held(&shared(store.clone()).retention(Duration::from_millis(1)).purge_interval(Duration::from_secs(1)), &hold);
    let live = app.start(post("k", "{}"));
    hold.reached().await;
    until(|| store.calls(Verb::Purge) == 100).await;
    assert_eq!(app.send(post("k", "{}")).await.status, StatusCode::CONFLICT);
    hold.let_go(1);
    assert_eq!(live.await.unwrap().text(), "run 1");
}
