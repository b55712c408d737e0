//! A process has claimed a key and died: nobody renews the claim, and nobody releases it.

use std::time::Duration;

use lab::harness::FinalResult;

use crate::{
    clock::Clock,
    tracker::{Database, Tracker, Witness, ends, filed, first_hand},
};

const LEASE: Duration = Duration::from_secs(10);
const MOMENT: Duration = Duration::from_millis(1);

/// A tracker after the claim, whose witness holds nobody, and the fence of the dead holder.
async fn after_a_death() -> (Tracker, Witness, u64) {
    let (database, witness) = (Database::open().await, Witness::new());
    let dead = database.claimed_by_a_dead_process(LEASE).await;
    let app = database.witnessed(LEASE, &witness);
    (database.serve(app).await, witness, dead.fence())
}

/// Article: "409 within the lease, taken over after it; the fencing token goes from 1 to 2".
#[tokio::test]
async fn a_placeholder_of_a_dead_process_is_409_within_its_lease_and_taken_over_after_it() {
    let clock = Clock::stopped();
    let (tracker, witness, dead) = after_a_death().await;

    clock.pass(LEASE - MOMENT).await;
    let within = tracker.post_once().await;
    clock.pass(MOMENT).await;
    let after = tracker.submit().await;

    assert_eq!((within.status.as_u16(), within.header("retry-after")), (409, Some("1")));
    assert_eq!(ends(&after), [first_hand("201")]);
    assert_eq!(after.result, FinalResult::Created { report_id: 1 });
    assert_eq!((dead, witness.claims()), (1, vec![(2, 2)]), "fence and attempt");
    assert_eq!(tracker.reports().await, [filed(1)]);
}

/// Article: "a lease that is too long lets users wait at 409 after a process died": the harness gives up first, and
/// tells the model that the result is unknown.
#[tokio::test]
async fn a_harness_that_comes_within_a_long_lease_gets_409_until_it_gives_up() {
    let clock = Clock::stopped();
    let (tracker, witness, _) = after_a_death().await;

    let submitting = tracker.start_submitting();
    clock.pass_until_request(4, &tracker).await;
    let submission = submitting.await.unwrap();

    assert_eq!(ends(&submission), vec![first_hand("409"); 4]);
    assert!(matches!(submission.result, FinalResult::Unknown { .. }), "{submission:?}");
    assert!(witness.claims().is_empty() && tracker.reports().await.is_empty());
}

/// The same submission gets through where what is left of the lease is shorter than the wait that the server asks for.
#[tokio::test]
async fn a_harness_that_comes_at_the_end_of_the_lease_takes_over_at_its_second_attempt() {
    let clock = Clock::stopped();
    let (tracker, witness, _) = after_a_death().await;
    clock.pass(LEASE - Duration::from_millis(500)).await;

    let submitting = tracker.start_submitting();
    clock.pass_until_request(2, &tracker).await;
    let submission = submitting.await.unwrap();

    assert_eq!(ends(&submission), [first_hand("409"), first_hand("201")]);
    assert_eq!(witness.claims(), [(2, 2)]);
    assert_eq!(tracker.reports().await, [filed(1)]);
}
