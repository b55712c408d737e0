//! A commit that is rolled back writes nothing, may be tried again, and leaves the answer to rule 13 (V14, V30).

use axum::response::Response;
use http::StatusCode;
use lab::exchange::{post, send};
use tower_idempotency::{
    SqliteStore,
    idempotency::{Claim, CommitErrorKind},
    store::{Status, sqlite::Tx},
};

use crate::tracker::{Failure, Stop, Tracker, file, seen, sending};

/// V14, rule 13: a 4xx that is an outcome is kept.
#[tokio::test]
async fn a_closure_that_refuses_writes_nothing_and_its_404_is_replayed() {
    let tracker = Tracker::open().await;
    let app = tracker.app(async |claim: Claim<SqliteStore>| -> Result<Response, Failure> {
        claim
            .commit(|tx| {
                file("slow page")(tx)?;
                Err::<StatusCode, _>(Failure::NoSuchModule)
            })
            .await
    });

    let first = send(&app, post("k", "{}")).await;
    let repeat = send(&app, post("k", "{}")).await;

    assert_eq!((seen(&first), seen(&repeat)), ((404, "", Some("false")), (404, "", Some("true"))));
    assert!(tracker.reports().is_empty());
}

/// V14, rule 13: a 5xx is released.
#[tokio::test]
async fn a_closure_that_fails_writes_nothing_and_a_repeat_runs_at_once() {
    let tracker = Tracker::open().await;
    let app = failing_once(&tracker, |tx| {
        file("slow page")(tx)?;
        tx.execute("INSERT INTO no_such_table VALUES (1)", [])?;
        Ok(StatusCode::CREATED)
    });

    let first = send(&app, post("k", "{}")).await;
    assert_eq!((first.status.as_u16(), first.replayed()), (500, Some("false")));
    assert!(tracker.reports().is_empty());

    assert_eq!(seen(&send(&app, post("k", "{}")).await), (201, "repeated", Some("false")));
    assert_eq!(tracker.reports(), ["repeated"]);
}

/// V14.
#[tokio::test]
async fn a_closure_that_panics_writes_nothing_and_a_repeat_runs_at_once() {
    let tracker = Tracker::open().await;
    let app = failing_once(&tracker, |tx| {
        file("slow page")(tx)?;
        panic!("no such module")
    });

    let first = send(&app, post("k", "{}")).await;
    assert_eq!(seen(&first), (500, "", Some("false")));
    assert!(tracker.reports().is_empty());

    assert_eq!(seen(&send(&app, post("k", "{}")).await), (201, "repeated", Some("false")));
    assert_eq!(tracker.reports(), ["repeated"]);
}

/// V14.
#[tokio::test]
async fn a_handler_that_panics_over_its_rolled_back_commit_releases_its_key() {
    let tracker = Tracker::open().await;
    let app = tracker.app(async |claim: Claim<SqliteStore>| -> Result<Response, Failure> {
        if claim.fence() > 1 {
            return claim.commit(file("repeated")).await;
        }
        let refused = claim.commit(|_| Err::<StatusCode, _>(Failure::NoSuchModule)).await;
        panic!("{refused:?}")
    });

    let first = sending(&app, post("k", "{}")).await;
    assert!(first.unwrap_err().is_panic(), "resumed");

    assert_eq!(seen(&send(&app, post("k", "{}")).await), (201, "repeated", Some("false")));
}

#[tokio::test]
async fn a_handler_may_commit_again_after_each_kind_of_rollback() {
    let tracker = Tracker::open().await;
    let app = tracker.app(async |claim: Claim<SqliteStore>| {
        let refused = claim.commit(|_| Err::<StatusCode, _>(Failure::NoSuchModule)).await;
        assert!(matches!(refused, Err(Failure::NoSuchModule)));
        let panicked = claim.commit(|_| -> Result<StatusCode, Failure> { panic!("no such module") }).await;
        assert!(matches!(panicked, Err(Failure::Commit(error)) if error.kind() == CommitErrorKind::Panicked));
        let undone = claim.commit(violate_a_foreign_key).await;
        assert!(matches!(undone, Err(Failure::Commit(error)) if error.kind() == CommitErrorKind::RolledBack));
        claim.commit(file("slow page")).await
    });

    let first = send(&app, post("k", "{}")).await;
    let repeat = send(&app, post("k", "{}")).await;

    assert_eq!(seen(&first), (201, "slow page", Some("false")));
    assert_eq!(seen(&repeat), (201, "slow page", Some("true")));
    assert_eq!(tracker.reports(), ["slow page"]);
}

/// V30, V33: the closure says 201, and its transaction is rolled back afterwards. No success without the write.
#[tokio::test]
async fn a_closure_that_succeeds_in_a_transaction_that_does_not_is_503_and_a_repeat_runs() {
    let endings: [(&str, Work); 4] = [
        ("a deferred foreign key", violate_a_foreign_key),
        ("its own COMMIT", |tx| {
            file("slow page")(tx)?;
            tx.execute_batch("COMMIT")?;
            Ok(StatusCode::CREATED)
        }),
        ("its own ROLLBACK", |tx| {
            file("slow page")(tx)?;
            tx.execute_batch("ROLLBACK")?;
            Ok(StatusCode::CREATED)
        }),
        ("INSERT OR ROLLBACK", |tx| {
            file("slow page")(tx)?;
            tx.execute("INSERT INTO wholes VALUES (1)", [])?;
            let _ = tx.execute("INSERT OR ROLLBACK INTO wholes VALUES (1)", []);
            Ok(StatusCode::CREATED)
        }),
    ];
    for (ending, work) in endings {
        let tracker = Tracker::open().await;
        let app = failing_once(&tracker, work);

        let first = send(&app, post("k", "{}")).await;

        assert!(first.status.is_server_error(), "{ending}: {first:?}");
        assert_eq!(tracker.status("k").await, Status::Unknown, "{ending}: released");
        assert!(tracker.reports().is_empty(), "{ending}");
        assert_eq!(seen(&send(&app, post("k", "{}")).await), (201, "repeated", Some("false")), "{ending}");
        assert_eq!(tracker.reports(), ["repeated"], "{ending}");
    }
}

/// V33: three commits share a transaction, which one of them ends.
#[tokio::test]
async fn a_neighbour_that_ends_the_transaction_leaves_nobody_a_201_without_the_write() {
    let tracker = Tracker::open().await;
    let stops = [Stop::default(), Stop::default(), Stop::default()];
    let good: Work = |tx| file("good")(tx).map(|(status, _)| status);
    let requests: Vec<_> = [("a", good), ("b", violate_a_foreign_key), ("c", good)]
        .into_iter()
        .zip(&stops)
        .map(|((key, work), stop)| sending(&stopping(&tracker, stop, work), post(key, "{}")))
        .collect();
    for stop in &stops {
        stop.reached().await;
    }
    let writer = tracker.hold_writer().await;
    for stop in &stops {
        stop.let_go_on().await;
    }
    drop(writer);

    for request in requests {
        assert_eq!(request.await.unwrap().status, StatusCode::SERVICE_UNAVAILABLE);
    }
    assert!(tracker.reports().is_empty());

    let app = tracker.app(async move |claim: Claim<SqliteStore>| claim.commit(good).await);
    for key in ["a", "c"] {
        assert_eq!(send(&app, post(key, "{}")).await.status, StatusCode::CREATED);
    }
    assert_eq!(tracker.reports(), ["good", "good"]);
}

/// Rule 13 judges what the handler ends with; that it had an error to pass on is its own affair.
#[tokio::test]
async fn a_handler_that_answers_200_about_a_refused_commit_has_that_answer_replayed() {
    let tracker = Tracker::open().await;
    let app = tracker.app(async |claim: Claim<SqliteStore>| {
        match claim.commit(|_| Err::<StatusCode, _>(Failure::NoSuchModule)).await {
            Err(Failure::NoSuchModule) => "nothing to file",
            other => panic!("{other:?}"),
        }
    });

    let first = send(&app, post("k", "{}")).await;
    let repeat = send(&app, post("k", "{}")).await;

    assert_eq!(seen(&first), (200, "nothing to file", Some("false")));
    assert_eq!(seen(&repeat), (200, "nothing to file", Some("true")));
}

type Work = fn(&Tx<'_>) -> Result<StatusCode, Failure>;

fn violate_a_foreign_key(tx: &Tx<'_>) -> Result<StatusCode, Failure> {
    file("slow page")(tx)?;
    tx.execute("INSERT INTO parts VALUES (99)", [])?;
    Ok(StatusCode::CREATED)
}

fn stopping(tracker: &Tracker, stop: &Stop, work: Work) -> axum::Router {
    let stop = stop.clone();
    tracker.app(async move |claim: Claim<SqliteStore>| {
        stop.here().await;
        claim.commit(work).await
    })
}

/// The first claim of the store commits this, each later one a report.
fn failing_once(tracker: &Tracker, work: Work) -> axum::Router {
    tracker.app(
        async move |claim: Claim<SqliteStore>| {
            if claim.fence() == 1 { claim.commit(work).await } else { claim.commit(file("repeated")).await }
        },
    )
}
