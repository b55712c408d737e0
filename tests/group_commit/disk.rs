//! V33: a disk that is full, and a COMMIT that fails though it is there.

use std::sync::atomic::{AtomicBool, Ordering};

use http::StatusCode;
use lab::problem;
use rusqlite::{Connection, Error, ffi};

use crate::{
    fouls::{ends_and_says, plays},
    plan::{Plan, insert},
    shop::{Shop, set_up},
};

#[tokio::test(start_paused = true)]
async fn v33_a_full_disk() {
    let bounded = |connection: &Connection| {
        set_up(connection)?;
        connection.pragma_update(None, "max_page_count", 60)
    };
    let shop = Shop::open_with(|builder| builder.with_set_up(bounded)).await;
    let fills_the_disk = |tx: &Connection| {
        tx.execute("INSERT INTO papers VALUES (zeroblob(1000000))", [])?;
        Ok(())
    };
    plays(shop, fills_the_disk, ends_and_says("500 database or disk is full")).await;
}

/// The COMMIT answers an I/O error and is there all the same: the commits are unknown, the verbs ask again, and the record
/// decides.
#[tokio::test(start_paused = true)]
async fn v33_an_io_error_after_the_commit_is_unknown_and_the_record_decides() {
    static FAILS: AtomicBool = AtomicBool::new(false);
    let failing = |connection: &Connection| {
        set_up(connection)?;
        connection.wal_hook(Some(|_, _| match FAILS.swap(false, Ordering::Relaxed) {
            true => Err(Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_IOERR_FSYNC), None)),
            false => Ok(()),
        }));
        Ok(())
    };
    let shop = Shop::open_with(|builder| builder.with_set_up(failing)).await;
    let fails_the_next_commit = Plan::commit(|tx| {
        FAILS.store(true, Ordering::Relaxed);
        insert("b")(tx)
    });
    let [completed, a, b, released] = shop
        .in_one_group([
            ("completed", Plan::Answer(StatusCode::OK)),
            ("a", Plan::order("a")),
            ("b", fails_the_next_commit),
            ("released", Plan::Answer(StatusCode::BAD_GATEWAY)),
        ])
        .await;

    assert_eq!((completed.status.as_u16(), released.status.as_u16()), (200, 502));
    for unknown in [a, b] {
        assert_eq!(problem::kind(&unknown), (503, "OutcomeUnknown".into()));
    }
    assert_eq!(shop.orders(), ["a", "b"]);
    for key in ["a", "b"] {
        let repeat = shop.order(key).await;
        assert_eq!((repeat.text(), repeat.replayed()), (key, Some("true")));
    }
    assert_eq!(shop.order("completed").await.replayed(), Some("true"));
    assert_eq!(shop.order("released").await.text(), "released");
}
