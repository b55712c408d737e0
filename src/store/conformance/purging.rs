//! Rule 2: `purge`, and V28.

use std::time::Duration;

use futures_util::future::join_all;

use super::{
    Fixture,
    words::{Words, acquire, assert_near, lease_left, outcome, replayed, response},
};
use crate::{
    Store,
    store::{ClaimRequest, Held, Status},
};

pub(super) async fn rule_2_a_purge_deletes_what_is_past_its_retention_and_nothing_else<F: Fixture>(fixture: &F) {
    let store = fixture.store();
    let expired = acquire(store, &F::request("expired")).await;
    assert_eq!(store.complete(&expired, outcome("expired")).await.unwrap(), Held::Yes);
    acquire(store, &ClaimRequest { retention: F::RETENTION - F::LEASE, ..F::request("abandoned") }).await;
    let renewed = acquire(store, &F::request("renewed")).await;
    acquire(store, &F::request("lapsed")).await;
    fixture.advance(F::RETENTION - F::MOMENT).await;
    assert_eq!(store.purge(100).await.unwrap(), 0, "nothing is past its retention yet");
    let kept = acquire(store, &F::request("kept")).await;
    assert_eq!(store.complete(&kept, outcome("kept")).await.unwrap(), Held::Yes);
    assert_eq!(store.renew(&renewed, F::LEASE).await.unwrap(), Held::Yes);
    fixture.advance(F::MOMENT).await;

    assert_eq!(store.purge(100).await.unwrap(), F::EXPIRY.purged(2), "the expired one and the abandoned one");

    assert_eq!(store.purge(100).await.unwrap(), 0, "once");
    assert_eq!(replayed(store, &F::request("kept")).await, response("kept"));
    assert_near::<F>(lease_left(store, &F::request("renewed")).await, F::LEASE - F::MOMENT);
    assert!(
        matches!(store.status(&F::request("lapsed").key).await.unwrap(), Status::Lapsed { .. }),
        "kept from its lapse"
    );
}

pub(super) async fn rule_2_a_purge_deletes_no_more_than_its_batch<F: Fixture>(fixture: &F) {
    let store = fixture.store();
    for n in 0..25 {
        acquire(store, &F::request(&n.to_string())).await;
    }
    fixture.advance(F::LEASE + F::RETENTION).await;

    let mut deleted = Vec::new();
    for batch in [0, 10, 10, 10, 10] {
        deleted.push(store.purge(batch).await.unwrap());
    }

    assert_eq!(deleted, [0, 10, 10, 5, 0].map(|expired| F::EXPIRY.purged(expired)));
}

/// V28, with two thousand records: the purge meets expired ones, live ones and new ones at every point.
pub(super) async fn rule_2_claims_go_on_between_batches_and_live_leases_stay<F: Fixture>(fixture: &F) {
    const EXPIRED: usize = 2_000;
    let store = fixture.store();
    // A hundred at a time: a store on a server would take long over one after the other.
    let mut live = Vec::new();
    for hundred in 0..EXPIRED / 100 {
        let expired = (0..100).map(async |n| {
            let request = ClaimRequest { lease: 1000 * F::LEASE, ..F::expiring(&format!("expired-{hundred}-{n}")) };
            let token = acquire(store, &request).await;
            // Half of them end, the others are given up.
            let ended = if n % 2 == 0 {
                store.complete(&token, outcome("expired")).await
            } else {
                store.renew(&token, Duration::ZERO).await
            };
            assert_eq!(ended.unwrap(), Held::Yes);
        });
        join_all(expired).await;
        let lasting = (0..10).map(async |n| acquire(store, &F::lasting(&format!("live-{hundred}-{n}"))).await);
        live.extend(join_all(lasting).await);
    }

    let mut deleted = 0;
    for round in 0.. {
        let batch = store.purge(100).await.unwrap();
        assert!(batch <= 100, "a batch is a limit: {batch}");
        if batch == 0 {
            break;
        }
        deleted += batch;
        live.push(acquire(store, &F::lasting(&format!("meanwhile-{round}"))).await);
        // An expired key is claimed anew, so the purge may have one record less to delete.
        if round < 5 {
            live.push(acquire(store, &F::lasting(&format!("expired-{round}-99"))).await);
        }
    }

    let (least, most) = (F::EXPIRY.purged(EXPIRED as u64 - 5), F::EXPIRY.purged(EXPIRED as u64));
    assert!((least..=most).contains(&deleted), "every expired record: {deleted}");
    for held in join_all(live.iter().map(async |token| store.complete(token, outcome("done")).await.unwrap())).await {
        assert_eq!(held, Held::Yes, "a live lease is never purged");
    }
}
