//! On Postgres, where a report and "this key is done" are one transaction.

use lab::servers::postgres::Postgres;
use tower_idempotency::store::postgres::sqlx::{self, Connection, PgConnection, Row};

use crate::{
    chaos::{self, Ended, StoreServer},
    ledger::Reports,
    office::Office,
    size::Size,
};

impl StoreServer for Postgres {
    /// `pg_ctl stop -m immediate`: what was not synchronised with the disk is gone.
    fn kill(&mut self) {
        self.crash();
    }

    fn start(&mut self) {
        self.restart();
    }
}

/// Exactly one report for each that was acknowledged, with the number that was acknowledged; no other report; each with
/// one notification; each key done.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_report_is_filed_once_though_servers_and_postgres_are_killed() {
    let _alone = crate::redis::ONE_AT_A_TIME.lock().await;
    let size = Size::from_env();
    let server = Postgres::start();
    let office = Office::open(&["--store", &server.url()]).await;

    let Ended { ledger, office, store } = chaos::run("postgres", size, office, server).await;

    let mut connection = PgConnection::connect(&store.url()).await.unwrap();
    let mut reports = Reports::new();
    let rows = sqlx::query("SELECT title, id FROM bug_tracker.reports ORDER BY id").fetch_all(&mut connection).await;
    for row in rows.unwrap() {
        reports.entry(row.get(0)).or_default().push(row.get(1));
    }
    assert_eq!(ledger.broken(&reports), Vec::<String>::new());

    let mut count =
        async |query: &'static str| -> i64 { sqlx::query_scalar(query).fetch_one(&mut connection).await.unwrap() };
    let notified = count("SELECT count(DISTINCT key) FROM bug_tracker.outbox").await;
    assert_eq!((notified, count("SELECT count(*) FROM bug_tracker.outbox").await), (notified, notified));
    assert_eq!(notified as usize, ledger.len(), "one notification each");
    let done =
        count("SELECT count(*) FROM tower_idempotency.records WHERE ended_at IS NOT NULL AND status = 201").await;
    let all = count("SELECT count(*) FROM tower_idempotency.records").await;
    assert_eq!((done as usize, all as usize), (ledger.len(), ledger.len()), "each key is done, and there is no other");
    let taken_over = count("SELECT count(*) FROM tower_idempotency.records WHERE attempt > 1").await;
    println!("postgres: {taken_over} keys were taken over");
    assert!(taken_over > 0, "a server was killed with a key in its hands");
    office.assert_done(size);
}
