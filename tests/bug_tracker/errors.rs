//! What goes wrong says so.

use std::{net::TcpListener, time::Duration};

use axum::Router;
use deadpool_sqlite::{Config, Hook, HookError, Runtime};
use lab::{
    bug_tracker::app,
    exchange::{Answer, post, send},
    process::{self, in_folder},
};
use tower_idempotency::SqliteStore;

#[test]
fn a_folder_as_database_says_so() {
    let folder = tempfile::tempdir().unwrap();

    assert_fails(&["--db", folder.path().to_str().unwrap()], "directory");
}

#[test]
fn a_database_in_a_folder_that_is_not_there_says_so() {
    let folder = tempfile::tempdir().unwrap();

    assert_fails(&["--db", &in_folder(folder.path(), "none/bugs.db")], "there is no folder");
}

#[test]
fn a_file_that_is_no_database_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let file = in_folder(folder.path(), "bugs.db");
    std::fs::write(&file, "a letter to the editor, and long enough for a header of a database".repeat(99)).unwrap();

    assert_fails(&["--db", &file], "not a database");
}

#[test]
fn a_locked_database_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let file = in_folder(folder.path(), "bugs.db");
    let holder = rusqlite::Connection::open(&file).unwrap();
    holder.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; CREATE TABLE t (c)").unwrap();

    assert_fails(&["--db", &file], "locked");
}

#[test]
fn a_port_in_use_says_so_and_how_to_choose_another() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = taken.local_addr().unwrap().to_string();

    assert_fails(&["--addr", &addr], &addr);
    assert_fails(&["--addr", &addr], "--addr");
}

/// Nothing is acknowledged that was not kept.
#[tokio::test]
async fn a_full_disk_at_commit_files_nothing_and_acknowledges_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let app = app_with_room_for(60, &in_folder(folder.path(), "bugs.db")).await;
    let steps = "x".repeat(8_000);
    let report = format!(r#"{{"run_id":"r","module":"m","title":"t","steps":["{steps}"]}}"#);

    let mut filed = Vec::new();
    let full = loop {
        let answer = send(&app, post(&format!("k{}", filed.len()), report.clone())).await;
        match answer.status.as_u16() {
            201 => filed.push(answer),
            _ => break answer,
        }
        assert!(filed.len() < 1_000, "the disk is never full");
    };

    assert_eq!(full.status, 503, "{full:?}");
    assert!(!filed.is_empty());
    assert_eq!(listed(&app).await.len(), filed.len());
    for (number, first) in filed.iter().enumerate() {
        let repeat = send(&app, post(&format!("k{number}"), report.clone())).await;
        assert_eq!((repeat.status, &repeat.body, repeat.replayed()), (first.status, &first.body, Some("true")));
    }
}

async fn listed(app: &Router) -> Vec<serde_json::Value> {
    let list: Answer = send(app, lab::exchange::get("/reports")).await;
    serde_json::from_slice(&list.body).unwrap()
}

/// The bug tracker on a database that cannot grow beyond these pages.
async fn app_with_room_for(pages: u32, file: &str) -> Router {
    let pool = Config::new(file)
        .builder(Runtime::Tokio1)
        .unwrap()
        .post_create(Hook::async_fn(move |connection, _| {
            Box::pin(async move {
                let set = format!("PRAGMA journal_mode = WAL; PRAGMA max_page_count = {pages};");
                let done = connection.interact(move |connection| connection.execute_batch(&set)).await;
                done.map_err(|error| HookError::message(error.to_string()))?.map_err(HookError::Backend)
            })
        }))
        .build()
        .unwrap();
    let store = SqliteStore::with_pool(pool.clone()).await.unwrap();
    let connection = pool.get().await.unwrap();
    connection.interact(|connection| lab::bug_tracker::table::create(connection)).await.unwrap().unwrap();
    let layer = app::idempotency(store, Duration::from_secs(10));
    app::app(layer, pool, Duration::ZERO)
}

fn assert_fails(args: &[&str], says: &str) {
    let output = process::bug_tracker(args);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.starts_with("error: ") && said.contains(says), "{said:?} does not say {says:?}");
}
