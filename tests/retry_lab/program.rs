//! The example as its reader meets it.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Output},
};

use lab::{
    process::example,
    retry_lab::report::{Table, Verdict},
    retry_lab::trial::{PLAIN_POST, SAME_KEY},
};

#[test]
fn it_prints_what_was_run_and_the_table_of_the_article() {
    let output = Command::new(example("retry_lab")).output().unwrap();

    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(printed.matches("\n$ curl -s -i --noproxy '*' --max-time 0.05 ").count(), 2, "{printed}");
    assert_eq!(printed.matches("\n  exit 28: ").count(), 2, "{printed}");
    let table = "
            jobs after the timeout  jobs after the retry  id returned
plain POST                       1                     2            2
same key                         1                     1            1
as in the article
";
    assert!(printed.ends_with(table), "{printed}");
}

#[test]
fn a_figure_that_differs_is_shown_beside_the_one_expected_and_fails() {
    let mut table = Table::default();
    table.add(PLAIN_POST, PLAIN_POST.expected);
    table.add(SAME_KEY, PLAIN_POST.expected);

    assert_eq!(table.verdict(), Verdict::NotAsInTheArticle);
    let expected = "
same key                         1                     2            2
  expected                       1                     1            1
not as in the article";
    assert!(table.to_string().ends_with(expected), "{table}");
}

#[test]
fn without_curl_it_says_how_to_get_it() {
    let empty = tempfile::tempdir().unwrap();

    let output = run_with_path(empty.path());

    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.starts_with("error: there is no curl to run") && said.contains("apt install curl"), "{said}");
}

#[test]
fn a_curl_that_does_not_time_out_fails() {
    let folder = tempfile::tempdir().unwrap();
    let curl = folder.path().join("curl");
    fs::write(&curl, "#!/bin/sh\nexit 0\n").unwrap();
    fs::set_permissions(&curl, fs::Permissions::from_mode(0o755)).unwrap();

    let output = run_with_path(folder.path());

    assert_eq!(output.status.code(), Some(1));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "error: curl was to time out (exit 28), and ended with 0\n");
}

fn run_with_path(path: &Path) -> Output {
    Command::new(example("retry_lab")).env("PATH", path).output().unwrap()
}
