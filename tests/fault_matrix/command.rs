//! The examples from a terminal.

use std::process::{Command, Output};

use lab::process::{BugTracker, Curl, example};
use serde_json::Value;

const REPORT: &str = r#"{"run_id":"run-042","module":"cart","title":"Total is wrong","steps":["add two items"]}"#;

#[test]
fn it_prints_the_table_and_succeeds() {
    let (output, text) = fault_matrix(&[]);

    assert!(output.status.success(), "{text}");
    let figures: Vec<String> = text.lines().skip(3).take(5).map(without_padding).collect();
    let expected = [
        "naive / none 2 2 2 2 2",
        "key_atomic / per_attempt 2 1 2 2 2",
        "key_split / tool_call 1 2 2 2 2",
        "key_atomic / tool_call 1 1 1 2 2",
        "key_atomic / business 1 1 1 1 2",
    ];
    assert_eq!(figures, expected);
    assert!(text.trim_end().ends_with("\nas in the article"), "{text}");
}

#[test]
fn with_all_it_prints_each_server_with_each_source_of_keys() {
    let (output, text) = fault_matrix(&["--all"]);

    assert!(output.status.success(), "{text}");
    let rows: Vec<String> = text.lines().skip(3).take(12).map(without_padding).collect();
    assert_eq!([&*rows[5], &*rows[11]], ["key_split / per_attempt 2 2 2 2 2", "key_atomic / business 1 1 1 1 2"]);
    let compared = "\n  key_split / business, compared with naive / business\n";
    assert!(text.contains(compared), "{text}");
}

#[test]
fn a_cell_that_differs_is_named_and_it_exits_1() {
    let (output, text) = fault_matrix(&["--plant", "key_of_the_call"]);

    assert_eq!(output.status.code(), Some(1), "{text}");
    let named = "\nNOT as in the article:\n  key_atomic / business, new id: 2, expected 1";
    assert!(text.trim_end().ends_with(named), "{text}");
}

#[test]
fn as_json_it_has_each_attempt_and_how_the_rows_differ() {
    let (output, text) = fault_matrix(&["--json"]);
    let json: Value = serde_json::from_str(&text).unwrap();

    assert!(output.status.success(), "{text}");
    assert_eq!(json["differences"], Value::Array(vec![]));
    let row = &json["rows"][3];
    assert_eq!((&row["implementation"], &row["key_source"]), (&"key_atomic".into(), &"tool_call".into()));
    assert_eq!(row["not_stopped"], serde_json::json!(["new_id", "new_title"]));
    let lost = &row["cells"][0];
    assert_eq!((&lost["fault"], &lost["reports"], &lost["struck"]), (&"lost_response".into(), &1.into(), &true.into()));
    assert_eq!(lost["submissions"][0]["attempts"][0]["end"], "transport");
    assert_eq!(lost["submissions"][0]["attempts"][1]["replayed"], true);
    assert_eq!(lost["filed"][0]["title"], "Total is wrong");
    let compared =
        json["comparisons"].as_array().unwrap().iter().find(|compared| compared["row"]["key_source"] == "business");
    let compared = compared.unwrap();
    assert_eq!(compared["other"]["key_source"], "tool_call");
    assert_eq!(compared["changes"][0]["fault"], "new_id");
    assert_eq!((&compared["changes"][0]["there"], &compared["changes"][0]["here"]), (&2.into(), &1.into()));
}

#[test]
fn a_tracker_is_started_with_the_implementation_that_is_named() {
    let reports_and_marks = |implementation: &str| {
        let tracker = BugTracker::start(["--implementation", implementation, "--delay", "0s"]);
        let marks = [(); 2].map(|()| tracker.submit("k", REPORT).replayed().map(str::to_owned));
        let list: Vec<Value> = serde_json::from_str(&Curl::run([tracker.url("/reports")]).body).unwrap();
        (list.len(), marks.map(Option::unwrap_or_default))
    };
    let marks = |first: &str, second: &str| [first.to_owned(), second.to_owned()];

    assert_eq!(reports_and_marks("naive"), (2, marks("", "")));
    assert_eq!(reports_and_marks("key_split"), (1, marks("false", "true")));
    assert_eq!(reports_and_marks("key_atomic"), (1, marks("false", "true")));
}

/// 52 is curl's "empty reply from server".
#[test]
fn a_curl_that_sets_a_fault_sees_it_once() {
    let tracker = BugTracker::start(["--faults", "--delay", "0s"]);
    let json = "Content-Type: application/json";
    let set = Curl::run(["-H", json, "-d", r#"{"lose_response_after_commit":1}"#, &tracker.url("/faults")]);

    let lost = tracker.submit("k", REPORT);
    let repeat = tracker.submit("k", REPORT);

    assert_eq!((set.status, lost.exit, lost.status), (200, 52, 0), "{lost:?}");
    assert_eq!((repeat.status, repeat.replayed()), (201, Some("true")));
}

fn fault_matrix(args: &[&str]) -> (Output, String) {
    let output = Command::new(example("fault_matrix")).args(args).output().expect("it starts");
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    (output, text)
}

fn without_padding(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}
