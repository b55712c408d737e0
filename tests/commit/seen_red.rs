//! The same handlers with the guard off, and the damage that the guard prevents: each promise has been seen red.

use std::path::Path;

use http::StatusCode;
use lab::exchange::{post, send};
use rusqlite::Connection;
use tower_idempotency::{SqliteStore, idempotency::Claim, store::Held};

use crate::tracker::{Failure, HOUR, Stop, Tracker, file, sending};

/// Where a handler writes its report.
#[derive(Clone, Copy)]
enum Write {
    /// On a connection of its own: the guard is off.
    Outside,
    /// In the commit.
    Within,
}

#[tokio::test]
async fn a_write_outside_that_fails_before_its_key_is_closed_is_made_twice() {
    assert_eq!(reports_after_a_failure_behind_the_write(Write::Outside).await, 2);
}

/// V31.
#[tokio::test]
async fn a_write_within_a_commit_that_fails_afterwards_is_made_once() {
    assert_eq!(reports_after_a_failure_behind_the_write(Write::Within).await, 1);
}

#[tokio::test]
async fn a_write_outside_by_a_holder_that_dies_before_its_key_is_closed_is_made_twice() {
    assert_eq!(reports_after_a_death_behind_the_write(Write::Outside).await, 2);
}

/// V6.
#[tokio::test]
async fn a_write_within_a_commit_by_a_holder_that_dies_afterwards_is_made_once() {
    assert_eq!(reports_after_a_death_behind_the_write(Write::Within).await, 1);
}

#[tokio::test]
async fn a_write_outside_by_a_holder_that_was_passed_is_made_twice() {
    assert_eq!(reports_after_a_takeover_before_the_write(Write::Outside).await, 2);
}

/// Rule 11, V8.
#[tokio::test]
async fn a_write_within_a_commit_by_a_holder_that_was_passed_is_made_once() {
    assert_eq!(reports_after_a_takeover_before_the_write(Write::Within).await, 1);
}

/// The handler writes, then fails; its key is released, and the client repeats.
async fn reports_after_a_failure_behind_the_write(how: Write) -> usize {
    let tracker = Tracker::open().await;
    let db = tracker.db();
    let app = tracker.app(async move |claim: Claim<SqliteStore>| -> Result<StatusCode, Failure> {
        write(how, &db, &claim).await?;
        Ok(StatusCode::INTERNAL_SERVER_ERROR)
    });

    send(&app, post("k", "{}")).await;
    send(&app, post("k", "{}")).await;

    tracker.reports().len()
}

/// The handler writes and is never heard of again; the client repeats when the lease has lapsed.
async fn reports_after_a_death_behind_the_write(how: Write) -> usize {
    let (tracker, stop) = (Tracker::open().await, Stop::default());
    let later = tracker.ahead(HOUR).await;
    let [dying, repeating] = [&tracker, &later].map(|tracker| {
        let (db, stop) = (tracker.db(), stop.clone());
        tracker.app(async move |claim: Claim<SqliteStore>| -> Result<StatusCode, Failure> {
            write(how, &db, &claim).await?;
            if claim.fence() == 1 {
                stop.here().await;
            }
            Ok(StatusCode::CREATED)
        })
    });

    let _dead = sending(&dying, post("k", "{}"));
    stop.reached().await;
    send(&repeating, post("k", "{}")).await;

    tracker.reports().len()
}

/// The handler is held up and its key is freed; a repeat writes, and then the first one wakes.
async fn reports_after_a_takeover_before_the_write(how: Write) -> usize {
    let (tracker, stop) = (Tracker::open().await, Stop::default());
    let (db, stopped) = (tracker.db(), stop.clone());
    let app = tracker.app(async move |claim: Claim<SqliteStore>| -> Result<StatusCode, Failure> {
        if claim.fence() == 1 {
            stopped.here().await;
        }
        write(how, &db, &claim).await?;
        Ok(StatusCode::CREATED)
    });

    let held_up = sending(&app, post("k", "{}"));
    stop.reached().await;
    assert_eq!(tracker.layer().force_release(&tracker.key("k")).await.unwrap(), Held::Yes);
    send(&app, post("k", "{}")).await;
    stop.let_go();
    held_up.await.unwrap();

    tracker.reports().len()
}

async fn write(how: Write, db: &Path, claim: &Claim<SqliteStore>) -> Result<(), Failure> {
    match how {
        Write::Outside => Connection::open(db)?.execute("INSERT INTO reports VALUES ('slow page')", []).map(drop)?,
        Write::Within => claim.commit(file("slow page")).await.map(drop)?,
    }
    Ok(())
}
