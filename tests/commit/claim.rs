//! What the handler reads of its claim: key, fence, attempt, child keys.

use lab::exchange::{post, send};
use tokio::sync::mpsc;
use tower_idempotency::{SqliteStore, idempotency::Claim, store::Held};

use crate::tracker::{HOUR, Stop, Tracker, file, seen, sending};

#[tokio::test]
async fn the_key_is_the_one_that_the_client_sent_without_its_quotes() {
    let tracker = Tracker::open().await;
    let app = tracker.app(async |claim: Claim<SqliteStore>| claim.key().as_str().to_owned());

    let answer = send(&app, post("\"run-042:toolu_01\"", "{}")).await;

    assert_eq!(answer.text(), "run-042:toolu_01");
}

/// Rules 11 and 12: a repeat that takes over is the second attempt, under a higher fence; the keys that it hands
/// downstream are those of the first.
#[tokio::test]
async fn one_that_takes_over_sees_attempt_two_a_higher_fence_and_the_same_child_keys() {
    let (tracker, stop) = (Tracker::open().await, Stop::default());
    let later = tracker.ahead(HOUR).await;
    let (tell, mut told) = mpsc::unbounded_channel();
    let [first_app, second_app] = [&tracker, &later].map(|tracker| {
        let (tell, stop) = (tell.clone(), stop.clone());
        tracker.app(async move |claim: Claim<SqliteStore>| {
            let child = claim.child_key("notify");
            tell.send((claim.attempt(), claim.fence(), child)).unwrap();
            if claim.fence() == 1 {
                stop.here().await;
            }
            claim.commit(file(&format!("attempt {}", claim.attempt()))).await
        })
    });

    let first = sending(&first_app, post("k", "{}"));
    stop.reached().await;
    let second = send(&second_app, post("k", "{}")).await;
    stop.let_go();
    let first = first.await.unwrap();

    let (attempt, fence, notify) = told.recv().await.unwrap();
    assert_eq!((attempt, fence), (1, 1));
    assert_eq!(told.recv().await, Some((2, 2, notify)));
    assert_eq!(seen(&second), (201, "attempt 2", Some("false")));
    assert_eq!(seen(&first), (201, "attempt 2", Some("true")), "passed");
    assert_eq!(tracker.reports(), ["attempt 2"]);
}

/// Rule 12: a key that was freed begins anew, and its fence does not.
#[tokio::test]
async fn after_a_release_by_force_the_attempt_is_the_first_and_the_fence_is_higher() {
    let (tracker, stop) = (Tracker::open().await, Stop::default());
    let stopped = stop.clone();
    let app = tracker.app(async move |claim: Claim<SqliteStore>| {
        if claim.fence() == 1 {
            stopped.here().await;
        }
        format!("attempt {}, fence {}", claim.attempt(), claim.fence())
    });
    let _passed = sending(&app, post("k", "{}"));
    stop.reached().await;
    assert_eq!(tracker.layer().force_release(&tracker.key("k")).await.unwrap(), Held::Yes);

    assert_eq!(send(&app, post("k", "{}")).await.text(), "attempt 1, fence 2");
}
