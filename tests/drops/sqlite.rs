//! Rule 14, and what a commit promises: dropped at every poll of a handler that commits, there is one row.

use bytes::Bytes;
use http::Response;
use lab::{
    body::Broken,
    exchange::{Answer, post, send},
    handler::{Call, Handler, Reply},
    hesitant::hesitate,
    panics,
};
use rusqlite::Connection;
use tempfile::TempDir;
use tokio::runtime::Builder;
use tower::{Layer, Service};
use tower_idempotency::{
    IdempotencyLayer, SqliteStore,
    idempotency::{Claim, CommitError, Scope},
    store::sqlite::Synchronous,
};

use crate::{Driven, polled};

/// What the handler does once it has committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    Answers,
    Fails,
}

struct Shop(TempDir);

impl Shop {
    fn new() -> Self {
        let shop = Self(TempDir::new().expect("a folder"));
        let made = shop.looks().execute_batch("CREATE TABLE orders (key TEXT NOT NULL) STRICT");
        made.expect("a table");
        shop
    }

    async fn store(&self) -> SqliteStore {
        let builder = SqliteStore::builder(self.0.path().join("db")).synchronous(Synchronous::Normal);
        builder.open().await.expect("a store")
    }

    fn looks(&self) -> Connection {
        Connection::open(self.0.path().join("db")).expect("a file")
    }

    fn orders(&self, key: &str) -> u32 {
        let count = "SELECT count(*) FROM orders WHERE key = ?1";
        self.looks().query_row(count, [key], |row| row.get(0)).expect("a number")
    }
}

fn handler(then: Then) -> Handler {
    Handler::scripted(move |call| async move {
        hesitate().await;
        let reply = order(&call).await;
        hesitate().await;
        if then == Then::Fails { Err(Broken) } else { reply }
    })
}

async fn order(call: &Call) -> Reply {
    let claim = call.parts.extensions.get::<Claim<SqliteStore>>().expect("a claim");
    let (key, run) = (claim.key().as_str().to_owned(), call.run);
    let ordered = claim.commit_response(move |tx| {
        tx.execute("INSERT INTO orders (key) VALUES (?1)", [key])?;
        Ok::<_, Failed>(Response::new(Bytes::from(format!("run {run}"))))
    });
    ordered.await.map(|response| response.map(Into::into)).map_err(|_| Broken)
}

struct Failed;

impl From<CommitError> for Failed {
    fn from(_: CommitError) -> Self {
        Self
    }
}

impl From<rusqlite::Error> for Failed {
    fn from(_: rusqlite::Error) -> Self {
        Self
    }
}

/// Whatever the handler says after its commit.
#[tokio::test(start_paused = true)]
async fn an_exchange_that_commits_is_done_once_wherever_it_is_dropped() {
    for then in [Then::Answers, Then::Fails] {
        let shop = Shop::new();
        let store = shop.store().await;
        for polls in 0.. {
            let (key, handler) = (format!("k{polls}"), handler(then));
            let layer = IdempotencyLayer::new(store.clone(), Scope::shared()).without_purge();
            let mut service = layer.layer(handler.clone());
            let mut exchange: Driven<_> = Box::pin(service.call(post(&key, "{}")));
            let ended = polled(&mut exchange, polls).await.is_some();
            drop(exchange);
            layer.drained().await;
            let begun = u32::from(polls > 0);
            assert_eq!((shop.orders(&key), handler.runs()), (begun, begun as usize), "{then:?} after {polls} polls");

            let repeat = send(&service, post(&key, "{}")).await;
            assert_eq!((repeat.text(), shop.orders(&key), handler.runs()), ("run 1", 1, 1), "{then:?}, {polls}");
            assert_eq!(repeat.replayed(), Some(if polls > 0 { "true" } else { "false" }));
            if ended {
                assert!(polls > 4, "{polls} polls are too few");
                break;
            }
        }
    }
}

/// As in a crash: what the writer has in hand is committed or not; either way there is one row in the end.
#[test]
fn an_exchange_that_commits_and_loses_its_runtime_has_one_row_in_the_end() {
    let with_a_paused_clock =
        || Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime");
    let (shop, mut taken_over, panics_before) = (Shop::new(), 0, panics::others());
    for polls in 0.. {
        let (key, handler) = (format!("k{polls}"), handler(Then::Answers));
        let first = with_a_paused_clock();
        let layer = IdempotencyLayer::new(first.block_on(shop.store()), Scope::shared());
        let mut exchange: Driven<_> = {
            let _entered = first.enter();
            Box::pin(layer.layer(handler.clone()).call(post(&key, "{}")))
        };
        let ended = first.block_on(polled(&mut exchange, polls)).is_some();
        drop(first);
        drop(exchange);
        assert_eq!(panics::others(), panics_before, "after {polls} polls");
        let ordered = shop.orders(&key);

        let repeat: Answer = with_a_paused_clock().block_on(async {
            let layer = IdempotencyLayer::new(shop.store().await, Scope::shared());
            tokio::time::sleep(layer.settings().lease()).await;
            send(&layer.layer(handler.clone()), post(&key, "{}")).await
        });
        assert!(repeat.status.is_success());
        assert_eq!(shop.orders(&key), 1, "after {polls} polls");
        assert_eq!(repeat.replayed(), Some(if ordered == 1 { "true" } else { "false" }), "after {polls} polls");
        taken_over += u32::from(polls > 0 && ordered == 0);
        if ended {
            break;
        }
    }
    assert!(taken_over > 1, "{taken_over}");
}
