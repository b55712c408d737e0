//! On Postgres.

use lab::{process::BugTracker, servers::postgres::Postgres};

use crate::stores::{REPORT, fails, serves_a_user};

#[test]
fn a_user_is_served_as_on_sqlite() {
    let server = Postgres::start();

    serves_a_user(&BugTracker::start(["--delay", "0s", "--store", &server.url()]), r#"{"report_id":1}"#);
}

/// On an empty database, each makes the tables where they are missing.
#[test]
fn several_start_at_once() {
    let server = Postgres::start();
    let url = server.url();

    let trackers: Vec<_> = std::thread::scope(|scope| {
        let starting: Vec<_> =
            (0..4).map(|_| scope.spawn(|| BugTracker::start(["--delay", "0s", "--store", &url]))).collect();
        starting.into_iter().map(|tracker| tracker.join().unwrap()).collect()
    });

    let marks: Vec<_> =
        trackers.iter().map(|tracker| tracker.submit("abc", REPORT).replayed().map(str::to_owned)).collect();
    assert_eq!(marks, ["false", "true", "true", "true"].map(|mark| Some(mark.to_owned())));
}

#[test]
fn a_server_that_is_not_there_says_so_and_no_password() {
    let said = fails(&["--store", "postgres://app:secret@127.0.0.1:1/bugs"]);

    assert!(said.contains("cannot keep keys in postgres://127.0.0.1:1/bugs"), "{said}");
    assert!(said.contains("refused") && !said.contains("secret"), "{said}");
}

#[test]
fn an_address_that_cannot_be_read_says_so_and_no_password() {
    for wrong in [
        "postgres://app:secret@h:port/bugs",
        "postgres://app:sec/ret@h/bugs",
        "postgres://app:secret@h/d?sslmode=secret",
    ] {
        let said = fails(&["--store", wrong]);
        assert!(said.contains("cannot be read") && !said.contains("sec"), "{said}");
    }
}
