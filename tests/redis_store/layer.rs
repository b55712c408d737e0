//! The layer around axum's router, on this store: what a caller sees, with a sound server and with one that is away.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{Router, routing::post as on_post};
use lab::{
    exchange::{Answer, post, send, sending},
    servers::redis::RedisServer,
};
use tokio::{sync::Semaphore, task::JoinHandle, time::timeout};
use tower_idempotency::{
    IdempotencyKey, IdempotencyLayer, RedisStore, Store,
    idempotency::{Claim, Scope},
    store::{Held, ScopedKey},
};

use crate::{proxy::Wire, soon, store};

/// Answers the number of its run, as soon as it is let.
struct App {
    router: Router,
    runs: Arc<AtomicUsize>,
    gate: Arc<Semaphore>,
}

impl App {
    fn new(store: &RedisStore) -> Self {
        let (runs, gate) = (Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(0)));
        let (counted, passed) = (Arc::clone(&runs), Arc::clone(&gate));
        let handler = async move |_: Claim<RedisStore>| {
            let run = counted.fetch_add(1, Ordering::SeqCst) + 1;
            passed.acquire().await.expect("it is open").forget();
            format!("run {run}")
        };
        let layer = IdempotencyLayer::new(store.clone(), Scope::shared())
            .lease(Duration::from_secs(2))
            .store_timeout(Duration::from_millis(300));
        Self { router: Router::new().route("/reports", on_post(handler)).layer(layer), runs, gate }
    }

    /// A minute is taken for never: a run that nobody lets go.
    async fn send(&self, key: &str) -> Answer {
        timeout(Duration::from_secs(60), send(&self.router, post(key, "body"))).await.expect("it is answered")
    }

    fn start(&self, key: &str) -> JoinHandle<Answer> {
        sending(&self.router, post(key, "body"))
    }

    fn let_go(&self, runs: usize) {
        self.gate.add_permits(runs);
    }

    fn runs(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }
}

async fn ended(request: JoinHandle<Answer>) -> Answer {
    timeout(Duration::from_secs(60), request).await.expect("it is answered").unwrap()
}

#[tokio::test]
async fn a_repeat_is_refused_while_the_first_runs_and_replayed_by_any_server_afterwards() {
    let server = RedisServer::start();
    let (one, other) = (App::new(&store(&server).await), App::new(&store(&server).await));
    let first = one.start("k");
    soon(async || one.runs() == 1).await;

    let meanwhile = other.send("k").await;
    one.let_go(1);
    let first = ended(first).await;
    let repeat = other.send("k").await;

    assert_eq!((meanwhile.status.as_u16(), meanwhile.header("retry-after")), (409, Some("1")));
    assert_eq!((first.status.as_u16(), first.text(), first.replayed()), (200, "run 1", Some("false")));
    assert_eq!((repeat.status.as_u16(), repeat.text(), repeat.replayed()), (200, "run 1", Some("true")));
    assert_eq!((one.runs(), other.runs()), (1, 0));
}

/// V6: the first holder is cut off from Redis.
#[tokio::test]
async fn a_repeat_takes_over_when_the_lease_of_a_lost_holder_has_lapsed() {
    let server = RedisServer::start();
    let wire = Wire::to(&server).await;
    let (lost, other) = (App::new(&wire.store().await), App::new(&store(&server).await));
    other.let_go(1);
    let first = lost.start("k");
    soon(async || lost.runs() == 1).await;
    drop(wire);

    let mut answers = Vec::new();
    soon(async || {
        answers.push(other.send("k").await);
        answers.last().is_some_and(|last| last.status == 200)
    })
    .await;

    assert_eq!(answers[0].status, 409, "the lease is waited for");
    assert_eq!(answers.last().map(Answer::replayed), Some(Some("false")), "and then it runs");
    assert_eq!(other.runs(), 1);
    first.abort();
}

/// V37: a server that never answers, then one that is down.
#[tokio::test]
async fn a_server_that_does_not_answer_is_503_and_the_handler_is_not_called_until_it_does() {
    let mut server = RedisServer::start();
    let app = App::new(&store(&server).await);
    app.let_go(10);
    assert_eq!(app.send("before").await.status, 200);

    server.stop_answering();
    let stopped = app.send("k").await;
    server.go_on();
    soon(async || app.send("k").await.status == 200).await;

    server.kill();
    let killed = app.send("another").await;
    server.start_again();
    soon(async || app.send("another").await.status == 200).await;

    for answer in [stopped, killed] {
        assert_eq!(answer.status, 503);
        assert!(answer.header("retry-after").is_some());
    }
    assert_eq!(app.runs(), 3, "one for each key");
    assert_eq!(app.send("before").await.replayed(), Some("true"));
}

/// Whoever asks by hand sees what the layer filed.
#[tokio::test]
async fn a_key_is_forgotten_by_hand() {
    let server = RedisServer::start();
    let store = store(&server).await;
    let app = App::new(&store);
    app.let_go(2);
    assert_eq!(app.send("k").await.text(), "run 1");
    let key = ScopedKey::new("", &IdempotencyKey::parse("k").unwrap());

    assert_eq!(store.forget(&key).await.unwrap(), Held::Yes);

    assert_eq!(app.send("k").await.text(), "run 2");
}
