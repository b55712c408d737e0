//! A full disk at commit: nothing is acknowledged that was not kept, and no key stays stuck (V33).

use axum::Router;
use futures_util::future::join_all;
use http::StatusCode;
use lab::exchange::{Answer, post, send};
use tower_idempotency::{SqliteStore, idempotency::Claim};

use crate::tracker::{Tracker, file};

/// V33: the commits share transactions, of which some find the disk full.
#[tokio::test]
async fn of_many_commits_at_once_those_are_acknowledged_that_were_kept_and_the_others_run_once_there_is_room() {
    let tracker = Tracker::open_with(|builder| {
        builder.with_set_up(|connection| connection.pragma_update(None, "max_page_count", 300))
    })
    .await;
    tracker.connection().execute_batch("CREATE TABLE ballast AS SELECT zeroblob(800000) AS weight").unwrap();
    let app = tracker.app(async |claim: Claim<SqliteStore>, title: String| claim.commit(file(&title)).await);

    let before = all_at_once(&app).await;
    let kept = before.iter().filter(|answer| answer.status == StatusCode::CREATED).count();

    assert!(0 < kept && kept < before.len(), "{kept} found room");
    assert_eq!(tracker.reports().len(), kept);
    for answer in &before {
        assert!(matches!(answer.status.as_u16(), 201 | 500 | 503), "{answer:?}");
    }

    tracker.connection().execute_batch("DROP TABLE ballast").unwrap();
    let after = all_at_once(&app).await;

    assert_eq!(tracker.reports().len(), before.len());
    for (before, after) in before.iter().zip(&after) {
        let mark = if before.status == StatusCode::CREATED { "true" } else { "false" };
        assert_eq!((after.status, after.replayed()), (StatusCode::CREATED, Some(mark)));
    }
}

/// Twenty requests, each with a key of its own and a title that fills several pages.
async fn all_at_once(app: &Router) -> Vec<Answer> {
    let request = |n: usize| post(&format!("k{n}"), n.to_string().repeat(9_000));
    join_all((10..30).map(|n| send(app, request(n)))).await
}
