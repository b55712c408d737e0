//! What curl sees.

use std::time::Duration;

use lab::process::{BugTracker, Curl, in_folder};
use tokio::time::Instant;

const REPORT: &str = r#"{"run_id":"run-042","module":"cart","title":"Total is wrong","steps":["add two items"]}"#;
const OTHER: &str = r#"{"run_id":"run-042","module":"cart","title":"Total is negative","steps":[]}"#;

#[test]
fn the_same_key_twice_is_one_report_and_a_replay() {
    let tracker = BugTracker::start(["--delay", "0s"]);

    let first = tracker.submit("\"run-042:toolu_01\"", REPORT);
    let second = tracker.submit("\"run-042:toolu_01\"", REPORT);

    assert_eq!((first.status, first.replayed()), (201, Some("false")), "{first:?}");
    assert_eq!((second.status, second.replayed()), (201, Some("true")), "{second:?}");
    assert_eq!(second.body, first.body);
    assert_eq!(second.header("location"), Some("/reports/1"));
    assert_eq!(reports(&tracker), 1);
}

#[test]
fn a_quoted_key_and_a_bare_one_are_the_same() {
    let tracker = BugTracker::start(["--delay", "0s"]);

    let quoted = tracker.submit("\"abc\"", REPORT);
    let bare = tracker.submit("abc", REPORT);

    assert_eq!((quoted.replayed(), bare.replayed()), (Some("false"), Some("true")));
    assert_eq!(reports(&tracker), 1);
}

#[test]
fn another_body_under_the_same_key_is_422() {
    let tracker = BugTracker::start(["--delay", "0s"]);
    tracker.submit("abc", REPORT);

    let other = tracker.submit("abc", OTHER);

    assert_eq!((other.status, other.header("content-type")), (422, Some("application/problem+json")));
    assert!(other.body.contains(r#""differs":["body"]"#), "{}", other.body);
    assert_eq!(reports(&tracker), 1);
}

#[test]
fn the_same_json_spelled_otherwise_is_the_same_report() {
    let tracker = BugTracker::start(["--delay", "0s"]);
    let spelled = r#"{ "steps": ["add two items"], "title": "Total is wrong", "module": "cart", "run_id": "run-042" }"#;
    tracker.submit("abc", REPORT);

    assert_eq!(tracker.submit("abc", spelled).replayed(), Some("true"));
}

#[test]
fn a_second_request_during_a_slow_first_is_409() {
    let tracker = BugTracker::start(["--delay", "1h"]);
    let first = tracker.start_submitting("abc", REPORT);
    wait_for_state(&tracker, "abc", "in_progress");

    let second = tracker.submit("abc", REPORT);

    assert_eq!((second.status, second.header("retry-after")), (409, Some("1")), "{second:?}");
    first.disconnect();
}

#[test]
fn a_key_that_is_missing_empty_doubled_or_too_long_is_400() {
    let tracker = BugTracker::start(["--delay", "0s"]);
    let header = |key: &str| format!("Idempotency-Key: {key}");

    let missing = tracker.curl(None::<String>, REPORT);
    let empty = tracker.curl(["-H", "Idempotency-Key;"], REPORT);
    let quoted_nothing = tracker.submit("\"\"", REPORT);
    let two = tracker.curl(["-H".into(), header("a"), "-H".into(), header("b")], REPORT);
    let too_long = tracker.submit(&"k".repeat(256), REPORT);

    for answer in [missing, empty, quoted_nothing, two, too_long] {
        assert_eq!((answer.status, answer.header("content-type")), (400, Some("application/problem+json")));
    }
    assert_eq!(tracker.submit(&"k".repeat(255), REPORT).status, 201);
}

#[test]
fn a_report_that_is_none_is_400_and_the_corrected_one_may_come_under_the_same_key() {
    let tracker = BugTracker::start(["--delay", "0s"]);
    let titled = |title: &str| format!(r#"{{"run_id":"r","module":"m","title":"{title}","steps":[]}}"#);
    let wrong = [
        r#"{"run_id":"r","module":"m","title":"t"}"#,
        r#"{"run_id":"r","module":"m","title":"t","steps":[],"severity":1}"#,
        r#"{"run_id":"r","module":"m","title":"t","title":"t","steps":[]}"#,
        r#"{"run_id":"r","module":"m","title":7,"steps":[]}"#,
        r#"{"run_id":"r","module":"m","title":"t","steps":"s"}"#,
        r#"["#,
        r#"["r","m","t",[]]"#,
        r#"[{"run_id":"r","module":"m","title":"t","steps":[]}]"#,
        r#""run_id""#,
        "",
        &titled("  "),
        &titled(&"é".repeat(81)),
    ];
    for report in wrong {
        let answer = tracker.submit("abc", report);
        assert_eq!((answer.status, answer.header("content-type")), (400, Some("application/problem+json")), "{report}");
    }

    assert_eq!(tracker.submit("abc", &titled(&format!(" {} ", "é".repeat(80)))).status, 201);
    assert_eq!(reports(&tracker), 1);
}

#[test]
fn a_report_can_be_read_again() {
    let tracker = BugTracker::start(["--delay", "0s"]);
    tracker.submit("abc", REPORT);

    let one = Curl::run([tracker.url("/reports/1")]);
    let none = Curl::run([tracker.url("/reports/2")]);

    assert_eq!(one.body, format!(r#"{{"id":1,{}"#, &REPORT[1..]));
    assert_eq!((none.status, none.header("content-type")), (404, Some("application/problem+json")));
}

/// V6: the lease decides, not the retention.
#[test]
fn after_kill_9_a_repeat_is_409_until_the_lease_lapses_and_then_one_report() {
    let folder = tempfile::tempdir().unwrap();
    let db = in_folder(folder.path(), "bugs.db");
    let first = BugTracker::start(["--db", &db, "--lease", "3s", "--delay", "1h"]);
    let client = first.start_submitting("abc", REPORT);
    wait_for_state(&first, "abc", "in_progress");

    first.kill();
    assert_eq!(client.answer().status, 0, "the client of the killed server gets no answer");
    let second = BugTracker::start(["--db", &db, "--lease", "3s", "--delay", "0s"]);
    let within_the_lease = second.submit("abc", REPORT);
    wait_for_state(&second, "abc", "lapsed");
    let after_the_lease = second.submit("abc", REPORT);
    let repeat = second.submit("abc", REPORT);

    assert_eq!((within_the_lease.status, within_the_lease.header("retry-after")), (409, Some("1")));
    assert_eq!((after_the_lease.status, after_the_lease.replayed()), (201, Some("false")));
    assert_eq!((repeat.status, repeat.replayed()), (201, Some("true")));
    assert_eq!(reports(&second), 1);
}

/// V13.
#[test]
fn a_client_that_disconnects_finds_its_report_filed() {
    let tracker = BugTracker::start(["--delay", "1s"]);

    let client = tracker.start_submitting("abc", REPORT);
    wait_for_state(&tracker, "abc", "in_progress");
    client.disconnect();
    wait_for_state(&tracker, "abc", "done");
    let repeat = tracker.submit("abc", REPORT);

    assert_eq!((repeat.status, repeat.replayed()), (201, Some("true")));
    assert_eq!(reports(&tracker), 1);
}

#[test]
fn ctrl_c_ends_it_cleanly_and_keeps_what_was_filed() {
    let folder = tempfile::tempdir().unwrap();
    let db = in_folder(folder.path(), "bugs.db");
    let tracker = BugTracker::start(["--db", &db, "--delay", "0s"]);
    tracker.submit("abc", REPORT);

    assert_eq!(tracker.interrupt(), Some(0));

    let again = BugTracker::start(["--db", &db, "--delay", "0s"]);
    assert_eq!(again.submit("abc", REPORT).replayed(), Some("true"));
}

/// Ctrl-C while a report is replayed whose client has left: it is filed before the process ends.
#[test]
fn ctrl_c_waits_for_the_reports_whose_clients_have_left() {
    let folder = tempfile::tempdir().unwrap();
    let db = in_folder(folder.path(), "bugs.db");
    let tracker = BugTracker::start(["--db", &db, "--delay", "1s"]);
    let client = tracker.start_submitting("abc", REPORT);
    wait_for_state(&tracker, "abc", "in_progress");
    client.disconnect();

    assert_eq!(tracker.interrupt(), Some(0));

    let again = BugTracker::start(["--db", &db]);
    assert_eq!(reports(&again), 1);
}

fn reports(tracker: &BugTracker) -> usize {
    let list: Vec<serde_json::Value> = serde_json::from_str(&Curl::run([tracker.url("/reports")]).body).unwrap();
    list.len()
}

/// Asks for the state of a key until it is this one.
fn wait_for_state(tracker: &BugTracker, key: &str, state: &str) {
    let started = Instant::now();
    while !Curl::run([tracker.url(&format!("/idempotency?key={key}"))]).body.contains(&format!("\"{state}\"")) {
        assert!(started.elapsed() < Duration::from_secs(30), "{key} is never {state}");
    }
}
