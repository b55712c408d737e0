//! Two requests that overlap because they are made to.

use std::time::Duration;

use lab::bug_tracker::{Implementation, faults::Meeting};
use tokio::time::timeout;

use crate::tracker::{REPORT, Tracker, post};

/// Long for a request that nothing holds.
const A_WHILE: Duration = Duration::from_millis(300);

#[tokio::test]
async fn a_request_that_came_first_writes_nothing_until_the_second_has_come() {
    for implementation in Implementation::ALL {
        let tracker = Tracker::start(implementation).await;
        let meeting = Meeting::of(2);
        tracker.faults.arrange(meeting.clone());
        let (one, other) = (post("/reports", Some("one"), REPORT), post("/reports", Some("other"), REPORT));
        let mut first = Box::pin(tracker.raw(&one));

        let alone = timeout(A_WHILE, &mut first).await;
        meeting.saw(1).await;
        let before = (alone.is_err(), meeting.took_place(), tracker.reports());
        let both = tokio::join!(first, tracker.raw(&other));

        assert_eq!(before, (true, false, 0), "{implementation}");
        assert!(both.0.starts_with("HTTP/1.1 201 ") && both.1.starts_with("HTTP/1.1 201 "), "{both:?}");
        assert_eq!((meeting.took_place(), tracker.reports()), (true, 2));
    }
}

/// Else the holder of a claim would wait for a request that cannot come as far.
#[tokio::test]
async fn a_request_that_is_refused_with_409_has_come() {
    let tracker = Tracker::start(Implementation::KeyAtomic).await;
    let meeting = Meeting::of(2);
    tracker.faults.arrange(meeting.clone());
    let request = post("/reports", Some("k"), REPORT);

    let second = async {
        meeting.saw(1).await;
        tracker.raw(&request).await
    };
    let (holder, refused) = tokio::join!(tracker.raw(&request), second);

    assert!(holder.starts_with("HTTP/1.1 201 ") && refused.starts_with("HTTP/1.1 409 "), "{holder}{refused}");
    assert_eq!(tracker.reports(), 1);
}
