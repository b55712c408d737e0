//! What goes wrong at the command line says so.

use lab::process::bug_tracker;

#[test]
fn a_worker_on_a_folder_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().to_str().unwrap();

    let said = says(&["deliver", "--db", db, "--notify-url", "http://127.0.0.1:1/notifications"], 1);

    assert!(said.starts_with("error: ") && said.contains("directory"), "{said}");
}

#[test]
fn the_second_service_on_a_folder_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().to_str().unwrap();

    let said = says(&["notifications", "--addr", "127.0.0.1:0", "--db", db], 1);

    assert!(said.starts_with("error: cannot use the database"), "{said}");
}

#[test]
fn an_address_that_cannot_be_sent_to_says_so() {
    for url in ["https://lab/notifications", "/notifications", "lab"] {
        let said = says(&["deliver", "--db", "bugs.db", "--notify-url", url], 2);

        assert!(said.contains("not an address like http://"), "{said}");
    }
}

fn says(args: &[&str], exit: i32) -> String {
    let output = bug_tracker(args);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(exit), "{said}");
    said
}
