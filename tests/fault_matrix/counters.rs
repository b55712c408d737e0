//! The counters, and the page that sets them.

use std::time::Duration;

use lab::{
    bug_tracker::{
        Implementation,
        faults::{Counters, NewCounters},
    },
    harness::KeySource,
};
use tokio::time::Instant;

use crate::tracker::{REPORT, Tracker, ends, post};

#[tokio::test]
async fn each_fault_strikes_as_often_as_its_counter_says() {
    for implementation in Implementation::ALL {
        for count in [0, 1, 2] {
            let lost = Tracker::start(implementation).await;
            let crashed = Tracker::start(implementation).await;
            lost.lose_responses(count);
            crashed.crash(count);

            let mut struck = [0, 0];
            for _ in 0..4 {
                // A key of its own for each, so that each is one that commits.
                struck[0] += u32::from(ends(&lost.submit(KeySource::PerAttempt, 1).await) == ["transport"]);
                struck[1] += u32::from(ends(&crashed.submit(KeySource::PerAttempt, 1).await) == ["500"]);
            }

            assert_eq!(struck, [count, count], "{implementation}");
            assert_eq!([lost, crashed].map(|tracker| tracker.faults.counters()), [Counters::default(); 2]);
        }
    }
}

/// It is the answer to a commit that is lost: a replay, a refusal and a list use up nothing.
#[tokio::test]
async fn only_a_commit_uses_up_a_lost_response() {
    for implementation in [Implementation::KeySplit, Implementation::KeyAtomic] {
        let tracker = Tracker::start(implementation).await;
        tracker.submit(KeySource::ToolCall, 1).await;
        tracker.lose_responses(1);

        let replay = tracker.submit(KeySource::ToolCall, 1).await;
        let refused = tracker.raw(&post("/reports", Some("k"), "{}")).await;
        let list = tracker.raw("GET /reports HTTP/1.1\r\nhost: lab\r\nconnection: close\r\n\r\n").await;

        assert_eq!(ends(&replay), ["201"]);
        assert!(refused.starts_with("HTTP/1.1 400") && list.starts_with("HTTP/1.1 200"), "{refused}{list}");
        assert_eq!(tracker.faults.counters().lose_response_after_commit, 1);
    }
}

#[tokio::test]
async fn a_slow_request_takes_so_many_milliseconds_longer_and_uses_them_up() {
    for implementation in Implementation::ALL {
        let tracker = Tracker::start(implementation).await;
        tracker.faults.set(NewCounters { slow_ms: Some(100), ..NewCounters::default() });

        let begun = Instant::now();
        tracker.submit(KeySource::ToolCall, 1).await;

        assert!(begun.elapsed() >= Duration::from_millis(100), "{implementation}");
        assert_eq!((tracker.faults.counters(), tracker.reports()), (Counters::default(), 1));
    }
}

/// Between the claim and the write.
#[tokio::test]
async fn a_slow_request_holds_its_claim_and_has_written_nothing() {
    let tracker = Tracker::start(Implementation::KeyAtomic).await;
    tracker.faults.set(NewCounters { slow_ms: Some(50_000), ..NewCounters::default() });
    let request = post("/reports", Some("k"), REPORT);
    let first = tracker.raw(&request);
    let second = async {
        let state = "GET /idempotency?key=k HTTP/1.1\r\nhost: lab\r\nconnection: close\r\n\r\n";
        while !tracker.raw(state).await.contains(r#""in_progress""#) {}
        tracker.raw(&request).await
    };

    let refused = tokio::select! {
        answer = first => panic!("not slow: {answer}"),
        refused = second => refused,
    };

    assert!(refused.starts_with("HTTP/1.1 409"), "{refused}");
    assert_eq!(tracker.reports(), 0);
}

#[tokio::test]
async fn the_page_sets_the_counters_that_it_is_told_and_leaves_the_others() {
    let tracker = Tracker::with_faults_page().await;

    tracker.raw(&post("/faults", None, r#"{"lose_response_after_commit":2,"slow_ms":7}"#)).await;
    let answer = tracker.raw(&post("/faults", None, r#"{"crash_mid_request":1,"slow_ms":0}"#)).await;

    let same = tracker.raw(&post("/faults", None, "{}")).await;

    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    let shown = r#"{"lose_response_after_commit":2,"crash_mid_request":1,"slow_ms":0}"#;
    assert!(answer.ends_with(shown) && same.ends_with(shown), "{answer}{same}");
    let get = tracker.raw("GET /faults HTTP/1.1\r\nhost: lab\r\nconnection: close\r\n\r\n").await;
    assert!(get.ends_with(shown), "{get}");
}

#[tokio::test]
async fn what_sets_no_counters_is_400_and_changes_nothing() {
    let tracker = Tracker::with_faults_page().await;

    for wrong in
        ["", "[1,1,1]", r#"{"crash":1}"#, r#"{"slow_ms":-1}"#, r#"{"slow_ms":"7"}"#, r#"{"slow_ms":1,"slow_ms":2}"#]
    {
        let answer = tracker.raw(&post("/faults", None, wrong)).await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "{wrong}: {answer}");
    }

    assert_eq!(tracker.faults.counters(), Counters::default());
}

#[tokio::test]
async fn the_page_is_404_unless_it_was_asked_for() {
    for implementation in Implementation::ALL {
        let tracker = Tracker::start(implementation).await;

        for key in [None, Some("k")] {
            let answer = tracker.raw(&post("/faults", key, r#"{"crash_mid_request":1}"#)).await;
            assert!(answer.starts_with("HTTP/1.1 404 "), "{implementation}: {answer}");
        }

        assert_eq!(tracker.faults.counters(), Counters::default());
    }
}
