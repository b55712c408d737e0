//! On Redis.

use lab::{
    process::{BugTracker, in_folder},
    servers::redis::RedisServer,
};

use crate::stores::{REPORT, fails, serves_a_user};

#[test]
fn a_user_is_served_and_told_that_a_report_and_its_key_are_two_steps() {
    let server = RedisServer::start();

    let tracker = BugTracker::start(["--delay", "0s", "--store", &server.url()]);

    serves_a_user(&tracker, r#"{"report_id":1,"atomic":false}"#);
}

#[test]
fn two_servers_share_keys_and_reports() {
    let (server, folder) = (RedisServer::start(), tempfile::tempdir().unwrap());
    let args = ["--delay", "0s", "--store", &server.url(), "--db", &in_folder(folder.path(), "bugs.db")];
    let trackers = [BugTracker::start(args), BugTracker::start(args)];

    let [first, second] = trackers.each_ref().map(|tracker| tracker.submit("abc", REPORT));

    assert_eq!((first.replayed(), second.replayed()), (Some("false"), Some("true")));
    assert_eq!(first.body, second.body);
}

#[test]
fn a_server_that_is_not_there_says_so_and_no_password() {
    let said = fails(&["--store", "redis://:secret@127.0.0.1:1"]);

    assert!(said.contains("cannot keep keys in redis://127.0.0.1:1"), "{said}");
    assert!(said.contains("refused") && !said.contains("secret"), "{said}");
}
