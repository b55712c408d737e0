//! Both or neither: what a commit keeps, what of it, and what its caller and each repeat get.

use axum::{Router, body::Body, response::Response, routing};
use futures_util::stream;
use http::{HeaderMap, StatusCode, header};
use lab::exchange::{post, send};
use tower_idempotency::{
    SqliteStore,
    idempotency::{Claim, CommitError, CommitErrorKind, Recording},
    store::Status,
};

use crate::tracker::{Failure, Tracker, file, reason, seen};

/// Rules 7 and 8.
#[tokio::test]
async fn the_write_and_the_answer_are_kept_together_and_the_repeat_is_a_replay() {
    let tracker = Tracker::open().await;
    let app = tracker.app(async |claim: Claim<SqliteStore>| {
        claim
            .commit(|tx| {
                let (status, title) = file("slow page")(tx)?;
                Ok::<_, Failure>((status, [(header::LOCATION, "/reports/1")], title))
            })
            .await
    });

    let first = send(&app, post("k", "{}")).await;
    let repeat = send(&app, post("k", "{}")).await;

    assert_eq!(seen(&first), (201, "slow page", Some("false")));
    assert_eq!(seen(&repeat), (201, "slow page", Some("true")));
    assert_eq!(first.header("location"), Some("/reports/1"));
    assert_eq!(without_mark(&repeat.headers), without_mark(&first.headers));
    assert_eq!(tracker.reports(), ["slow page"]);
    assert!(matches!(tracker.status("k").await, Status::Done { replayable: true, .. }));
}

/// No annotation says what the closure fails with: the handler's return type does.
#[tokio::test]
async fn a_handler_that_can_only_fail_to_commit_needs_no_error_type_of_its_own() {
    async fn handler(claim: Claim<SqliteStore>) -> Result<Response, CommitError> {
        claim.commit(|tx| Ok(tx.is_autocommit().to_string())).await
    }
    let tracker = Tracker::open().await;

    let answer = send(&tracker.app(handler), post("k", "{}")).await;

    assert_eq!(seen(&answer), (200, "false", Some("false")));
}

/// As above.
#[tokio::test]
async fn a_handler_with_errors_of_its_own_turns_them_with_a_question_mark() {
    async fn handler(claim: Claim<SqliteStore>) -> Result<Response, Failure> {
        claim
            .commit(|tx| {
                let reports: i64 = tx.query_row("SELECT count(*) FROM reports", [], |row| row.get(0))?;
                if reports == 0 { Err(Failure::NoSuchModule) } else { Ok(reports.to_string()) }
            })
            .await
    }
    let tracker = Tracker::open().await;

    let answer = send(&tracker.app(handler), post("k", "{}")).await;

    assert_eq!(seen(&answer), (404, "", Some("false")));
}

/// Rule 13 judges what was not committed; what was is an outcome, whatever its status.
#[tokio::test]
async fn a_committed_503_is_kept_and_replayed() {
    let tracker = Tracker::open().await;
    let app = tracker.app(async |claim: Claim<SqliteStore>| {
        let not_assigned = (StatusCode::SERVICE_UNAVAILABLE, "filed, not assigned");
        claim.commit(move |tx| file("slow page")(tx).map(|_| not_assigned)).await
    });

    let first = send(&app, post("k", "{}")).await;
    let repeat = send(&app, post("k", "{}")).await;

    assert_eq!(seen(&first), (503, "filed, not assigned", Some("false")));
    assert_eq!(seen(&repeat), (503, "filed, not assigned", Some("true")));
    assert_eq!(tracker.reports(), ["slow page"]);
}

/// Rule 16 strips the record, not the first answer.
#[tokio::test]
async fn the_first_answer_sets_its_cookie_and_the_replay_does_not() {
    let tracker = Tracker::open().await;
    let app = committing(&tracker, |title| ([(header::SET_COOKIE, "session=1")], title));

    let first = send(&app, post("k", "{}")).await;
    let repeat = send(&app, post("k", "{}")).await;

    assert_eq!((seen(&first), first.header("set-cookie")), ((200, "slow page", Some("false")), Some("session=1")));
    assert_eq!((seen(&repeat), repeat.header("set-cookie")), ((200, "slow page", Some("true")), None));
}

/// V22: the mark is the layer's.
#[tokio::test]
async fn a_mark_that_a_committed_response_sets_itself_is_replaced() {
    let tracker = Tracker::open().await;
    let app = committing(&tracker, |title| ([("idempotency-replayed", "true")], title));

    let first = send(&app, post("k", "{}")).await;
    let repeat = send(&app, post("k", "{}")).await;

    assert_eq!((first.replayed(), repeat.replayed()), (Some("false"), Some("true")));
    assert_eq!(repeat.headers.get_all("idempotency-replayed").iter().count(), 1);
}

/// Rule 13: for answers that hold secrets.
#[tokio::test]
async fn a_committed_response_that_is_not_to_be_kept_closes_its_key() {
    let tracker = Tracker::open().await;
    let app = committing(&tracker, |title| (axum::Extension(Recording::CloseWithoutKeeping), title));

    let first = send(&app, post("k", "{}")).await;
    let repeat = send(&app, post("k", "{}")).await;

    assert_eq!(seen(&first), (200, "slow page", Some("false")));
    assert_eq!((repeat.status.as_u16(), repeat.replayed(), &*reason(&repeat)), (410, Some("true"), "NotReplayable"));
    assert_eq!(tracker.reports(), ["slow page"]);
}

/// Rule 13: a rule plugged into the layer keeps secrets out of the record too.
#[tokio::test]
async fn a_committed_response_that_the_layers_own_rule_does_not_keep_closes_its_key() {
    let tracker = Tracker::open().await;
    let secret = |parts: &http::response::Parts| {
        parts.headers.contains_key("x-secret").then_some(Recording::CloseWithoutKeeping)
    };
    let handler = async |claim: Claim<SqliteStore>| {
        claim.commit(|tx| file("slow page")(tx).map(|(_, title)| ([("x-secret", "yes")], title))).await
    };
    let app = Router::new().route("/reports", routing::post(handler)).layer(tracker.layer().with_recording(secret));

    let first = send(&app, post("k", "{}")).await;
    let repeat = send(&app, post("k", "{}")).await;

    assert_eq!(seen(&first), (200, "slow page", Some("false")));
    assert_eq!((repeat.status.as_u16(), repeat.replayed(), &*reason(&repeat)), (410, Some("true"), "NotReplayable"));
    assert_eq!(tracker.reports(), ["slow page"]);
}

/// Rule 16: what switches protocols cannot be replayed.
#[tokio::test]
async fn a_committed_101_closes_its_key() {
    let tracker = Tracker::open().await;
    let app = committing(&tracker, |_| StatusCode::SWITCHING_PROTOCOLS);

    let first = send(&app, post("k", "{}")).await;
    let repeat = send(&app, post("k", "{}")).await;

    assert_eq!((first.status.as_u16(), repeat.status.as_u16()), (101, 410));
    assert_eq!(tracker.reports(), ["slow page"]);
}

/// Neither without the other: a key that was given back would let the write happen again.
#[tokio::test]
async fn a_commit_keeps_its_key_even_where_its_response_asks_to_give_it_back() {
    let tracker = Tracker::open().await;
    let app = committing(&tracker, |title| (axum::Extension(Recording::DoNotKeep), title));

    let first = send(&app, post("k", "{}")).await;
    let repeat = send(&app, post("k", "{}")).await;

    assert_eq!((first.replayed(), repeat.replayed()), (Some("false"), Some("true")));
    assert_eq!(tracker.reports(), ["slow page"]);
}

/// Rule 15.
#[tokio::test]
async fn a_committed_response_over_the_limit_reaches_its_caller_whole_and_each_repeat_is_410() {
    let tracker = Tracker::open().await;
    let large = "x".repeat((1 << 20) + 1);
    let sent = large.clone();
    let app = committing(&tracker, move |_| (StatusCode::CREATED, large.clone()));

    let first = send(&app, post("k", "{}")).await;
    let repeat = send(&app, post("k", "{}")).await;

    assert_eq!((first.status, first.replayed()), (StatusCode::CREATED, Some("false")));
    assert!(first.text() == sent, "{} bytes", first.body.len());
    assert_eq!((repeat.status.as_u16(), repeat.replayed(), &*reason(&repeat)), (410, Some("true"), "NotReplayable"));
    assert!(repeat.text().contains(r#""original_status":201"#), "{}", repeat.text());
    assert_eq!(tracker.reports(), ["slow page"]);
}

#[tokio::test]
async fn a_streaming_body_is_an_error_that_rolls_back_and_a_body_in_memory_may_follow() {
    let tracker = Tracker::open().await;
    let app = tracker.app(async |claim: Claim<SqliteStore>| {
        let streaming = claim.commit(|tx| {
            file("streamed")(tx)?;
            Ok(Body::from_stream(stream::iter([Ok::<_, std::io::Error>("a frame")])))
        });
        match streaming.await {
            Err(Failure::Commit(error)) => assert_eq!(error.kind(), CommitErrorKind::StreamingBody),
            other => panic!("{other:?}"),
        }
        claim.commit(file("in memory")).await
    });

    let first = send(&app, post("k", "{}")).await;

    assert_eq!(seen(&first), (201, "in memory", Some("false")));
    assert_eq!(tracker.reports(), ["in memory"]);
}

/// A handler that commits a report and this response.
fn committing<F, R>(tracker: &Tracker, respond: F) -> Router
where
    F: FnOnce(String) -> R + Clone + Send + Sync + 'static,
    R: axum::response::IntoResponse,
{
    tracker.app(async |claim: Claim<SqliteStore>| {
        claim.commit(move |tx| file("slow page")(tx).map(|(_, title)| respond(title))).await
    })
}

fn without_mark(headers: &HeaderMap) -> HeaderMap {
    let mut headers = headers.clone();
    headers.remove("idempotency-replayed");
    headers
}
