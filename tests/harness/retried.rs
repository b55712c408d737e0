//! What is tried again, and what is not.

use std::time::Duration;

use http::StatusCode;
use lab::{
    faults::{Fault, Faults},
    harness::{BaseUrl, FinalResult, Harness, KeySource, Settings},
};
use tokio::net::TcpSocket;

use crate::tracker::{Tracker, call, created, ends, replays, report};

/// Long for an attempt that is answered, short for a test.
const TIMEOUT: Duration = Duration::from_millis(500);
const HOUR: Duration = Duration::from_secs(3600);

fn answered(status: u16) -> Fault {
    Fault::AnsweredBefore(StatusCode::from_u16(status).unwrap())
}

#[tokio::test]
async fn errors_of_the_transport_are_tried_again() {
    for fault in [Fault::ResetBefore, Fault::LoseAnswer, Fault::CutAnswer] {
        let tracker = Tracker::start(Faults::first([fault])).await;

        let submission = tracker.submit(KeySource::ToolCall).await;

        assert_eq!(ends(&submission), ["transport", "201"], "{fault:?}");
        assert_eq!(replays(&submission), [false, fault != Fault::ResetBefore], "{fault:?}");
        assert_eq!((submission.result, tracker.reports().await), (created(1), 1), "{fault:?}");
    }
}

#[tokio::test]
async fn these_statuses_are_tried_again_with_a_key_and_without() {
    for status in [409, 429, 500, 502, 503, 504] {
        for source in [KeySource::ToolCall, KeySource::PerAttempt] {
            let tracker = Tracker::start(Faults::first([answered(status)])).await;

            let submission = tracker.submit(source).await;

            assert_eq!(ends(&submission), [&*status.to_string(), "201"]);
            assert_eq!(submission.result, created(1));
        }
    }
}

#[tokio::test]
async fn every_other_4xx_fails_at_once() {
    let others = || (400..500).filter(|status| ![409, 429].contains(status));
    let tracker = Tracker::start(Faults::first(others().map(answered))).await;
    for status in others() {
        let submission = tracker.submit(KeySource::ToolCall).await;

        assert_eq!(ends(&submission), [status.to_string()]);
        match submission.result {
            FinalResult::Refused { status: with, .. } => assert_eq!(with, status),
            FinalResult::Unknown { .. } => assert_eq!(status, 408, "only it leaves open what became of the request"),
            other => panic!("{status}: {other:?}"),
        }
    }
    assert_eq!(tracker.reports().await, 0);
}

#[tokio::test]
async fn every_other_5xx_is_unknown_at_once() {
    for status in [501, 505, 511, 520] {
        let tracker = Tracker::start(Faults::first([answered(status)])).await;

        let submission = tracker.submit(KeySource::ToolCall).await;

        assert_eq!(ends(&submission), [status.to_string()]);
        assert!(matches!(submission.result, FinalResult::Unknown { .. }), "{submission:?}");
    }
}

#[tokio::test]
async fn there_are_four_attempts_and_then_the_result_is_unknown() {
    let tracker = Tracker::start(Faults::always(answered(503))).await;

    let submission = tracker.submit(KeySource::ToolCall).await;

    assert_eq!(ends(&submission), ["503"; 4]);
    assert_eq!(tracker.faults.requests(), 4);
    assert!(matches!(submission.result, FinalResult::Unknown { .. }), "{submission:?}");
}

#[tokio::test]
async fn where_nobody_listens_there_are_four_attempts_and_nothing_was_filed() {
    let (_socket, nobody) = nobody();
    let harness = Harness::new(&nobody, Settings::new(KeySource::ToolCall));

    let submission = harness.submit(&report(), &call("toolu_01")).await;

    assert_eq!(ends(&submission), ["transport"; 4]);
    assert!(matches!(submission.result, FinalResult::NotApplied { .. }), "{submission:?}");
}

/// The server filed it, and the client has stopped waiting for the answer.
#[tokio::test]
async fn an_attempt_that_times_out_is_tried_again() {
    let tracker = Tracker::start(Faults::first([Fault::LateAnswer(HOUR)])).await;
    let harness = tracker.harness_with(Settings::new(KeySource::ToolCall).attempt_timeout(TIMEOUT));

    let submission = harness.submit(&report(), &call("toolu_01")).await;

    assert_eq!(ends(&submission)[0], "timeout");
    assert_eq!(submission.attempts.last().map(|last| last.replayed), Some(true), "{submission:?}");
    assert_eq!((submission.result, tracker.reports().await), (created(1), 1));
}

/// The server refuses repeats meanwhile, and then replays.
#[tokio::test]
async fn a_report_that_takes_longer_than_the_timeout_is_filed_once() {
    let tracker = Tracker::with_delay(Faults::none(), 2 * TIMEOUT).await;
    let harness = tracker.harness_with(Settings::new(KeySource::ToolCall).attempt_timeout(TIMEOUT));

    let submission = harness.submit(&report(), &call("toolu_01")).await;

    assert_eq!(ends(&submission)[..2], ["timeout", "409"], "{submission:?}");
    assert_eq!(submission.attempts.last().map(|last| last.replayed), Some(true), "{submission:?}");
    assert_eq!((submission.result, tracker.reports().await), (created(1), 1));
}

/// On the paused clock the times are the waits and nothing else.
#[tokio::test(start_paused = true)]
async fn the_same_seed_waits_the_same_times() {
    let (_socket, nobody) = nobody();
    let begins = async |seed| {
        let harness = Harness::new(&nobody, Settings::new(KeySource::ToolCall).seed(seed));
        let submission = harness.submit(&report(), &call("toolu_01")).await;
        assert_eq!(ends(&submission), ["transport"; 4]);
        submission.attempts.iter().map(|attempt| attempt.after).collect::<Vec<_>>()
    };

    let first = begins(7).await;

    assert_eq!(begins(7).await, first);
    assert_ne!(begins(8).await, first);
    assert!(first.windows(2).all(|two| two[1] - two[0] <= Duration::from_millis(201)), "{first:?}");
}

/// An address that refuses connections: bound, so that nobody else takes it, and not listening.
fn nobody() -> (TcpSocket, BaseUrl) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = socket.local_addr().unwrap();
    (socket, address.into())
}
