//! What the same harness finds in services that check, then act.

use std::{path::Path, sync::Arc, time::Duration};

use axum::{Json, Router, extract::State, response::Response, routing::post};
use http::{HeaderMap, StatusCode};
use lab::{bug_tracker::table, wire::Server};
use rusqlite::{Connection, OptionalExtension};
use tempfile::TempDir;
use tokio::sync::{Barrier, Mutex};

use crate::office::{file_each_at_both, reports};

/// One of two services on a file, with a connection of its own.
#[derive(Clone)]
struct Naive {
    connection: Arc<Mutex<Connection>>,
    /// Between the check and the act: nobody acts until both have checked.
    both_checked: Arc<Barrier>,
}

impl Naive {
    fn open(db: &Path, both_checked: &Arc<Barrier>) -> Self {
        let connection = Connection::open(db).unwrap();
        connection.busy_timeout(Duration::from_secs(5)).unwrap();
        table::create(&connection).unwrap();
        connection.execute_batch("CREATE TABLE IF NOT EXISTS keys (key TEXT, id INTEGER)").unwrap();
        Self { connection: Arc::new(Mutex::new(connection)), both_checked: Arc::clone(both_checked) }
    }

    async fn serve(self) -> Server {
        Server::start(Router::new().route("/reports", post(submit)).with_state(self)).await
    }
}

async fn submit(State(naive): State<Naive>, headers: HeaderMap) -> Response {
    let key = headers["idempotency-key"].to_str().unwrap().to_owned();
    let known = "SELECT id FROM keys WHERE key = ?1";
    let found: Option<i64> =
        naive.connection.lock().await.query_row(known, [&key], |row| row.get(0)).optional().unwrap();
    let id = match found {
        Some(id) => id,
        None => {
            naive.both_checked.wait().await;
            let mut connection = naive.connection.lock().await;
            let tx = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).unwrap();
            let sql = "INSERT INTO reports (run_id, module, title, steps) VALUES ('r', 'm', ?1, '[]')";
            let id = tx.prepare(sql).unwrap().insert([&key]).unwrap();
            tx.execute("INSERT INTO keys VALUES (?1, ?2)", (&key, id)).unwrap();
            tx.commit().unwrap();
            id
        }
    };
    axum::response::IntoResponse::into_response((StatusCode::CREATED, Json(serde_json::json!({ "report_id": id }))))
}

#[tokio::test(flavor = "multi_thread")]
async fn two_services_that_check_then_act_file_each_report_twice() {
    let folder = TempDir::new().unwrap();
    let db = folder.path().join("bugs.db");
    let both_checked = Arc::new(Barrier::new(2));
    let services = [Naive::open(&db, &both_checked).serve().await, Naive::open(&db, &both_checked).serve().await];
    let addresses = services.each_ref().map(|service| service.address);

    for n in 0..5 {
        let key = format!("key-{n}");
        let first = file_each_at_both(addresses, std::slice::from_ref(&key)).await;
        let repeats = file_each_at_both(addresses, std::slice::from_ref(&key)).await;

        assert_eq!(reports(&db)[&key].len(), 2, "filed twice");
        assert_ne!(first[&key][0], first[&key][1], "and acknowledged under two ids");
        assert_eq!(repeats[&key][0], repeats[&key][1], "though one key is known when it is repeated");
    }
}
