//! The example as its reader meets it.

use std::process::{Command, Output};

use lab::{
    amplify::report::{Bound, Report, Verdict},
    process::example,
};
use serde_json::Value;

#[test]
fn it_prints_each_figure_beside_the_one_that_was_published() {
    let output = run(&[]);

    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    let rows = [
        "3 attempts in each                             243  243       243 = 3^5, ",
        "3 attempts in the first, 1 in the others         3  3         ",
        "harness 4 x SDK 3, whose types hide the mark    12  12        12, ",
        "RetryLayer 3 around RetryLayer 3                 3  3         ",
        "no budget                                     2430  2430      ",
        "Budget::new(50) in each                         60  <= 60     ",
        "the hint changes nothing                         1  1         ",
        "the caller's own AssumeRepeatable does           2  2         ",
    ];
    for row in rows {
        assert!(printed.contains(&format!("\n  {row}")), "{row} is not in\n{printed}");
    }
    assert!(printed.ends_with("\n\nas expected\n"), "{printed}");
}

#[test]
fn it_prints_json_for_a_program_to_read() {
    let output = run(&["--json", "--requests", "1"]);

    assert!(output.status.success());
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["verdict"], "as_expected");
    let row = &report["sections"][0]["rows"][0];
    assert_eq!((row["calls"].as_u64(), row["expected"]["exactly"].as_u64()), (Some(243), Some(243)));
}

#[test]
fn a_figure_that_differs_is_marked_and_fails_the_whole() {
    let mut report = Report::default();
    report.section("one request");
    report.row("as it has to be", 3, Bound::Exactly(3), "3");
    assert_eq!(report.verdict(), Verdict::AsExpected);

    report.row("one attempt fewer", 162, Bound::Exactly(243), "243");

    assert_eq!(report.verdict(), Verdict::NotAsExpected);
    let printed = report.to_string();
    assert!(
        printed.contains("162  243       243  <- differs\n") && printed.ends_with("\nnot as expected"),
        "{printed}"
    );
}

#[test]
fn a_bound_is_kept_up_to_its_figure() {
    for (calls, verdict) in [(59, Verdict::AsExpected), (60, Verdict::AsExpected), (61, Verdict::NotAsExpected)] {
        let mut report = Report::default();
        report.section("a stream");
        report.row("a budget", calls, Bound::AtMost(60), "-");
        assert_eq!(report.verdict(), verdict, "{calls}");
    }
}

fn run(arguments: &[&str]) -> Output {
    Command::new(example("amplify")).args(arguments).output().unwrap()
}
