//! `bug_tracker submit`, as a process of its own.

use lab::process::{self, BugTracker};

/// What it prints, and its exit code.
fn submit(tracker: &BugTracker, args: &[&str]) -> (String, Option<i32>) {
    let url = tracker.url("");
    let output = process::bug_tracker(["submit", "--url", &url].iter().chain(args));
    (String::from_utf8(output.stdout).unwrap(), output.status.code())
}

#[test]
fn it_prints_each_attempt_and_what_the_model_is_told() {
    let tracker = BugTracker::start(["--delay", "0s"]);

    let (first, ok) = submit(&tracker, &[]);
    let (again, ok_again) = submit(&tracker, &[]);

    assert_eq!((ok, ok_again), (Some(0), Some(0)));
    let lines: Vec<_> = first.lines().collect();
    assert_eq!(lines[0], "attempt       at     took  end        key");
    assert!(lines[1].starts_with("      1 "), "{first}");
    assert!(lines[1].ends_with(" ms  201        run-042:toolu_01"), "{first}");
    assert_eq!(lines[2..], ["tool result: Created: this is report 1."]);
    assert_eq!(again.lines().nth(2), Some("                           the stored answer, replayed"), "{again}");
}

#[test]
fn a_report_that_is_refused_ends_it_with_a_failure() {
    let tracker = BugTracker::start(["--delay", "0s"]);

    let (said, code) = submit(&tracker, &["--title", " "]);

    assert_eq!(code, Some(1));
    assert!(said.contains("\ntool result, an error: Refused with status 400, no report was created."), "{said}");
}

#[test]
fn each_source_of_keys_can_be_chosen() {
    let tracker = BugTracker::start(["--delay", "0s"]);

    let (none, refused) = submit(&tracker, &["--key-source", "none"]);
    let (per_attempt, _) = submit(&tracker, &["--key-source", "per-attempt"]);
    let (business, _) = submit(&tracker, &["--key-source", "business", "--json"]);

    assert!(none.contains(" 400        none\n") && refused == Some(1), "this server wants a key: {none}");
    assert!(per_attempt.contains("report 1."), "{per_attempt}");
    assert!(business.contains("\"key\": \"content-v1-") && business.contains("\"report_id\": 2"), "{business}");
}

#[test]
fn an_address_that_is_none_says_so() {
    let output = process::bug_tracker(["submit", "--url", "localhost:3000"]);

    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("not an address like http://127.0.0.1:3000"), "{said}");
    assert_eq!(output.status.code(), Some(2));
}
