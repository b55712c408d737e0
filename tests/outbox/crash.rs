//! Rules 3 and 4 of the outbox: `kill -9` of a worker.

use crate::office::{Office, file, notified};

#[test]
fn a_worker_killed_between_delivery_and_record_leaves_one_notification() {
    let (office, notified) = killed_between_delivery_and_record("sent");

    assert_eq!(notified, ["abc"]);
    assert_eq!(office.answers(), [Some(201)]);
}

#[test]
fn seen_red_without_the_key_there_are_two_notifications() {
    let (office, notified) = killed_between_delivery_and_record("withheld");

    assert_eq!(notified, ["abc", "abc"]);
    assert_eq!(office.answers(), [Some(201)]);
}

/// The second service too is killed after it answered, and still knows the key when it comes back.
#[test]
fn both_killed_at_that_moment_leave_one_notification() {
    let office = Office::open();
    let tracker = office.tracker([]);
    file(&tracker, &["abc"]);
    let (service, url) = office.notifications();
    deliver_and_kill(&office, &url, "sent");
    service.kill();

    let (_service, url) = office.notifications();
    office.worker(&url, ["--until-empty"]).succeeds();

    assert_eq!(notified(&url), ["abc"]);
}

#[test]
fn killed_at_that_moment_over_and_over_it_leaves_one_notification() {
    let office = Office::open();
    let tracker = office.tracker([]);
    file(&tracker, &["abc", "def"]);
    let (_service, url) = office.notifications();

    for _ in 0..4 {
        deliver_and_kill(&office, &url, "sent");
        assert_eq!(office.answers(), [None, None]);
    }
    office.worker(&url, ["--until-empty"]).succeeds();

    assert_eq!(notified(&url), ["abc", "def"]);
}

fn killed_between_delivery_and_record(row_key: &str) -> (Office, Vec<String>) {
    let office = Office::open();
    let tracker = office.tracker([]);
    file(&tracker, &["abc"]);
    let (_service, url) = office.notifications();

    deliver_and_kill(&office, &url, row_key);
    assert_eq!((notified(&url), office.answers()), (vec!["abc".to_owned()], vec![None]));
    office.worker(&url, ["--until-empty", "--row-key", row_key]).succeeds();

    let notified = notified(&url);
    (office, notified)
}

/// The worker says that it has delivered and stands still; then it is killed.
fn deliver_and_kill(office: &Office, url: &str, row_key: &str) {
    let mut worker = office.worker(url, ["--hang-before-record", "--row-key", row_key]);
    let line = worker.line();
    assert!(line.starts_with("delivered "), "{line:?}");
    worker.kill();
}
