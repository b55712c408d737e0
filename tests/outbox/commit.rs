//! Rule 1 of the outbox: the report and its row, both or neither.

use std::{path::Path, time::Duration};

use axum::{Extension, Json, Router, response::Response, routing::post};
use deadpool_sqlite::Pool;
use http::{StatusCode, Uri};
use lab::{
    bug_tracker::{
        app, outbox,
        problem::Problem,
        reports::{NewReport, ReportId},
        table,
    },
    exchange::{self, send},
};
use rusqlite::Connection;
use tower_idempotency::{IdempotencyKey, SqliteStore, idempotency::Claim};

use crate::{
    front,
    office::{Office, report},
    settled::with_rows,
};

#[tokio::test]
async fn a_report_has_one_row_however_often_it_is_sent() {
    let office = Office::open();
    let (pool, store) = table::open(Path::new(&office.bugs)).await.unwrap();
    let app = app::app(app::idempotency(store, LEASE), pool, Duration::ZERO);

    for _ in 0..3 {
        assert_eq!(send(&app, exchange::post("abc", report("abc"))).await.status, 201);
    }

    let row = outbox::table::next(&open(&office)).unwrap().unwrap();
    let body = r#"{"report_id":1,"run_id":"r","module":"m","title":"abc"}"#;
    assert_eq!((row.id, &row.body[..]), (1, body.as_bytes()));
    assert_ne!(row.key.as_str(), "abc");
    assert_eq!(office.answers(), [None]);
}

#[tokio::test]
async fn a_report_whose_row_cannot_be_written_is_not_filed() {
    let office = Office::open();
    let (pool, store) = table::open(Path::new(&office.bugs)).await.unwrap();
    let app = app::app(app::idempotency(store, LEASE), pool, Duration::ZERO);

    assert_eq!(without_outbox(&app, &office).await, (503, 0));

    outbox::table::create(&open(&office)).unwrap();
    assert_eq!(send(&app, exchange::post("abc", report("abc"))).await.status, 201);
    assert_eq!((reports(&office), office.answers()), (1, vec![None]));
}

/// A row in a transaction of its own, after the report's.
#[tokio::test]
async fn seen_red_a_row_written_after_the_commit_can_be_missing() {
    let office = Office::open();
    let (pool, store) = table::open(Path::new(&office.bugs)).await.unwrap();
    let layer = app::idempotency(store, LEASE);
    let naive = Router::new().route("/reports", post(report_then_row)).layer(Extension(pool)).layer(layer);

    assert_eq!(without_outbox(&naive, &office).await, (201, 1));

    outbox::table::create(&open(&office)).unwrap();
    assert_eq!(send(&naive, exchange::post("abc", report("abc"))).await.status, 201);
    assert_eq!((reports(&office), office.answers()), (1, vec![]));
}

/// The other end: what is done and not recognised would be done again.
#[tokio::test]
async fn the_second_service_keeps_a_notification_with_its_key_or_neither() {
    let office = Office::open();
    let service = front::service(&office.notes).await;
    let notes = Connection::open(&office.notes).unwrap();
    let no_key_is_done = "CREATE TRIGGER no_key_is_done BEFORE UPDATE OF status ON tower_idempotency_records
                          BEGIN SELECT RAISE(ABORT, 'no key is done'); END";
    notes.execute_batch(no_key_is_done).unwrap();

    assert_eq!(notify(&service).await, 503);
    assert_eq!(front::kept(&office.notes).len(), 0);

    notes.execute_batch("DROP TRIGGER no_key_is_done").unwrap();
    assert_eq!([notify(&service).await, notify(&service).await], [201, 201]);
    assert_eq!(front::kept(&office.notes), ["abc"]);
}

/// A client may use its key again once it is forgotten.
#[test]
fn two_reports_under_one_key_have_two_rows() {
    let office = Office::open();
    let connection = open(&office);
    outbox::table::create(&connection).unwrap();
    let key = IdempotencyKey::parse("child").unwrap();
    let report: NewReport = serde_json::from_str(&report("abc")).unwrap();

    outbox::table::add(&connection, &key, 1, &report).unwrap();
    outbox::table::add(&connection, &key, 2, &report).unwrap();

    assert_eq!(office.answers(), [None, None]);
}

/// Another worker got an answer to the same row.
#[tokio::test]
async fn the_first_answer_that_is_recorded_stays() {
    let office = Office::open();
    let _pool = with_rows(&office, 1).await;

    outbox::table::settle(&open(&office), 1, 201).unwrap();
    outbox::table::settle(&open(&office), 1, 410).unwrap();

    assert_eq!(office.answers(), [Some(201)]);
}

async fn report_then_row(
    Extension(pool): Extension<Pool>,
    claim: Claim<SqliteStore>,
    report: NewReport,
) -> Result<Response, Problem> {
    let (notify, copy) = (claim.child_key("notify"), report.clone());
    let committed = claim
        .commit(move |tx| {
            let report_id = table::insert(tx, &report)?;
            Ok::<_, Problem>((StatusCode::CREATED, Json(ReportId { report_id })))
        })
        .await?;
    table::read(&pool, move |connection| outbox::table::add(connection, &notify, 1, &copy)).await?;
    Ok(committed)
}

async fn notify(service: &Router) -> u16 {
    let mut request = exchange::post("child", r#"{"report_id":1,"run_id":"r","module":"m","title":"abc"}"#);
    *request.uri_mut() = Uri::from_static("/notifications");
    send(service, request).await.status.as_u16()
}

const LEASE: Duration = Duration::from_secs(10);

/// Files a report while there is no outbox: its answer, and the reports there are then.
async fn without_outbox(app: &Router, office: &Office) -> (u16, i64) {
    open(office).execute_batch("DROP TABLE outbox").unwrap();
    let status = send(app, exchange::post("abc", report("abc"))).await.status.as_u16();
    (status, reports(office))
}

fn reports(office: &Office) -> i64 {
    open(office).query_one("SELECT count(*) FROM reports", (), |row| row.get(0)).unwrap()
}

fn open(office: &Office) -> Connection {
    Connection::open(&office.bugs).unwrap()
}
