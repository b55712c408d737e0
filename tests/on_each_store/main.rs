//! The rules of the layer and the cases from the field that depend on what a store does, tried with each store.
//!
//! `cargo test --test on_each_store`, and `--features postgres,redis` for these two; without the server installed their
//! tests fail. A body is written once, for any [`Place`](places::Place); a new store is a place and one line in
//! `on_each_store!`. `planted` are stores with a defect, which the same bodies must find.
//!
//! A server's clock cannot be paused, so time is the real one: leases are short where one has to lapse, and the layer's
//! default everywhere else.

/// Makes each body a test for each store.
macro_rules! on_each_store {
    ($($body:ident),+ $(,)?) => {
        on_each_store!(@ memory: Memory, [$($body),+]);
        #[cfg(feature = "sqlite")]
        on_each_store!(@ sqlite: Sqlite, [$($body),+]);
        #[cfg(feature = "postgres")]
        on_each_store!(@ postgres: Postgres, [$($body),+]);
        #[cfg(feature = "redis")]
        on_each_store!(@ redis: Redis, [$($body),+]);
    };
    (@ $name:ident: $place:ident, [$($body:ident),+]) => {
        mod $name {
            use crate::places::$place;
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $body() {
                    crate::in_time(super::$body(&$place::fresh().await)).await;
                }
            )+
        }
    };
}

mod claims;
mod endings;
mod holders;
mod leases;
mod places;
mod planted;
mod replays;
mod requests;

use std::time::Duration;

use http::Request;
use lab::{
    app::{App, Hold, created},
    exchange::{Answer, post},
    problem,
};
use tokio::time::{sleep, timeout};
use tower_idempotency::{
    IdempotencyKey, IdempotencyLayer, Store,
    idempotency::Scope,
    store::{ClaimRequest, Claimed, Fingerprint, ScopedKey, Token},
};

/// One that lapses within a test.
const LEASE: Duration = Duration::from_millis(500);

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(10);

/// By how much the clocks of a store and of a test may differ over a lease: a store may count in milliseconds.
const ROUNDING: Duration = Duration::from_millis(5);

/// A layer with its defaults, one scope for all.
fn shared<S: Store>(store: S) -> IdempotencyLayer<S> {
    IdempotencyLayer::new(store, Scope::shared())
}

/// A handler that is held, then answers `run 1`, `run 2`.
fn held<S: Store>(layer: &IdempotencyLayer<S>, hold: &Hold) -> App {
    let hold = hold.clone();
    App::new(layer, move |run, _| {
        let hold = hold.clone();
        async move {
            hold.pass().await;
            created(format!("run {run}"))
        }
    })
}

/// What a layer with one scope asks of its store for [`post`].
fn request(key: &str, body: &'static str, lease: Duration) -> ClaimRequest {
    let (parts, _) = Request::into_parts(post(key, body));
    ClaimRequest {
        key: filed(key),
        fingerprint: Fingerprint::exact(&parts, body.as_bytes()),
        lease,
        retention: Duration::from_secs(60 * 60),
    }
}

/// A key as a layer with one scope files it.
fn filed(key: &str) -> ScopedKey {
    ScopedKey::new("", &IdempotencyKey::parse(key).expect("a key"))
}

/// Claims as a holder does that is lost at once: nobody renews it.
async fn lost_holder(store: &impl Store, request: &ClaimRequest) -> Token {
    match store.claim(request).await {
        Ok(Claimed::Acquired { token, .. }) => token,
        other => panic!("not granted: {other:?}"),
    }
}

/// Sends until an answer is another than that another request runs.
async fn send_until_free(app: &App, key: &str, body: &'static str) -> Answer {
    loop {
        let answer = app.send(post(key, body)).await;
        if answer.status != 409 {
            return answer;
        }
        assert_in_progress(&answer);
        sleep(PAUSE).await;
    }
}

fn assert_in_progress(answer: &Answer) {
    assert_eq!(problem::kind(answer), (409, "InProgress".into()));
}

/// Waits until it holds.
async fn soon(mut holds: impl AsyncFnMut() -> bool) {
    while !holds().await {
        sleep(PAUSE).await;
    }
}

/// Twenty seconds are taken for never.
async fn in_time(body: impl Future<Output = ()>) {
    timeout(Duration::from_secs(20), body).await.expect("what is waited for never comes");
}
