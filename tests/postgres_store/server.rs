//! A server that stops, starts again, or never answers; and a connection that breaks at the worst moment.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use http::StatusCode;
use lab::{
    exchange::{post, send},
    servers::postgres::Postgres,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use tower_idempotency::{
    PostgresStore, Store,
    idempotency::{Claim, CommitErrorKind},
    store::{Held, Status, postgres::sqlx},
};

use crate::shop::{Failure, SECOND, Shop, acquired, at_once, order, outcome, pool, reason, request, seen};

/// What was acknowledged survives; what was open is rolled back; a fence never goes back.
#[tokio::test]
async fn a_crash_of_the_server_loses_nothing_that_was_acknowledged() {
    let mut server = Postgres::start();
    let shop = Shop::at(&server.url(), 4).await;
    let done = acquired(shop.store.claim(&request("done")).await);
    assert_eq!(shop.store.complete(&done, outcome("made")).await.unwrap(), Held::Yes);
    let running = acquired(shop.store.claim(&request("running")).await);
    let open = shop.paused_before_its_commit(&running).await;

    server.crash();
    let error = shop.store.renew(&running, SECOND).await.unwrap_err();
    server.restart();
    drop(open);

    assert!(error.is_transient(), "{error:?}");
    assert_eq!(renewed(&shop, &running).await, Held::Yes, "the next call recovers");
    assert!(matches!(shop.status_of("done").await, Status::Done { .. }));
    assert_eq!(shop.store.complete(&running, outcome("made")).await.unwrap(), Held::Yes);
    let next = acquired(shop.store.claim(&request("next")).await);
    assert!(next.fence() > running.fence());
}

/// V37.
#[tokio::test]
async fn a_server_that_never_answers_costs_each_call_its_limit_and_recovers() {
    let server = Postgres::start();
    let shop = Shop::at(&server.url(), 2).await;
    let token = acquired(shop.store.claim(&request("held")).await);
    let app = axum::Router::new()
        .route("/reports", axum::routing::post(async |_: Claim<PostgresStore>| StatusCode::CREATED))
        .layer(shop.layer().store_timeout(SECOND));

    server.pause();
    let silent = at_once(send(&app, post("k", "{}"))).await;
    for _ in 0..4 {
        let given_up = tokio::time::timeout(SECOND / 2, shop.store.renew(&token, SECOND)).await;
        assert!(given_up.is_err(), "no answer: {given_up:?}");
    }
    server.resume();

    assert_eq!((silent.status.as_u16(), &*reason(&silent)), (503, "StoreUnavailable"));
    assert_eq!(renewed(&shop, &token).await, Held::Yes);
    let mut answer = send(&app, post("k", "{}")).await;
    while answer.status == StatusCode::CONFLICT {
        // What the silent server was asked meanwhile was granted, and is being given back.
        answer = send(&app, post("k", "{}")).await;
    }
    assert_eq!(seen(&answer), (201, "", Some("false")));
}

/// The backend is gone before the completion is sent: surely nothing was written.
#[tokio::test]
async fn a_connection_that_is_lost_before_the_commit_is_rolled_back_and_a_repeat_runs() {
    let shop = Shop::open().await;
    let (pool, schema) = (shop.pool.clone(), shop.schema.clone());
    let app = shop.app(async move |claim: Claim<PostgresStore>| {
        let mut tx = claim.begin().await?;
        order(&mut tx, &schema, "tea").await?;
        if claim.fence() == 1 {
            let pid: i32 = sqlx::query_scalar("SELECT pg_backend_pid()").fetch_one(&mut *tx).await?;
            sqlx::query("SELECT pg_terminate_backend($1)").bind(pid).execute(&pool).await?;
        }
        let completed = tx.complete((StatusCode::CREATED, "ordered")).await;
        if claim.fence() == 1 {
            assert_eq!(completed.as_ref().unwrap_err().kind(), CommitErrorKind::RolledBack);
        }
        completed.map_err(Failure::from)
    });

    assert_eq!(send(&app, post("k", "{}")).await.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(seen(&send(&app, post("k", "{}")).await), (201, "ordered", Some("false")));
    assert_eq!(shop.orders().await, ["tea"]);
}

/// Rule 17: the server committed, and its answer is lost.
#[tokio::test]
async fn a_commit_whose_answer_is_lost_is_503_and_a_repeat_gets_what_was_committed() {
    let shop = Shop::open().await;
    let wire = Wire::cut_after(b"COMMIT", Cut::Answer).await;
    let (first, repeat) = beside_a_cut(&shop, &wire).await;

    assert_eq!((first.0, &*first.1), (503, "OutcomeUnknown"));
    assert_eq!((repeat.0, &*repeat.1), (201, "ordered"));
    assert_eq!(shop.orders().await, ["tea"]);
}

/// Rule 17: the server never got to commit. The key is not released; it lapses.
#[tokio::test]
async fn a_commit_that_is_lost_on_its_way_is_503_and_its_key_is_left_to_lapse() {
    let shop = Shop::open().await;
    let wire = Wire::cut_after(b"COMMIT", Cut::Question).await;
    let (first, repeat) = beside_a_cut(&shop, &wire).await;

    assert_eq!((first.0, &*first.1), (503, "OutcomeUnknown"));
    assert_eq!((repeat.0, &*repeat.1), (409, "InProgress"));
    assert!(shop.orders().await.is_empty());
}

/// V30: the application's own commit is lost; the record says whether it happened.
#[tokio::test]
async fn a_commit_of_the_applications_whose_answer_is_lost_is_found_in_the_record() {
    let shop = Shop::open().await;
    let wire = Wire::cut_after(b"COMMIT", Cut::Answer).await;
    let (cut, schema) = (pool(&wire.url, 1).await, shop.schema.clone());
    let armed = Arc::clone(&wire.armed);
    let app = shop.app(async move |claim: Claim<PostgresStore>| {
        let mut tx = cut.begin().await?;
        order(&mut tx, &schema, "tea").await?;
        let response = claim.complete_in(&mut tx, (StatusCode::CREATED, "ordered")).await?;
        armed.store(true, Ordering::SeqCst);
        tx.commit().await?;
        Ok::<_, Failure>(response)
    });

    assert_eq!(seen(&send(&app, post("k", "{}")).await), (201, "ordered", Some("false")));
    assert_eq!(shop.orders().await, ["tea"]);
}

/// Status and body, or reason, of a request whose commit is cut, and of its repeat.
async fn beside_a_cut(shop: &Shop, wire: &Wire) -> ((u16, String), (u16, String)) {
    let store = PostgresStore::builder(pool(&wire.url, 4).await).schema(&shop.schema).build().unwrap();
    let (schema, armed) = (shop.schema.clone(), Arc::clone(&wire.armed));
    let handler = async move |claim: Claim<PostgresStore>| {
        let mut tx = claim.begin().await?;
        order(&mut tx, &schema, "tea").await?;
        armed.store(true, Ordering::SeqCst);
        let completed = tx.complete((StatusCode::CREATED, "ordered")).await;
        assert_eq!(completed.as_ref().unwrap_err().kind(), CommitErrorKind::Unknown);
        completed.map_err(Failure::from)
    };
    let layer = tower_idempotency::IdempotencyLayer::new(store, tower_idempotency::idempotency::Scope::shared());
    let app = axum::Router::new().route("/reports", axum::routing::post(handler)).layer(layer);
    let first = send(&app, post("k", "{}")).await;
    let first = (first.status.as_u16(), reason(&first));
    let repeat = send(&app, post("k", "{}")).await;
    let told = if repeat.status == StatusCode::CREATED { repeat.text().to_owned() } else { reason(&repeat) };
    (first, (repeat.status.as_u16(), told))
}

/// Renews until the server is found again.
async fn renewed(shop: &Shop, token: &tower_idempotency::store::Token) -> Held {
    let renewing = async {
        loop {
            match shop.store.renew(token, 30 * SECOND).await {
                Ok(held) => return held,
                Err(error) => assert!(error.is_transient(), "{error:?}"),
            }
        }
    };
    tokio::time::timeout(30 * SECOND, renewing).await.expect("it recovers")
}

impl Shop {
    async fn status_of(&self, key: &str) -> Status {
        self.store.status(&request(key).key).await.unwrap()
    }
}

/// What is lost when the connection breaks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cut {
    /// The server never reads it.
    Question,
    /// The server has read it, and done it.
    Answer,
}

/// The server behind a wire that breaks once, where it is armed, at the message that holds this text.
struct Wire {
    url: String,
    armed: Arc<AtomicBool>,
}

impl Wire {
    async fn cut_after(text: &'static [u8], cut: Cut) -> Self {
        let url = lab::servers::postgres::shared_url();
        let after_account = url.rsplit_once('@').or(url.split_once("://")).expect("a URL").1;
        let server = after_account.split(['/', '?']).next().expect("host and port").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let armed = Arc::new(AtomicBool::new(false));
        let (arms, to) = (Arc::clone(&armed), server.clone());
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(&to).await.unwrap();
                tokio::spawn(carry(client, server, Arc::clone(&arms), text, cut));
            }
        });
        Self { url: url.replace(&server, &address), armed }
    }
}

/// Ends, and with it the client's connection, when the server has hung up.
async fn carry(client: TcpStream, server: TcpStream, armed: Arc<AtomicBool>, text: &'static [u8], cut: Cut) {
    const GOODBYE: [u8; 5] = [b'X', 0, 0, 0, 4];
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let lost = Arc::new(AtomicBool::new(false));
    let answers_are_lost = Arc::clone(&lost);
    let back = async move {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(read @ 1..) = from_server.read(&mut buffer).await {
            if !answers_are_lost.load(Ordering::SeqCst) && to_client.write_all(&buffer[..read]).await.is_err() {
                break;
            }
        }
    };
    let forth = async move {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(read @ 1..) = from_client.read(&mut buffer).await {
            let message = &buffer[..read];
            let cuts = message.windows(text.len()).any(|part| part == text) && armed.swap(false, Ordering::SeqCst);
            lost.fetch_or(cuts, Ordering::SeqCst);
            if cuts && cut == Cut::Question {
                break;
            }
            if to_server.write_all(message).await.is_err() {
                break;
            }
            if cuts {
                to_server.write_all(&GOODBYE).await.unwrap();
                break;
            }
        }
        drop(to_server);
        from_client
    };
    tokio::join!(back, forth);
}
