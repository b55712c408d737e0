//! V33: a closure that ends the transaction, poisons its COMMIT, fails or panics, in a group with others.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use axum::response::{IntoResponse, Response};
use http::StatusCode;
use rusqlite::Connection;

use crate::{
    plan::{OrderError, Plan},
    shop::{LEASE, Shop},
};

/// What a closure does before it says that all is well.
pub(crate) type Foul = fn(&Connection) -> Result<(), OrderError>;

/// Who is answered what: the order before the foul one, the foul one, the order after.
pub(crate) type Answers = [&'static str; 3];

const KEPT: &str = "201";
const ROLLED_BACK: &str = "500 RolledBack";

/// It takes those before it with it; those after it run in the next group.
const ENDS_THE_TRANSACTION: Answers = [ROLLED_BACK, ROLLED_BACK, KEPT];
/// It is found out at the COMMIT, when all have run.
const POISONS_THE_COMMIT: Answers = [ROLLED_BACK, ROLLED_BACK, ROLLED_BACK];
const HARMS_NOBODY: Answers = [KEPT, KEPT, KEPT];

const fn fails(answer: &'static str) -> Answers {
    [KEPT, answer, KEPT]
}

pub(crate) const fn ends_and_says(answer: &'static str) -> Answers {
    [ROLLED_BACK, answer, KEPT]
}

/// Plays one foul in a group with two orders, a completion, a release and a holder that goes on; then repeats everything.
pub(crate) async fn plays(shop: Shop, foul: Foul, expected: Answers) {
    let runner = shop.claimed("runner", Plan::order("runner")).await;
    let shares = Arc::new(AtomicBool::new(false));
    let (witness, outside) = (Arc::clone(&shares), shop.connection());
    let culprit = Plan::commit(move |tx| {
        let sees = |connection: &Connection| -> rusqlite::Result<bool> {
            connection.prepare("SELECT 1 FROM orders WHERE note = 'before'")?.exists([])
        };
        witness.store(sees(tx)? && !sees(&outside)?, Ordering::Relaxed);
        foul(tx)?;
        Ok((StatusCode::CREATED, "foul").into_response())
    });

    let [completed, before, foul, after, released] = shop
        .in_one_group([
            ("completed", Plan::Answer(StatusCode::OK)),
            ("before", Plan::order("before")),
            ("foul", culprit),
            ("after", Plan::order("after")),
            ("released", Plan::Answer(StatusCode::BAD_GATEWAY)),
        ])
        .await;

    assert!(shares.load(Ordering::Relaxed), "they share a transaction");
    let said = [&before, &foul, &after].map(|answer| match answer.status.as_u16() {
        201 => "201".to_owned(),
        status => format!("{status} {}", answer.text()),
    });
    assert_eq!(said, expected);
    assert_eq!((completed.status.as_u16(), released.status.as_u16()), (200, 502), "the verbs go on");
    shop.renewals_reach(LEASE / 3).await;

    // Nobody is acknowledged without the write, and nothing is written without being acknowledged.
    let orders = shop.orders();
    for (key, answer) in [("before", &before), ("foul", &foul), ("after", &after)] {
        let written = orders.iter().any(|note| note == key);
        assert_eq!(written, answer.status == 201 && key != "foul", "{key}: {orders:?}");
    }

    for (key, first) in [("completed", completed), ("before", before), ("foul", foul), ("after", after)] {
        let repeat = shop.order(key).await;
        if first.status.is_success() {
            assert_eq!((repeat.status, &repeat.body, repeat.replayed()), (first.status, &first.body, Some("true")));
        } else {
            assert_eq!((repeat.status.as_u16(), repeat.text(), repeat.replayed()), (201, key, Some("false")));
        }
    }
    assert_eq!(shop.order("released").await.text(), "released", "it runs again, and commits");
    shop.hand_over(&runner).await;
    assert_eq!(runner.answer().await.text(), "runner", "it was never passed");
    let mut orders = shop.orders();
    orders.sort();
    orders.retain(|note| note != "foul");
    assert_eq!(orders, ["after", "before", "released", "runner"], "each once");
}

fn twice(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.execute("INSERT INTO orders VALUES ('twice')", [])?;
    connection.execute(sql, []).map(drop)
}

macro_rules! v33 {
    ($($name:ident: $expected:expr, $foul:expr;)*) => {$(
        #[tokio::test(start_paused = true)]
        async fn $name() {
            plays(Shop::open().await, $foul, $expected).await;
        }
    )*};
}

v33! {
    v33_a_violated_deferred_foreign_key: POISONS_THE_COMMIT, |tx| {
        tx.execute("INSERT INTO parts VALUES (99)", [])?;
        Ok(())
    };
    v33_foreign_keys_deferred_by_pragma_and_violated: POISONS_THE_COMMIT, |tx| {
        tx.execute_batch("PRAGMA defer_foreign_keys = ON; INSERT INTO parts VALUES (99)")?;
        Ok(())
    };
    v33_insert_or_rollback: ends_and_says("500 UNIQUE constraint failed: orders.note"), |tx| {
        Ok(twice(tx, "INSERT OR ROLLBACK INTO orders VALUES ('twice')")?)
    };
    v33_insert_or_rollback_whose_error_is_ignored: ENDS_THE_TRANSACTION, |tx| {
        let _ = twice(tx, "INSERT OR ROLLBACK INTO orders VALUES ('twice')");
        let _ = tx.execute("INSERT INTO orders VALUES ('foul')", []);
        Ok(())
    };
    v33_update_or_rollback: ends_and_says("500 UNIQUE constraint failed: orders.note"), |tx| {
        Ok(twice(tx, "UPDATE OR ROLLBACK orders SET note = 'twice'")?)
    };
    v33_a_trigger_that_raises_rollback: ends_and_says("500 no zero"), |tx| {
        tx.execute("INSERT INTO wholes VALUES (0)", [])?;
        Ok(())
    };
    v33_a_commit: ends_and_says("500 constraint failed"), |tx| {
        tx.execute("INSERT INTO orders VALUES ('foul')", [])?;
        Ok(tx.execute_batch("COMMIT")?)
    };
    v33_a_commit_whose_error_is_ignored: ENDS_THE_TRANSACTION, |tx| {
        tx.execute("INSERT INTO orders VALUES ('foul')", [])?;
        let _ = tx.execute_batch("COMMIT");
        let _ = tx.execute_batch("BEGIN; INSERT INTO orders VALUES ('foul'); COMMIT");
        Ok(())
    };
    v33_a_commit_from_the_cache_of_statements: ENDS_THE_TRANSACTION, |tx| {
        let _ = tx.prepare_cached("COMMIT")?.execute([]);
        Ok(())
    };
    v33_a_rollback: ENDS_THE_TRANSACTION, |tx| Ok(tx.execute_batch("ROLLBACK")?);
    v33_a_rollback_and_a_transaction_of_its_own: ENDS_THE_TRANSACTION, |tx| {
        Ok(tx.execute_batch("ROLLBACK; BEGIN IMMEDIATE; INSERT INTO orders VALUES ('foul')")?)
    };
    v33_a_begin: fails("500 cannot start a transaction within a transaction"), |tx| Ok(tx.execute_batch("BEGIN")?);
    v33_a_begin_whose_error_is_ignored: HARMS_NOBODY, |tx| {
        let _ = tx.execute_batch("BEGIN");
        Ok(())
    };
    v33_a_failure_after_a_write: fails("500 sold out"), |tx| {
        tx.execute("INSERT INTO orders VALUES ('foul')", [])?;
        Err(OrderError::SoldOut)
    };
    v33_a_failure_after_a_violated_deferred_foreign_key: fails("500 sold out"), |tx| {
        tx.execute("INSERT INTO parts VALUES (99)", [])?;
        Err(OrderError::SoldOut)
    };
    v33_a_panic_after_a_write: fails("500 Panicked"), |tx| {
        tx.execute("INSERT INTO orders VALUES ('foul')", [])?;
        panic!("the closure panics")
    };
    v33_a_panic_with_rows_under_way: fails("500 Panicked"), |tx| {
        let mut query = tx.prepare_cached("SELECT note FROM orders")?;
        let mut rows = query.query([])?;
        rows.next()?;
        panic!("the closure panics")
    };
    v33_a_savepoint_left_open: HARMS_NOBODY, |tx| {
        Ok(tx.execute_batch("SAVEPOINT its_own; INSERT INTO wholes VALUES (1)")?)
    };
    v33_a_failure_in_a_savepoint_left_open: fails("500 sold out"), |tx| {
        tx.execute_batch("SAVEPOINT its_own; INSERT INTO orders VALUES ('foul')")?;
        Err(OrderError::SoldOut)
    };
    v33_a_release_by_name: fails("500 no such savepoint: tower_idempotency_job"), |tx| {
        tx.execute("INSERT INTO orders VALUES ('foul')", [])?;
        Ok(tx.execute_batch("RELEASE tower_idempotency_job")?)
    };
    v33_a_rollback_to_a_name: fails("500 no such savepoint: tower_idempotency_job"), |tx| {
        Ok(tx.execute_batch("ROLLBACK TO tower_idempotency_job")?)
    };
    v33_a_failure_in_a_savepoint_of_this_crates_name: fails("500 sold out"), |tx| {
        tx.execute_batch("INSERT INTO orders VALUES ('foul'); SAVEPOINT tower_idempotency_job")?;
        Err(OrderError::SoldOut)
    };
    v33_a_transaction_of_its_own_with_a_savepoint_of_this_crates_name: ENDS_THE_TRANSACTION, |tx| {
        Ok(tx.execute_batch("ROLLBACK; BEGIN; SAVEPOINT tower_idempotency_job")?)
    };
    v33_an_attached_database: HARMS_NOBODY, |tx| {
        Ok(tx.execute_batch("ATTACH ':memory:' AS other; CREATE TABLE other.notes (note)")?)
    };
    v33_an_attached_database_that_is_detached: fails("500 database other is locked"), |tx| {
        Ok(tx.execute_batch("ATTACH ':memory:' AS other; CREATE TABLE other.notes (note); DETACH other")?)
    };
}

/// V33: what a closure does to the connection is no longer there for the next group.
#[tokio::test(start_paused = true)]
async fn v33_a_commit_hook_that_was_taken_away_is_back_for_the_next_group() {
    let shop = Shop::open().await;
    let unhook = |tx: &Connection| tx.commit_hook(None::<fn() -> bool>);
    let [unhooked] = shop.in_one_group([("unhook", Plan::commit(move |tx| created(unhook(tx))))]).await;
    assert_eq!(unhooked.status, 201);

    let commit = |tx: &Connection| tx.execute_batch("INSERT INTO orders VALUES ('foul'); COMMIT");
    let [commits] = shop.in_one_group([("foul", Plan::commit(move |tx| created(commit(tx))))]).await;

    assert_eq!((commits.status.as_u16(), commits.text()), (500, "constraint failed"));
    assert!(shop.orders().is_empty());
}

fn created(done: rusqlite::Result<()>) -> Result<Response, OrderError> {
    done?;
    Ok(StatusCode::CREATED.into_response())
}
