//! A holder that is paused between its completion and its COMMIT: nobody waits for it.

use std::time::Duration;

use lab::exchange::{post, send};
use tower_idempotency::{
    Store,
    idempotency::Claim,
    store::{ClaimRequest, Claimed, Found, Held, postgres::PostgresStore},
};

use crate::shop::{SECOND, Shop, Stop, acquired, order, outcome, request, seen, sending, waiting_for_nobody};

/// Store rule 5.
#[tokio::test]
async fn a_claim_of_a_locked_record_is_in_flight_at_once_and_other_keys_go_on() {
    let shop = Shop::open().await;
    for asked in [request("live"), ClaimRequest { lease: Duration::ZERO, ..request("lapsed") }] {
        let token = acquired(shop.store.claim(&asked).await);
        let holder = shop.paused_before_its_commit(&token).await;

        let claimed = waiting_for_nobody(&shop, shop.store.claim(&asked)).await.unwrap();
        assert!(matches!(claimed, Claimed::InFlight { lease_left } if lease_left.is_zero()), "{claimed:?}");
        let found = waiting_for_nobody(&shop, shop.store.lookup(&asked)).await.unwrap();
        assert!(matches!(found, Found::InFlight { lease_left } if lease_left.is_zero()), "{found:?}");
        acquired(waiting_for_nobody(&shop, shop.store.claim(&request(&format!("beside {}", asked.key.key())))).await);

        holder.commit().await.unwrap();
        assert!(matches!(shop.store.claim(&asked).await, Ok(Claimed::NotReplayable(_))));
    }
}

/// Store rule 5.
#[tokio::test]
async fn what_changes_a_locked_record_is_a_transient_error_and_never_a_no() {
    let shop = Shop::open().await;
    let token = acquired(shop.store.claim(&request("k")).await);
    let holder = shop.paused_before_its_commit(&token).await;

    let store = &shop.store;
    let errors = [
        waiting_for_nobody(&shop, store.renew(&token, SECOND)).await.unwrap_err(),
        waiting_for_nobody(&shop, store.release(&token)).await.unwrap_err(),
        waiting_for_nobody(&shop, store.force_release(token.key())).await.unwrap_err(),
        waiting_for_nobody(&shop, store.forget(token.key())).await.unwrap_err(),
    ];
    assert!(errors.iter().all(|error| error.is_transient()), "{errors:?}");
    assert_eq!(waiting_for_nobody(&shop, store.purge(10)).await.unwrap(), 0);

    holder.rollback().await.unwrap();
    assert_eq!(store.renew(&token, 30 * SECOND).await.unwrap(), Held::Yes, "left as it was");
    assert_eq!(store.complete(&token, outcome("made")).await.unwrap(), Held::Yes);
}

/// A completion may wait, for a moment.
#[tokio::test]
async fn a_completion_of_a_locked_record_waits_within_its_limit() {
    let shop = Shop::open().await;
    let token = acquired(shop.store.claim(&request("k")).await);
    let mut holder = shop.pool.begin().await.unwrap();
    shop.run_on(&mut holder, "SELECT FROM {}.records FOR UPDATE").await.unwrap();

    let error = shop.store.complete(&token, outcome("made")).await.unwrap_err();
    assert!(error.is_transient(), "{error:?}");

    holder.rollback().await.unwrap();
    assert_eq!(shop.store.complete(&token, outcome("made")).await.unwrap(), Held::Yes);
}

/// An expired record that a purge has marked, and one that another claim takes: skipped, and nobody waits.
#[tokio::test]
async fn a_purge_beside_a_locked_record_deletes_the_others() {
    let shop = Shop::open().await;
    let expiring = |key: &str| ClaimRequest { lease: Duration::ZERO, retention: Duration::ZERO, ..request(key) };
    for key in ["a", "b", "c"] {
        acquired(shop.store.claim(&expiring(key)).await);
    }
    let mut locker = shop.pool.begin().await.unwrap();
    shop.run_on(&mut locker, "SELECT FROM {}.records ORDER BY fence LIMIT 1 FOR UPDATE").await.unwrap();

    assert_eq!(waiting_for_nobody(&shop, shop.store.purge(10)).await.unwrap(), 2);
}

/// Through the layer: the holder has completed in its own transaction, and is not done with it.
#[tokio::test]
async fn a_repeat_beside_an_open_transaction_gets_409_at_once_and_the_replay_afterwards() {
    let (shop, stop) = (Shop::open().await, Stop::default());
    let (pool, schema, stopped) = (shop.pool.clone(), shop.schema.clone(), stop.clone());
    let app = shop.app(async move |claim: Claim<PostgresStore>| {
        let mut tx = pool.begin().await?;
        order(&mut tx, &schema, "tea").await?;
        let response = claim.complete_in(&mut tx, (http::StatusCode::CREATED, "tea")).await?;
        stopped.here().await;
        tx.commit().await?;
        Ok::<_, crate::shop::Failure>(response)
    });
    let first = sending(&app, post("k", "{}"));
    stop.reached().await;

    let repeat = waiting_for_nobody(&shop, send(&app, post("k", "{}"))).await;
    stop.let_go();
    let first = first.await.unwrap();

    assert_eq!(repeat.status, http::StatusCode::CONFLICT);
    assert_eq!(seen(&first), (201, "tea", Some("false")));
    assert_eq!(seen(&send(&app, post("k", "{}")).await), (201, "tea", Some("true")));
    assert_eq!(shop.orders().await, ["tea"]);
}

/// V10: its renewals find the record locked by its own transaction, so its lease lapses; nobody takes over before that
/// transaction has ended, and nobody waits for that.
#[tokio::test]
async fn a_holder_paused_before_its_commit_is_not_taken_over_though_its_lease_has_lapsed() {
    const REPEATS: u32 = 20;
    let (shop, watch, stop) = (Shop::open().await, Shop::open().await, Stop::default());
    let (pool, schema, stopped) = (shop.pool.clone(), shop.schema.clone(), stop.clone());
    let handler = async move |claim: Claim<PostgresStore>| {
        let mut tx = pool.begin().await?;
        order(&mut tx, &schema, claim.key().as_str()).await?;
        let response = claim.complete_in(&mut tx, (http::StatusCode::CREATED, "tea")).await?;
        if claim.key().as_str() == "k" {
            stopped.here().await;
        }
        tx.commit().await?;
        Ok::<_, crate::shop::Failure>(response)
    };
    let layer = shop.layer().lease(SECOND);
    let app = axum::Router::new().route("/reports", axum::routing::post(handler)).layer(layer);
    let first = sending(&app, post("k", "{}"));
    stop.reached().await;
    let lapsed = format!("SELECT count(*) FROM {}.records WHERE lease_until <= clock_timestamp()", shop.schema);
    while watch.count(&lapsed).await == 0 {
        tokio::time::sleep(SECOND / 20).await;
    }

    let repeats = async {
        let started = tokio::time::Instant::now();
        for n in 0..REPEATS {
            let repeat = send(&app, post("k", "{}")).await;
            assert_eq!(repeat.status, http::StatusCode::CONFLICT, "repeat {n}");
        }
        started.elapsed() / REPEATS
    };
    let took = waiting_for_nobody(&shop, repeats).await;
    assert!(took < SECOND / 10, "a repeat took {took:?}");
    let other = waiting_for_nobody(&shop, send(&app, post("other", "{}"))).await;
    assert_eq!(other.status, http::StatusCode::CREATED);
    stop.let_go();

    assert_eq!(seen(&first.await.unwrap()), (201, "tea", Some("false")));
    assert_eq!(seen(&send(&app, post("k", "{}")).await), (201, "tea", Some("true")));
    assert_eq!(shop.orders().await, ["k", "other"]);
}
