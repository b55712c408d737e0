//! Rules 2 and 5 of the outbox: the second service is down, and the tracker does not mind.

use crate::{
    front::{Door, Front, kept, reserved_port},
    office::{Office, file, report},
};

/// The tracker delivers itself, and is killed while the rows wait.
#[tokio::test(flavor = "multi_thread")]
async fn rows_wait_for_a_service_that_is_down_and_arrive_in_order_once() {
    let office = Office::open();
    let (port, url) = reserved_port();
    let tracker = office.tracker(["--notify-url", &url]);
    file(&tracker, &["a", "b", "c"]);
    tracker.kill();
    let tracker = office.tracker(["--notify-url", &url]);
    file(&tracker, &["d"]);
    assert_eq!(office.answers(), [None; 4]);

    let front = Front::on(port.listen(16).unwrap(), &office.notes, Door::Open).await;
    front.until_answered(4).await;

    assert_eq!(kept(&office.notes), ["a", "b", "c", "d"]);
    assert_eq!(front.came().len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_is_answered_while_a_notification_hangs() {
    let office = Office::open();
    let front = Front::open(&office.notes, Door::Never).await;
    let tracker = office.tracker(["--notify-url", &front.url]);
    file(&tracker, &["a"]);
    front.until_came(1).await;

    let while_it_hangs = tracker.submit("b", &report("b"));
    let repeat = tracker.submit("b", &report("b"));

    assert_eq!((while_it_hangs.status, while_it_hangs.replayed()), (201, Some("false")));
    assert_eq!((repeat.status, repeat.replayed()), (201, Some("true")));
    assert_eq!(office.answers(), [None, None]);
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_does_not_wait_for_a_notification_that_hangs() {
    let office = Office::open();
    let front = Front::open(&office.notes, Door::Never).await;
    let tracker = office.tracker(["--notify-url", &front.url]);
    file(&tracker, &["a"]);
    front.until_came(1).await;

    assert_eq!(tracker.interrupt(), Some(0));

    assert_eq!(office.answers(), [None]);
}

/// Rows are written by a tracker without a worker too.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_comes_later_delivers_what_was_filed_before() {
    let office = Office::open();
    let tracker = office.tracker([]);
    file(&tracker, &["a", "b"]);
    let front = Front::open(&office.notes, Door::Open).await;

    office.worker(&front.url, ["--until-empty"]).succeeds();

    assert_eq!(kept(&office.notes), ["a", "b"]);
    assert_eq!(office.answers(), [Some(201), Some(201)]);
}
