//! `purge`, and V28.

use tower_idempotency::{
    Store,
    store::{ClaimRequest, Held, Status, Token},
};

use crate::{Fixture, LEASE, RETENTION, SECOND, acquire, lease_left, outcome, replayed, request, response};

pub(crate) async fn a_purge_deletes_what_is_past_its_retention_and_nothing_else(fixture: &impl Fixture) {
    let store = fixture.store();
    let expired = acquire(store, &request("expired")).await;
    assert_eq!(store.complete(&expired, outcome("expired")).await.unwrap(), Held::Yes);
    acquire(store, &ClaimRequest { retention: RETENTION - LEASE, ..request("abandoned") }).await;
    let renewed = acquire(store, &request("renewed")).await;
    acquire(store, &request("lapsed")).await;
    fixture.advance(RETENTION - SECOND).await;
    assert_eq!(store.purge(100).await.unwrap(), 0, "nothing is past its retention yet");
    let kept = acquire(store, &request("kept")).await;
    assert_eq!(store.complete(&kept, outcome("kept")).await.unwrap(), Held::Yes);
    assert_eq!(store.renew(&renewed, LEASE).await.unwrap(), Held::Yes);
    fixture.advance(SECOND).await;

    assert_eq!(store.purge(100).await.unwrap(), 2, "the expired one and the abandoned one");

    assert_eq!(store.purge(100).await.unwrap(), 0, "once");
    assert_eq!(replayed(store, &request("kept")).await, response("kept"));
    assert_eq!(lease_left(store, &request("renewed")).await, LEASE - SECOND);
    assert!(
        matches!(store.status(&request("lapsed").key).await.unwrap(), Status::Lapsed { .. }),
        "kept from its lapse"
    );
}

pub(crate) async fn a_purge_deletes_no_more_than_its_batch(fixture: &impl Fixture) {
    let store = fixture.store();
    for n in 0..25 {
        acquire(store, &request(&n.to_string())).await;
    }
    fixture.advance(LEASE + RETENTION).await;

    let mut deleted = Vec::new();
    for batch in [0, 10, 10, 10, 10] {
        deleted.push(store.purge(batch).await.unwrap());
    }

    assert_eq!(deleted, [0, 10, 10, 5, 0]);
}

/// V28, with some thousand records: the purge meets expired ones, live ones and new ones at every point.
pub(crate) async fn claims_go_on_between_batches_and_live_leases_stay(fixture: &impl Fixture) {
    const EXPIRED: u32 = 3_000;
    const LIVE: u32 = 300;
    let store = fixture.store();
    let key = |kind: &str, n: u32| request(&format!("{kind}-{n}"));
    let mut live: Vec<Token> = Vec::new();
    for n in 0..EXPIRED {
        let token = acquire(store, &key("expired", n)).await;
        if n % 2 == 0 {
            assert_eq!(store.complete(&token, outcome("expired")).await.unwrap(), Held::Yes);
        }
        if n % (EXPIRED / LIVE) == 0 {
            live.push(acquire(store, &key("live", n)).await);
        }
    }
    fixture.advance(RETENTION).await;
    for token in &live {
        assert_eq!(store.renew(token, 2 * LEASE).await.unwrap(), Held::Yes);
    }
    fixture.advance(LEASE).await;

    let mut deleted = 0;
    let mut batches = 0;
    loop {
        let batch = store.purge(100).await.unwrap();
        assert!(batch <= 100, "a batch is a limit: {batch}");
        if batch == 0 {
            break;
        }
        deleted += batch;
        live.push(acquire(store, &key("meanwhile", batches)).await);
        // An expired key is claimed anew, so the purge has one record less to delete.
        if let Some(last) = EXPIRED.checked_sub(1 + batches).filter(|_| batches < 5) {
            live.push(acquire(store, &key("expired", last)).await);
        }
        batches += 1;
    }

    assert!(deleted <= u64::from(EXPIRED) && deleted >= u64::from(EXPIRED - 5), "every expired record: {deleted}");
    assert_eq!(live.len() as u32, LIVE + batches + 5);
    for token in live {
        assert_eq!(store.complete(&token, outcome("done")).await.unwrap(), Held::Yes, "a live lease is never purged");
    }
}
