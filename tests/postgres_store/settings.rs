//! Servers, roles and names that are set in unusual ways.

use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use http::StatusCode;
use lab::exchange::{post, send};
use tower_idempotency::{
    PostgresStore, Store,
    idempotency::{Claim, CommitErrorKind},
    store::{
        ClaimRequest, Claimed, Found, Held, Outcome, Status, StoredResponse,
        postgres::{
            PostgresStoreBuilder,
            sqlx::{
                self, PgPool,
                postgres::{PgConnectOptions, PgPoolOptions},
            },
        },
    },
};

use crate::shop::{Failure, SECOND, Shop, acquired, at_once, order, outcome, pool, request, seen};

/// As `ALTER ROLE ... SET` or `ALTER DATABASE ... SET` would make them: each of these changes what a statement means, how
/// it is planned, or how its answer is written.
const SETTINGS: [(&str, &str); 19] = [
    ("array_nulls", "off"),
    ("bytea_output", "escape"),
    ("datestyle", "German, DMY"),
    ("default_transaction_deferrable", "on"),
    ("default_transaction_isolation", "repeatable read"),
    ("default_transaction_isolation", "serializable"),
    ("enable_indexscan", "off"),
    ("enable_nestloop", "off"),
    ("enable_seqscan", "off"),
    ("extra_float_digits", "-15"),
    ("intervalstyle", "iso_8601"),
    ("jit_above_cost", "0"),
    ("lock_timeout", "1"),
    ("plan_cache_mode", "force_custom_plan"),
    ("plan_cache_mode", "force_generic_plan"),
    ("search_path", ""),
    ("standard_conforming_strings", "off"),
    ("timezone", "Asia/Kathmandu"),
    ("transform_null_equals", "on"),
];

#[tokio::test]
async fn whatever_a_role_is_set_to_each_verb_keeps_its_word() {
    let shop = Shop::open().await;
    for (name, value) in SETTINGS {
        let pool = pool_set_to(name, value).await;
        for set in [prepared, PostgresStoreBuilder::without_prepared_statements] {
            let store = set(PostgresStore::builder(pool.clone())).schema(&shop.schema).build().unwrap();
            each_verb_keeps_its_word(&store, &format!("{name}={value}")).await;
        }
    }
}

/// Quoted wherever they are used, and no part of a statement.
#[tokio::test]
async fn a_name_may_hold_anything() {
    let pool = pool(&lab::servers::postgres::shared_url(), 4).await;
    let prefix = format!("{} ", std::process::id());
    for name in
        ["\"", "'", "\\", "$1", "$$", "{records}", "{fences}", "}{", "-- ", "; DROP", "\n", "?", "%", "\u{1F511}", "É"]
    {
        for set in [prepared, PostgresStoreBuilder::without_prepared_statements] {
            let builder = set(PostgresStore::builder(pool.clone())).schema(format!("{prefix}{name}")).table(name);
            let store = builder.build().unwrap();
            store.migrate().await.unwrap_or_else(|error| panic!("{name:?}: {error:?}"));
            store.migrate().await.unwrap_or_else(|error| panic!("{name:?}, again: {error:?}"));
            each_verb_keeps_its_word(&store, name).await;
        }
    }
}

/// A replica, or a primary that has been made read only: a matter of time. A claim may have to write, so it is refused as
/// a whole; what only looks is answered.
#[tokio::test]
async fn a_server_that_is_read_only_is_transient_and_answers_what_only_looks() {
    let shop = Shop::open().await;
    let [done, running] = ["done", "running"].map(request);
    let token = acquired(shop.store.claim(&done).await);
    assert_eq!(shop.store.complete(&token, outcome("made")).await.unwrap(), Held::Yes);
    let token = acquired(shop.store.claim(&running).await);
    let read_only = pool_set_to("default_transaction_read_only", "on").await;
    let store = PostgresStore::builder(read_only).schema(&shop.schema).build().unwrap();

    for error in [
        store.claim(&request("new")).await.map(drop).unwrap_err(),
        store.claim(&done).await.map(drop).unwrap_err(),
        store.renew(&token, SECOND).await.map(drop).unwrap_err(),
        store.complete(&token, outcome("made")).await.map(drop).unwrap_err(),
        store.release(&token).await.map(drop).unwrap_err(),
        store.purge(10).await.map(drop).unwrap_err(),
    ] {
        assert!(error.is_transient(), "{error:?}");
    }
    assert!(matches!(store.lookup(&done).await, Ok(Found::Done(_))));
    assert!(matches!(store.status(token.key()).await, Ok(Status::InProgress { .. })));
}

#[tokio::test]
async fn a_statement_that_the_server_ends_after_its_time_is_transient() {
    let shop = Shop::open().await;
    let token = acquired(shop.store.claim(&request("k")).await);
    let mut locker = shop.pool.begin().await.unwrap();
    shop.run_on(&mut locker, "SELECT FROM {}.records FOR UPDATE").await.unwrap();
    let pool = pool_set_to("statement_timeout", "100").await;
    let store = PostgresStore::builder(pool).schema(&shop.schema).build().unwrap();

    assert!(store.complete(&token, outcome("made")).await.unwrap_err().is_transient());
    locker.rollback().await.unwrap();
    assert_eq!(store.complete(&token, outcome("made")).await.unwrap(), Held::Yes);
}

/// The server ends a session that is idle in its transaction: the commit is sure not to be.
#[tokio::test]
async fn a_handler_that_idles_in_its_transaction_for_too_long_commits_nothing_and_a_repeat_runs() {
    let (shop, watch) = (Shop::open().await, Shop::open().await);
    let pool = pool_set_to("idle_in_transaction_session_timeout", "200").await;
    let store = PostgresStore::builder(pool).schema(&shop.schema).build().unwrap();
    let (schema, watch) = (shop.schema.clone(), watch.pool.clone());
    let handler = async move |claim: Claim<PostgresStore>| {
        let mut tx = claim.begin().await?;
        order(&mut tx, &schema, "tea").await?;
        if claim.fence() == 1 {
            let pid: i32 = sqlx::query_scalar("SELECT pg_backend_pid()").fetch_one(&mut *tx).await?;
            while sqlx::query("SELECT FROM pg_stat_activity WHERE pid = $1")
                .bind(pid)
                .fetch_optional(&watch)
                .await?
                .is_some()
            {}
            let ended = tx.complete(StatusCode::CREATED).await.unwrap_err();
            assert_eq!(ended.kind(), CommitErrorKind::RolledBack);
            return Err(Failure::from(ended));
        }
        tx.complete((StatusCode::CREATED, claim.attempt().to_string())).await.map_err(Failure::from)
    };
    let layer = tower_idempotency::IdempotencyLayer::new(store, tower_idempotency::idempotency::Scope::shared());
    let app = axum::Router::new().route("/reports", axum::routing::post(handler)).layer(layer);

    assert_eq!(send(&app, post("k", "{}")).await.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(seen(&send(&app, post("k", "{}")).await), (201, "1", Some("false")));
    assert_eq!(shop.orders().await, ["tea"]);
}

/// Each handler has the only connection while its transaction is open, and the layer asks the store before and after.
#[tokio::test]
async fn with_one_connection_handlers_that_begin_take_turns_and_none_is_stuck() {
    let shop = Shop::with(1).await;
    let schema = shop.schema.clone();
    let app = shop.app(async move |claim: Claim<PostgresStore>| {
        let mut tx = claim.begin().await?;
        order(&mut tx, &schema, claim.key().as_str()).await?;
        tx.complete(StatusCode::CREATED).await.map_err(Failure::from)
    });

    let answers = join_all((0..20).map(|n| send(&app, post(&format!("k{n}"), "{}")))).await;

    assert!(answers.iter().all(|answer| answer.status == 201), "{answers:?}");
    assert_eq!(shop.orders().await.len(), 20);
}

/// A handler that begins a second transaction while it holds the only connection: it fails at its limit, not for ever.
#[tokio::test]
async fn with_one_connection_a_second_transaction_of_a_handler_is_an_error_and_the_first_goes_on() {
    let shop = Shop::with(1).await;
    let schema = shop.schema.clone();
    let handler = async move |claim: Claim<PostgresStore>| {
        let mut tx = claim.begin().await?;
        order(&mut tx, &schema, "tea").await?;
        let second = claim.begin().await.map(drop).unwrap_err();
        assert_eq!(second.kind(), CommitErrorKind::RolledBack);
        tx.complete(StatusCode::CREATED).await.map_err(Failure::from)
    };
    let layer = shop.layer().store_timeout(SECOND / 2);
    let app = axum::Router::new().route("/reports", axum::routing::post(handler)).layer(layer);

    assert_eq!(at_once(send(&app, post("k", "{}"))).await.status, 201);
    assert_eq!(send(&app, post("k", "{}")).await.replayed(), Some("true"));
}

/// The role may have no further connection: a matter of time.
#[tokio::test]
async fn a_server_without_a_connection_left_is_transient_and_serves_the_next_call_when_it_has_one() {
    let (shop, url) = (Shop::open().await, lab::servers::postgres::shared_url());
    let role = format!("{}_few", shop.schema);
    let make = "CREATE ROLE {}_few LOGIN PASSWORD 'few' CONNECTION LIMIT 1; GRANT USAGE ON SCHEMA {} TO {}_few; \
                GRANT SELECT, INSERT, UPDATE, DELETE ON {}.records TO {}_few; \
                GRANT USAGE ON SEQUENCE {}.records_fence TO {}_few";
    shop.run(make).await;
    let options: PgConnectOptions = url.parse().unwrap();
    let few =
        PgPoolOptions::new().acquire_timeout(SECOND / 2).connect_lazy_with(options.username(&role).password("few"));
    let store = PostgresStore::builder(few.clone()).schema(&shop.schema).build().unwrap();
    let held = few.acquire().await.unwrap();

    assert!(store.claim(&request("k")).await.unwrap_err().is_transient());
    assert!(store.renew(&a_token(&shop).await, SECOND).await.unwrap_err().is_transient());

    held.close().await.unwrap();
    let mut claimed = store.claim(&request("k")).await;
    while claimed.as_ref().is_err_and(|error| error.is_transient()) {
        // The server has not heard yet that the other one left.
        claimed = store.claim(&request("k")).await;
    }
    acquired(claimed);
}

/// Thousands of keys, some of them old, while they are claimed, completed and replayed.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_purge_beside_thousands_of_claims_takes_the_old_ones_and_no_other() {
    const KEYS: usize = 2000;
    let shop = Shop::with(8).await;
    let old = "INSERT INTO {}.records (id, key, fingerprint, fence, holder, attempt, claimed_at, lease_until, retention, \
               expires_at, ended_at, status) SELECT sha256(n::text::bytea), '', '', n, '', 1, now(), now(), '0', \
               now() - interval '1 hour', now(), 204 FROM generate_series(1, 5000) n";
    shop.run(old).await;
    let working = (0..8).map(|worker| {
        let store = shop.store.clone();
        tokio::spawn(async move {
            for n in (worker..KEYS).step_by(8) {
                let asked = request(&format!("k{n}"));
                let token = acquired(store.claim(&asked).await);
                assert_eq!(store.complete(&token, outcome("made")).await.unwrap(), Held::Yes);
                assert!(matches!(store.claim(&asked).await, Ok(Claimed::Done(_))));
            }
        })
    });
    let working: Vec<_> = working.collect();

    let mut purged = 0;
    while purged < 5000 {
        purged += shop.store.purge(100).await.unwrap();
    }
    for worker in working {
        worker.await.unwrap();
    }

    assert_eq!(purged, 5000);
    assert_eq!(shop.store.purge(100).await.unwrap(), 0);
    assert_eq!(shop.count("SELECT count(*) FROM {}.records").await, KEYS as i64);
}

async fn a_token(shop: &Shop) -> tower_idempotency::store::Token {
    acquired(shop.store.claim(&request("another")).await)
}

fn prepared(builder: PostgresStoreBuilder) -> PostgresStoreBuilder {
    builder
}

async fn pool_set_to(name: &str, value: &str) -> PgPool {
    let options: PgConnectOptions = lab::servers::postgres::shared_url().parse().unwrap();
    let set = format!("SELECT set_config('{name}', '{value}', false)");
    let pool = PgPoolOptions::new().max_connections(4).after_connect(move |connection, _| {
        let set = set.clone();
        Box::pin(async move { sqlx::raw_sql(sqlx::AssertSqlSafe(set)).execute(connection).await.map(drop) })
    });
    pool.connect_with(options).await.unwrap()
}

/// Every verb, every kind of answer, a body of every byte, and the longest times.
async fn each_verb_keeps_its_word(store: &PostgresStore, set: &str) {
    let kept = StoredResponse {
        status: StatusCode::CREATED,
        headers: http::HeaderMap::new(),
        body: (0..=255).collect::<Bytes>(),
    };
    let forever = Duration::MAX;
    let asked = ClaimRequest { lease: forever, retention: forever, ..request("k") };
    let other =
        ClaimRequest { fingerprint: tower_idempotency::store::Fingerprint::of(b"", b"", b"other"), ..request("k") };

    let token = acquired(store.claim(&asked).await);
    let claimed = store.claim(&asked).await;
    assert!(matches!(&claimed, Ok(Claimed::InFlight { .. })), "{set}: {claimed:?}");
    assert_eq!(store.renew(&token, forever).await.unwrap(), Held::Yes, "{set}");
    assert!(matches!(store.status(token.key()).await, Ok(Status::InProgress { .. })), "{set}");
    assert_eq!(store.release(&token).await.unwrap(), Held::Yes, "{set}");

    let lapsed = acquired(store.claim(&ClaimRequest { lease: Duration::ZERO, ..request("k") }).await);
    let token = acquired(store.claim(&asked).await);
    assert!(token.fence() > lapsed.fence(), "{set}");
    assert_eq!(store.complete(&lapsed, outcome("late")).await.unwrap(), Held::No, "{set}");
    let outcome = Outcome::Response(kept.clone());
    assert_eq!(store.complete(&token, outcome.clone()).await.unwrap(), Held::Yes, "{set}");
    assert_eq!(store.complete(&token, outcome).await.unwrap(), Held::Yes, "{set}");
    match (store.claim(&asked).await, store.lookup(&asked).await) {
        (Ok(Claimed::Done(claimed)), Ok(Found::Done(found))) => {
            assert_eq!((claimed, found), (kept.clone(), kept), "{set}")
        }
        other => panic!("{set}: {other:?}"),
    }
    assert!(matches!(store.claim(&other).await, Ok(Claimed::Mismatch(_))), "{set}");
    assert!(matches!(store.status(token.key()).await, Ok(Status::Done { replayable: true, .. })), "{set}");
    assert_eq!(store.purge(10).await.unwrap(), 0, "{set}");
    assert_eq!(store.forget(token.key()).await.unwrap(), Held::Yes, "{set}");

    let token = acquired(store.claim(&asked).await);
    let closed = Outcome::NotReplayable(StatusCode::ACCEPTED);
    assert_eq!(store.complete(&token, closed).await.unwrap(), Held::Yes, "{set}");
    assert!(matches!(store.claim(&asked).await, Ok(Claimed::NotReplayable(StatusCode::ACCEPTED))), "{set}");
    assert_eq!(store.forget(token.key()).await.unwrap(), Held::Yes, "{set}");
}
