//! Commits and verbs that share a transaction.

use bytes::Bytes;
use futures_util::future::join_all;
use http::Response;
use rusqlite::Connection;
use tokio::time::advance;

use super::shop::{LEASE, LIMIT, Shop, ShopError, commit_error, created, gated, insert, kind};
use crate::{
    idempotency::CommitErrorKind,
    store::{Held, Store, sqlite::Tx},
};

#[tokio::test]
async fn closures_that_wait_together_share_one_transaction() {
    let shop = Shop::open().await;
    let [first, second] = [shop.claim("a").await, shop.claim("b").await];
    let outside = shop.connection();
    let count = |connection: &Connection| connection.query_row("SELECT count(*) FROM orders", [], |row| row.get(0));
    let (_, seen) = tokio::join!(
        first.claim.commit_response(insert("book")),
        second.claim.commit_response(move |tx: &Tx<'_>| {
            let (inside, outside): (i64, i64) = (count(tx)?, count(&outside)?);
            Ok::<_, ShopError>(created(&format!("{inside} inside, {outside} outside")))
        }),
    );
    assert_eq!(seen.unwrap().body(), "1 inside, 0 outside");
}

#[tokio::test]
async fn a_closure_that_fails_or_panics_undoes_only_itself_and_may_commit_again() {
    let shop = Shop::open().await;
    let [kept, failing, panicking] = [shop.claim("a").await, shop.claim("b").await, shop.claim("c").await];
    let renewed = shop.claim("d").await;
    let (kept_answer, failed, panicked, held) = tokio::join!(
        kept.claim.commit_response(insert("book")),
        failing.claim.commit_response(|tx: &Tx<'_>| {
            insert("pen")(tx)?;
            Err(ShopError::SoldOut)
        }),
        panicking.claim.commit_response(|tx: &Tx<'_>| {
            insert("ink")(tx)?;
            panic!("no ink")
        }),
        shop.store.renew(&renewed.token, LEASE),
    );

    assert!(kept_answer.is_ok());
    assert!(matches!(failed, Err(ShopError::SoldOut)));
    let panicked = commit_error(panicked);
    assert_eq!(panicked.kind(), CommitErrorKind::Panicked);
    assert_eq!(std::error::Error::source(&panicked).unwrap().to_string(), "no ink");
    assert_eq!(held.unwrap(), Held::Yes);
    assert_eq!(shop.orders(), ["book"]);
    assert_eq!((shop.outcome("b").await, shop.outcome("c").await), ("in flight".into(), "in flight".into()));

    failing.claim.commit_response(insert("pen")).await.unwrap();
    panicking.claim.commit_response(insert("ink")).await.unwrap();
    assert_eq!(shop.orders(), ["book", "ink", "pen"]);
}

/// V33: each of these ends the transaction of the whole group, or makes its COMMIT fail.
#[tokio::test]
async fn a_closure_that_ends_the_transaction_leaves_nobody_acknowledged_without_the_write() {
    type Foul = fn(&Tx<'_>) -> Result<Response<Bytes>, ShopError>;
    let foul: [(&str, Foul); 7] = [
        ("deferred foreign key", |tx| {
            tx.execute("INSERT INTO parts VALUES (99)", [])?;
            Ok(created("foul"))
        }),
        ("ON CONFLICT ROLLBACK", |tx| {
            tx.execute("INSERT INTO orders VALUES ('twice')", [])?;
            tx.execute("INSERT OR ROLLBACK INTO orders VALUES ('twice')", [])?;
            Ok(created("foul"))
        }),
        ("ON CONFLICT ROLLBACK, ignored, then a write", |tx| {
            tx.execute("INSERT INTO orders VALUES ('twice')", [])?;
            let _ = tx.execute("INSERT OR ROLLBACK INTO orders VALUES ('twice')", []);
            let _ = tx.execute("INSERT INTO orders VALUES ('foul')", []);
            Ok(created("foul"))
        }),
        ("COMMIT", |tx| {
            tx.execute("INSERT INTO orders VALUES ('foul')", [])?;
            tx.execute_batch("COMMIT")?;
            Ok(created("foul"))
        }),
        ("COMMIT, ignored, then a transaction of its own", |tx| {
            tx.execute("INSERT INTO orders VALUES ('foul')", [])?;
            let _ = tx.execute_batch("COMMIT");
            let _ = tx.execute_batch("BEGIN; INSERT INTO orders VALUES ('foul'); COMMIT");
            Ok(created("foul"))
        }),
        ("ROLLBACK and a transaction left open", |tx| {
            tx.execute_batch("ROLLBACK; BEGIN; INSERT INTO orders VALUES ('foul')")?;
            Ok(created("foul"))
        }),
        ("cached COMMIT", |tx| {
            tx.prepare_cached("COMMIT")?.execute([])?;
            Ok(created("foul"))
        }),
    ];
    for (name, foul) in foul {
        let shop = Shop::open().await;
        let [before, culprit, after] = [shop.claim("a").await, shop.claim("b").await, shop.claim("c").await];
        let renewed = shop.claim("d").await;
        let released = shop.claim("e").await;
        let (before_answer, culprit_answer, after_answer, renewed, released) = tokio::join!(
            before.claim.commit_response(insert("before")),
            culprit.claim.commit_response(foul),
            after.claim.commit_response(insert("after")),
            shop.store.renew(&renewed.token, LEASE),
            shop.store.release(&released.token),
        );

        assert!(culprit_answer.is_err(), "{name}");
        assert_eq!(shop.outcome("b").await, "in flight", "{name}");
        let mut kept = Vec::new();
        for (key, answer) in [("a", before_answer), ("c", after_answer)] {
            match answer {
                Ok(answered) => {
                    kept.push(String::from_utf8(answered.body().to_vec()).unwrap());
                    assert!(shop.outcome(key).await.starts_with("done"), "{name}");
                }
                Err(error) => {
                    assert_eq!(kind::<()>(Err(error)), CommitErrorKind::RolledBack, "{name}");
                    assert_eq!(shop.outcome(key).await, "in flight", "{name}");
                }
            }
        }
        assert_eq!(shop.orders(), kept, "{name}: exactly what was acknowledged");
        assert_eq!((renewed.unwrap(), released.unwrap()), (Held::Yes, Held::Yes), "{name}: the verbs go on");

        culprit.claim.commit_response(insert("later")).await.unwrap();
        assert_eq!(shop.outcome("b").await, "done: later", "{name}: rolled back is open");
    }
}

#[tokio::test]
async fn the_source_of_a_rollback_says_that_a_job_ended_the_transaction() {
    let shop = Shop::open().await;
    let [neighbour, culprit] = [shop.claim("a").await, shop.claim("b").await];
    let (neighbour, culprit) = tokio::join!(
        neighbour.claim.commit_response(insert("book")),
        culprit.claim.commit_response(|tx: &Tx<'_>| {
            let _ = tx.execute_batch("ROLLBACK");
            Ok::<_, ShopError>(created("foul"))
        }),
    );
    for rolled_back in [neighbour, culprit] {
        let error = commit_error(rolled_back);
        let source = std::error::Error::source(&error).unwrap().to_string();
        assert_eq!(source, "a job of the group ended its transaction");
    }
}

/// V33: SQL that runs for longer than a third of the lease.
#[tokio::test(start_paused = true)]
async fn after_a_third_of_a_lease_renewals_go_before_the_next_closure() {
    let shop = Shop::open().await;
    let [slow, next, renewed] = [shop.claim("a").await, shop.claim("b").await, shop.claim("c").await];
    let (mut gate, closure) = gated("slow");
    let look = |tx: &Tx<'_>| {
        let until = "SELECT max(lease_until) - max(claimed_at) FROM tower_idempotency_records";
        Ok::<_, ShopError>(created(&tx.query_row(until, [], |row| row.get::<_, i64>(0))?.to_string()))
    };
    let committing = async { tokio::join!(slow.claim.commit_response(closure), next.claim.commit_response(look)) };
    let renewing = async {
        gate.entered().await;
        advance(LEASE / 3).await;
        let renewal = shop.store.renew(&renewed.token, LEASE);
        // The renewal is queued by its first poll, before the closure is let go.
        tokio::join!(renewal, async { gate.open() }).0
    };
    let ((slow, next), renewed) = tokio::join!(committing, renewing);

    assert!(slow.is_ok());
    assert_eq!(renewed.unwrap(), Held::Yes);
    let seen = (LEASE + LEASE / 3).as_millis().to_string();
    assert_eq!(next.unwrap().body(), seen.as_bytes(), "the next closure sees the renewal");
}

#[tokio::test(start_paused = true)]
async fn a_locked_database_is_rolled_back_without_running_the_closure() {
    let shop = Shop::open().await;
    let order = shop.claim("a").await;
    let lock = shop.connection();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    let refused = order.claim.commit_response(|_: &Tx<'_>| -> Result<_, ShopError> { panic!("not run") }).await;
    assert_eq!(kind(refused), CommitErrorKind::RolledBack);
    drop(lock);
    order.claim.commit_response(insert("book")).await.unwrap();
    assert_eq!(order.ended().await, "committed: book");
}

#[tokio::test(start_paused = true)]
async fn a_commit_that_finds_no_place_in_the_queue_in_time_has_not_begun() {
    let shop = Shop::open().await;
    let [slow, order] = [shop.claim("a").await, shop.claim("b").await];
    let (mut gate, closure) = gated("slow");
    let committing = slow.claim.commit_response(closure);
    let others = async {
        gate.entered().await;
        let filling = join_all((0..1024).map(|_| shop.store.forget(order.token.key())));
        let late = async {
            let refused = order.claim.commit_response(insert("book")).await;
            assert_eq!(kind(refused), CommitErrorKind::RolledBack);
            assert_eq!(order.ended().await, "open");
            gate.open();
        };
        tokio::join!(filling, late, advance(LIMIT))
    };
    let (slow, _) = tokio::join!(committing, others);
    assert_eq!(kind(slow), CommitErrorKind::Unknown, "past the same limit");
    assert_eq!(shop.orders(), ["slow"]);
}

#[test]
fn a_commit_that_cannot_be_queued_leaves_the_state_open() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let first = runtime();
    let (_shop, order) = first.block_on(async {
        let shop = Shop::open().await;
        let order = shop.claim("a").await;
        (shop, order)
    });
    drop(first);
    runtime().block_on(async {
        let refused = order.claim.commit_response(insert("book")).await;
        assert_eq!(kind(refused), CommitErrorKind::RolledBack);
        assert_eq!(order.ended().await, "open");
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn each_of_many_commits_at_once_is_kept_once() {
    let shop = Shop::open().await;
    let orders: Vec<_> = (0..100).map(|n| n.to_string()).collect();
    let claims = join_all(orders.iter().map(|n| shop.claim(n))).await;
    let commits = claims.iter().zip(&orders).map(|(order, n)| {
        let (claim, note) = (order.claim.clone(), n.clone());
        tokio::spawn(async move { claim.commit_response(move |tx: &Tx<'_>| insert(&note)(tx)).await })
    });
    for commit in join_all(commits).await {
        commit.unwrap().unwrap();
    }
    assert_eq!(shop.orders().len(), 100);
}
