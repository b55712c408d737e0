//! A record that changes between a claim's snapshot and what the claim does: it is judged by its newest version.
//!
//! The claim is stopped there: it asks for the time after its snapshot, and the clock of its connection waits for a lock
//! that the test holds.

use std::time::Duration;

use tokio::task::JoinHandle;
use tower_idempotency::{
    PostgresStore, Store,
    store::{
        ClaimRequest, Claimed, Held, StoreError,
        postgres::sqlx::{
            self, AssertSqlSafe,
            pool::PoolConnection,
            postgres::{PgPoolOptions, Postgres},
        },
    },
};

use crate::shop::{SECOND, Shop, acquired, at_once, outcome, request};

/// V4: the winner has finished when the loser inserts.
#[tokio::test]
async fn a_key_that_was_new_and_is_done_now_is_replayed() {
    let shop = Shop::open().await;
    let stopped = Stopped::after_its_snapshot(&shop, &request("k")).await;
    let token = acquired(shop.store.claim(&request("k")).await);
    assert_eq!(shop.store.complete(&token, outcome("made")).await.unwrap(), Held::Yes);

    let claimed = stopped.goes_on().await.unwrap();

    assert!(matches!(&claimed, Claimed::Done(it) if it.body == "made"), "{claimed:?}");
}

/// V2.
#[tokio::test]
async fn a_key_that_was_new_and_is_claimed_now_is_in_flight() {
    let shop = Shop::open().await;
    let stopped = Stopped::after_its_snapshot(&shop, &request("k")).await;
    acquired(shop.store.claim(&request("k")).await);

    let claimed = stopped.goes_on().await.unwrap();

    assert!(matches!(claimed, Claimed::InFlight { lease_left } if lease_left > 20 * SECOND), "{claimed:?}");
}

/// The one case in which an insert would wait: the record came after the snapshot, and an open transaction has it.
#[tokio::test]
async fn a_key_that_was_new_and_is_locked_now_is_in_flight_with_nothing_left() {
    let shop = Shop::open().await;
    let stopped = Stopped::after_its_snapshot(&shop, &request("k")).await;
    let token = acquired(shop.store.claim(&request("k")).await);
    let _holder = shop.paused_before_its_commit(&token).await;

    let claimed = stopped.goes_on().await.unwrap();

    assert!(matches!(claimed, Claimed::InFlight { lease_left } if lease_left.is_zero()), "{claimed:?}");
}

/// V5.
#[tokio::test]
async fn an_expired_record_that_is_purged_meanwhile_is_claimed_anew() {
    let shop = Shop::open().await;
    let expiring = ClaimRequest { lease: Duration::ZERO, retention: Duration::ZERO, ..request("k") };
    let passed = acquired(shop.store.claim(&expiring).await);
    let stopped = Stopped::after_its_snapshot(&shop, &request("k")).await;
    assert_eq!(shop.store.purge(10).await.unwrap(), 1);

    let token = acquired(stopped.goes_on().await);

    assert!(token.fence() > passed.fence());
    assert_eq!(shop.store.complete(&token, outcome("made")).await.unwrap(), Held::Yes);
}

#[tokio::test]
async fn a_lapsed_record_that_is_completed_meanwhile_is_replayed() {
    let shop = Shop::open().await;
    let late = acquired(shop.store.claim(&lapsing()).await);
    let stopped = Stopped::after_its_snapshot(&shop, &request("k")).await;
    assert_eq!(shop.store.complete(&late, outcome("late")).await.unwrap(), Held::Yes);

    let claimed = stopped.goes_on().await.unwrap();

    assert!(matches!(&claimed, Claimed::Done(it) if it.body == "late"), "{claimed:?}");
}

#[tokio::test]
async fn a_lapsed_record_that_is_renewed_meanwhile_is_in_flight() {
    let shop = Shop::open().await;
    let late = acquired(shop.store.claim(&lapsing()).await);
    let stopped = Stopped::after_its_snapshot(&shop, &request("k")).await;
    assert_eq!(shop.store.renew(&late, 30 * SECOND).await.unwrap(), Held::Yes);

    let claimed = stopped.goes_on().await.unwrap();

    assert!(matches!(claimed, Claimed::InFlight { lease_left } if lease_left > 20 * SECOND), "{claimed:?}");
    assert_eq!(shop.store.complete(&late, outcome("late")).await.unwrap(), Held::Yes);
}

#[tokio::test]
async fn a_lapsed_record_that_is_taken_over_meanwhile_is_in_flight() {
    let shop = Shop::open().await;
    acquired(shop.store.claim(&lapsing()).await);
    let stopped = Stopped::after_its_snapshot(&shop, &request("k")).await;
    let token = acquired(shop.store.claim(&request("k")).await);

    let claimed = stopped.goes_on().await.unwrap();

    assert!(matches!(claimed, Claimed::InFlight { .. }), "{claimed:?}");
    assert_eq!(shop.store.complete(&token, outcome("made")).await.unwrap(), Held::Yes);
}

/// The next attempt is counted from the newest version too.
#[tokio::test]
async fn a_lapsed_record_that_is_taken_over_and_lapses_again_is_taken_over_once_more() {
    let shop = Shop::open().await;
    acquired(shop.store.claim(&lapsing()).await);
    let stopped = Stopped::after_its_snapshot(&shop, &request("k")).await;
    let passed = acquired(shop.store.claim(&lapsing()).await);

    let claimed = stopped.goes_on().await.unwrap();

    let Claimed::Acquired { token, attempt: 3 } = claimed else { panic!("the third run: {claimed:?}") };
    assert!(token.fence() > passed.fence());
    assert_eq!(shop.store.complete(&passed, outcome("late")).await.unwrap(), Held::No);
}

fn lapsing() -> ClaimRequest {
    ClaimRequest { lease: Duration::ZERO, ..request("k") }
}

/// A claim that has its snapshot and nothing more.
struct Stopped {
    claim: JoinHandle<Result<Claimed, StoreError>>,
    lock: PoolConnection<Postgres>,
}

impl Stopped {
    async fn after_its_snapshot(shop: &Shop, asked: &ClaimRequest) -> Self {
        shop.run(
            "CREATE SCHEMA {}_clock;
             CREATE FUNCTION {}_clock.clock_timestamp() RETURNS timestamptz LANGUAGE plpgsql VOLATILE AS $$
             BEGIN
                 PERFORM pg_advisory_xact_lock_shared(hashtext('{}'));
                 RETURN pg_catalog.clock_timestamp();
             END $$",
        )
        .await;
        let mut lock = shop.pool.acquire().await.unwrap();
        shop.run_on(&mut lock, "SELECT pg_advisory_lock(hashtext('{}'))").await.unwrap();
        let search_path = format!("SET search_path = {}_clock, pg_catalog", shop.schema);
        let pool = PgPoolOptions::new().max_connections(1).after_connect(move |connection, _| {
            let search_path = search_path.clone();
            Box::pin(async move { sqlx::raw_sql(AssertSqlSafe(search_path)).execute(connection).await.map(drop) })
        });
        let pool = pool.connect(&lab::servers::postgres::shared_url()).await.unwrap();
        let store = PostgresStore::builder(pool).schema(&shop.schema).build().unwrap();
        let asked = asked.clone();
        let claim = tokio::spawn(async move { store.claim(&asked).await });
        let waits = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
                     AND objid = hashtext('{}')::bigint & 4294967295";
        while shop.count(waits).await == 0 {}
        Self { claim, lock }
    }

    async fn goes_on(mut self) -> Result<Claimed, StoreError> {
        sqlx::raw_sql("SELECT pg_advisory_unlock_all()").execute(&mut *self.lock).await.unwrap();
        at_once(self.claim).await.unwrap()
    }
}
