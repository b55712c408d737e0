//! `--store`: the same bug tracker on each of them.

use lab::process::{self, BugTracker, Curl, in_folder};

pub(crate) const REPORT: &str =
    r#"{"run_id":"run-042","module":"cart","title":"Total is wrong","steps":["add two items"]}"#;
const OTHER: &str = r#"{"run_id":"run-042","module":"cart","title":"Total is negative","steps":[]}"#;

/// What a user does, on any store.
pub(crate) fn serves_a_user(tracker: &BugTracker, told: &str) {
    let first = tracker.submit("abc", REPORT);
    let second = tracker.submit("abc", REPORT);
    let other = tracker.submit("abc", OTHER);

    assert_eq!((first.status, first.replayed(), &*first.body), (201, Some("false"), told), "{first:?}");
    assert_eq!((second.status, second.replayed(), &second.body), (201, Some("true"), &first.body));
    assert_eq!(other.status, 422, "{other:?}");
    assert!(read(tracker, "/idempotency?key=abc").contains(r#""state":"done""#));
    let report = format!(r#"{{"id":1,{}"#, &REPORT[1..]);
    assert_eq!(read(tracker, "/reports"), format!("[{report}]"));
    assert_eq!(read(tracker, "/reports/1"), report);
    assert!(read(tracker, "/reports/2").contains("There is no report 2."));
    let list = format!(r#"data: {{"total":1,"reports":[{report}]}}"#);
    let events = Curl::run(["-m", "1", "-N", &tracker.url("/lab/reports/events")]);
    assert!(events.body.contains(&list), "the page shows it: {events:?}");
}

fn read(tracker: &BugTracker, path: &str) -> String {
    Curl::run([tracker.url(path)]).body
}

#[test]
fn sqlite_by_its_address_is_the_file_of_db() {
    let folder = tempfile::tempdir().unwrap();
    let file = in_folder(folder.path(), "bugs.db");
    let tracker = BugTracker::start(["--delay", "0s", "--store", &format!("sqlite:{file}")]);
    serves_a_user(&tracker, r#"{"report_id":1}"#);
    tracker.kill();

    let again = BugTracker::start(["--db", &file]);

    assert_eq!(again.submit("abc", REPORT).replayed(), Some("true"));
}

#[test]
fn keys_in_memory_are_said_to_be_beside_their_reports() {
    let tracker = BugTracker::start(["--delay", "0s", "--store", "memory"]);

    serves_a_user(&tracker, r#"{"report_id":1,"atomic":false}"#);
}

/// The keys are gone with the process, as a holder's are that dies between the report and the completion of its key.
#[test]
fn a_report_whose_key_was_lost_is_found_by_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["--delay", "0s", "--store", "memory", "--db", &in_folder(folder.path(), "bugs.db")];
    let first = BugTracker::start(args);
    let filed = first.submit("abc", REPORT);
    first.kill();
    let second = BugTracker::start(args);

    let again = second.submit("abc", REPORT);
    let another = second.submit("another", REPORT);

    assert_eq!((again.status, again.replayed(), &again.body), (201, Some("false"), &filed.body), "run, not filed");
    assert_eq!(another.body, r#"{"report_id":2,"atomic":false}"#);
}

/// A key that the store has forgotten may come back with another report.
#[test]
fn another_report_under_a_forgotten_key_is_filed() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["--delay", "0s", "--store", "memory", "--db", &in_folder(folder.path(), "bugs.db")];
    let first = BugTracker::start(args);
    first.submit("abc", REPORT);
    first.kill();
    let second = BugTracker::start(args);

    let other = second.submit("abc", OTHER);

    assert_eq!((other.status, &*other.body), (201, r#"{"report_id":2,"atomic":false}"#));
}

#[test]
fn a_server_says_what_is_kept_where() {
    let said = |args: &[&str]| process::printed_until_it_serves(args);

    assert!(said(&["--store", "memory"]).contains("NOT atomic"));
    let default = said(&[]);
    assert!(default.contains("reports and keys are kept in ") && !default.contains("NOT atomic"), "{default}");
}

#[test]
fn a_store_that_there_is_none_of_is_told_without_what_was_given() {
    for wrong in ["mysql://app:secret@h/d", "postgres:/app:secret@h/d", "secret"] {
        let said = fails(&["--store", wrong]);
        assert!(said.contains("--store is memory, sqlite:FILE, postgres://"), "{said}");
        assert!(!said.contains("secret"), "{said}");
    }
}

#[test]
fn two_places_for_the_reports_are_refused() {
    for store in ["sqlite:a.db", "postgres://app:secret@h/d"] {
        let said = fails(&["--store", store, "--db", "b.db"]);
        assert!(said.contains("nothing for --db to hold") && !said.contains("secret"), "{said}");
    }
}

#[test]
fn what_only_sqlite_has_is_refused_elsewhere() {
    for option in
        [["--implementation", "naive"], ["--implementation", "key_split"], ["--notify-url", "http://127.0.0.1:9/n"]]
    {
        let said = fails(&[&["--store", "memory"], &option[..]].concat());
        assert!(said.contains(option[0]) && said.contains("goes with SQLite only"), "{said}");
    }
}

#[cfg(not(feature = "postgres"))]
#[test]
fn a_build_without_postgres_says_which_one_has_it() {
    let said = fails(&["--store", "postgres://app:secret@h/d"]);
    assert!(said.contains("cargo run --example bug_tracker --features postgres -- --store postgres://"), "{said}");
    assert!(!said.contains("secret"), "{said}");
}

#[cfg(not(feature = "redis"))]
#[test]
fn a_build_without_redis_says_which_one_has_it() {
    let said = fails(&["--store", "redis://:secret@h"]);
    assert!(said.contains("cargo run --example bug_tracker --features redis -- --store redis://"), "{said}");
    assert!(!said.contains("secret"), "{said}");
}

/// What it says instead of serving: one line.
pub(crate) fn fails(args: &[&str]) -> String {
    let output = process::bug_tracker([&["--addr", "127.0.0.1:0"], args].concat());
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.starts_with("error: ") && said.lines().count() == 1, "{said:?}");
    said
}
