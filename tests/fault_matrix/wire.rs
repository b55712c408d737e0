//! A lost response on the wire.

use lab::bug_tracker::Implementation;

use crate::tracker::{REPORT, Tracker, post};

#[tokio::test]
async fn a_lost_response_closes_the_connection_without_one_byte_after_the_commit() {
    for implementation in Implementation::ALL {
        let tracker = Tracker::start(implementation).await;
        tracker.lose_responses(1);

        let read = tracker.raw(&post("/reports", Some("k"), REPORT)).await;

        assert_eq!((&*read, tracker.reports()), ("", 1), "{implementation}");
    }
}

/// The connection is closed though the client would keep it open.
#[tokio::test]
async fn a_lost_response_closes_a_connection_that_would_be_kept_alive() {
    let tracker = Tracker::start(Implementation::KeyAtomic).await;
    tracker.lose_responses(1);

    let read = tracker.raw(&post("/reports", Some("k"), REPORT).replace("connection: close\r\n", "")).await;

    assert_eq!((&*read, tracker.reports()), ("", 1));
}

/// Else the test above would be green on a server that answers nobody.
#[tokio::test]
async fn the_next_response_is_there() {
    let tracker = Tracker::start(Implementation::KeyAtomic).await;
    tracker.lose_responses(1);
    tracker.raw(&post("/reports", Some("k"), REPORT)).await;

    let read = tracker.raw(&post("/reports", Some("k"), REPORT)).await;

    assert!(read.starts_with("HTTP/1.1 201 Created\r\n") && read.ends_with(r#"{"report_id":1}"#), "{read}");
    assert!(read.contains("idempotency-replayed: true\r\n"), "{read}");
}

#[tokio::test]
async fn a_crash_is_answered_500() {
    for implementation in Implementation::ALL {
        let tracker = Tracker::start(implementation).await;
        tracker.crash(1);

        let read = tracker.raw(&post("/reports", Some("k"), REPORT)).await;

        assert!(read.starts_with("HTTP/1.1 500 Internal Server Error\r\n"), "{implementation}: {read}");
    }
}
