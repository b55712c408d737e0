//! What survives, for how long, and what a record tells.

use std::time::Duration;

use futures_util::future::join_all;
use http::StatusCode;
use rusqlite::Connection;
use tokio::time::advance;
use tower_idempotency::{
    SqliteStore, Store,
    store::{ClaimRequest, Claimed, Held, Outcome, Status, StoredResponse},
};

use crate::{Folder, HOUR, LEASE, SECOND, acquired, epoch, request, response};

#[tokio::test]
async fn what_was_acknowledged_is_there_after_reopening() {
    let folder = Folder::new();
    let store = folder.store().await;
    let first = acquired(store.claim(&request("done")).await);
    assert_eq!(store.complete(&first, Outcome::Response(response("made"))).await.unwrap(), Held::Yes);
    let second = acquired(store.claim(&request("closed")).await);
    let closed = Outcome::NotReplayable(StatusCode::ACCEPTED);
    assert_eq!(store.complete(&second, closed).await.unwrap(), Held::Yes);
    let third = acquired(store.claim(&request("running")).await);
    drop(store);

    let store = folder.store().await;
    assert!(matches!(store.claim(&request("done")).await, Ok(Claimed::Done(kept)) if kept == response("made")));
    assert!(matches!(store.claim(&request("closed")).await, Ok(Claimed::NotReplayable(StatusCode::ACCEPTED))));
    assert!(matches!(store.claim(&request("running")).await, Ok(Claimed::InFlight { .. })));
    assert_eq!(store.renew(&third, LEASE).await.unwrap(), Held::Yes);
    assert_eq!(store.release(&third).await.unwrap(), Held::Yes);
}

#[tokio::test]
async fn fences_rise_across_release_forgetting_purge_and_reopening() {
    let folder = Folder::new();
    let mut last = 0;
    for round in 0..3 {
        let store = folder.store().await;
        let released = acquired(store.claim(&request("a")).await);
        assert_eq!(store.release(&released).await.unwrap(), Held::Yes);
        let forgotten = acquired(store.claim(&request("a")).await);
        assert_eq!(store.forget(forgotten.key()).await.unwrap(), Held::Yes);
        assert!(last < released.fence() && released.fence() < forgotten.fence(), "round {round}");
        last = forgotten.fence();
    }
}

/// Rule 3 of the store contract.
#[tokio::test]
async fn a_completion_whose_answer_was_lost_can_be_asked_for_again() {
    let store = Folder::new().kept().store().await;
    let token = acquired(store.claim(&request("a")).await);
    for _ in 0..2 {
        assert_eq!(store.complete(&token, Outcome::Response(response("made"))).await.unwrap(), Held::Yes);
    }
    assert_eq!(store.complete(&token, Outcome::Response(response("other"))).await.unwrap(), Held::No);
    assert_eq!(store.complete(&token, Outcome::NotReplayable(StatusCode::CREATED)).await.unwrap(), Held::No);
    assert_eq!(store.release(&token).await.unwrap(), Held::No);
    assert!(matches!(store.claim(&request("a")).await, Ok(Claimed::Done(kept)) if kept == response("made")));
}

/// V36.
#[tokio::test(start_paused = true)]
async fn a_run_that_outlasts_the_retention_is_kept_and_retained_in_full_afterwards() {
    let store = Folder::new().kept().store().await;
    let request = ClaimRequest { retention: 60 * SECOND, ..request("a") };
    let token = acquired(store.claim(&request).await);
    for _ in 0..24 {
        advance(LEASE / 2).await;
        assert_eq!(store.renew(&token, LEASE).await.unwrap(), Held::Yes);
        assert_eq!(store.purge(100).await.unwrap(), 0);
    }
    assert_eq!(store.complete(&token, Outcome::Response(response("made"))).await.unwrap(), Held::Yes);
    advance(59 * SECOND).await;
    assert!(matches!(store.claim(&request).await, Ok(Claimed::Done(_))));
    advance(SECOND).await;
    assert!(matches!(store.status(&request.key).await, Ok(Status::Unknown)));
    assert!(matches!(store.claim(&request).await, Ok(Claimed::Acquired { attempt: 1, .. })));
}

/// V28.
#[tokio::test(start_paused = true)]
async fn purge_deletes_in_batches_what_is_past_its_retention_and_nothing_else() {
    let folder = Folder::new();
    let store = folder.store().await;
    for n in 0..25 {
        let token = acquired(store.claim(&ClaimRequest { retention: SECOND, ..request(&n.to_string()) }).await);
        assert_eq!(store.complete(&token, Outcome::Response(response("made"))).await.unwrap(), Held::Yes);
    }
    let done = acquired(store.claim(&request("done")).await);
    assert_eq!(store.complete(&done, Outcome::Response(response("made"))).await.unwrap(), Held::Yes);
    let live = acquired(store.claim(&ClaimRequest { retention: Duration::ZERO, ..request("live") }).await);
    assert_eq!(store.purge(10).await.unwrap(), 0);

    advance(SECOND).await;
    for deleted in [10, 10, 5, 0] {
        assert_eq!(store.purge(10).await.unwrap(), deleted);
    }
    assert_eq!(store.renew(&live, LEASE).await.unwrap(), Held::Yes);
    assert!(matches!(store.status(done.key()).await, Ok(Status::Done { .. })));
    assert_eq!(folder.count("tower_idempotency_records"), 2);
}

#[tokio::test(start_paused = true)]
async fn the_status_of_a_key_tells_since_when_and_how_it_ended() {
    let folder = Folder::new();
    let store = folder.at(Duration::ZERO).await;
    let key = request("a").key;
    assert_eq!(store.status(&key).await.unwrap(), Status::Unknown);
    let token = acquired(store.claim(&request("a")).await);
    assert_eq!(store.status(&key).await.unwrap(), Status::InProgress { since: epoch() });
    advance(LEASE).await;
    assert_eq!(store.status(&key).await.unwrap(), Status::Lapsed { since: epoch() });
    assert_eq!(store.complete(&token, Outcome::Response(response("made"))).await.unwrap(), Held::Yes);
    let done = Status::Done { status: StatusCode::CREATED, at: epoch() + LEASE, replayable: true };
    assert_eq!(store.status(&key).await.unwrap(), done);
}

#[tokio::test(start_paused = true)]
async fn the_longest_durations_are_only_long() {
    let store = Folder::new().kept().store().await;
    let request = ClaimRequest { lease: Duration::MAX, retention: Duration::MAX, ..request("a") };
    let token = acquired(store.claim(&request).await);
    advance(24 * HOUR).await;
    assert!(matches!(store.claim(&request).await, Ok(Claimed::InFlight { .. })));
    assert_eq!(store.renew(&token, Duration::MAX).await.unwrap(), Held::Yes);
    assert_eq!(store.complete(&token, Outcome::Response(response("made"))).await.unwrap(), Held::Yes);
    assert!(matches!(store.claim(&request).await, Ok(Claimed::Done(_))));
}

/// V33: a full disk rolls the whole transaction back.
#[tokio::test]
async fn a_full_disk_acknowledges_nothing_that_it_did_not_keep() {
    let folder = Folder::new();
    let bounded = |connection: &Connection| connection.pragma_update(None, "max_page_count", 60);
    let store = SqliteStore::builder(folder.file()).with_set_up(bounded).open().await.unwrap();
    let mut tokens = Vec::new();
    for n in 0..40 {
        tokens.push(acquired(store.claim(&request(&n.to_string())).await));
    }
    let big = Outcome::Response(StoredResponse { body: vec![b'x'; 16_000].into(), ..response("") });
    let (completed, renewed) = tokio::join!(
        join_all(tokens.iter().map(|token| store.complete(token, big.clone()))),
        join_all(tokens.iter().map(|token| store.renew(token, LEASE))),
    );

    let kept = completed.iter().filter(|held| matches!(held, Ok(Held::Yes))).count();
    assert!(0 < kept && kept < tokens.len(), "{kept}");
    for (token, completed) in tokens.iter().zip(completed) {
        let status = store.status(token.key()).await.unwrap();
        match completed {
            Ok(held) => assert!(held == Held::Yes && matches!(status, Status::Done { .. }), "{status:?}"),
            Err(error) => assert!(error.is_transient() && matches!(status, Status::InProgress { .. }), "{status:?}"),
        }
    }
    assert!(renewed.into_iter().all(|held| held.unwrap() == Held::Yes), "renewals go on");
}
