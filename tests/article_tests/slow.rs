//! A slow request is taken over while it lives, by a second worker with the same key: the lease is 0.5 s, the first
//! request takes 0.8 s, and nothing renews its lease.

use std::time::Duration;

use lab::{
    app::Hold,
    bug_tracker::table,
    hand_written::{Fence, HandWritten},
    harness::{FinalResult, Submission},
    withheld::withhold_renewals,
};

use crate::{
    clock::Clock,
    tracker::{Database, Tracker, Witness, ends, first_hand, replay},
};

const LEASE: Duration = Duration::from_millis(500);
const WORK: Duration = Duration::from_millis(800);

/// What the two workers are told, and how many reports there are.
struct Played {
    slow: Submission,
    second: Submission,
    reports: usize,
}

impl Played {
    fn told(&self) -> [&FinalResult; 2] {
        [&self.slow.result, &self.second.result]
    }
}

/// Its lease lapses, the second worker comes and is done, and then the slow one goes on.
async fn a_slow_request_is_taken_over(clock: &Clock, tracker: &Tracker, hold: &Hold) -> Played {
    let slow = tracker.start_submitting();
    clock.comes(hold.reached()).await;
    clock.pass(LEASE).await;
    let second = tracker.submit().await;
    clock.pass(WORK - LEASE).await;
    hold.let_go(1);
    let slow = slow.await.unwrap();
    Played { slow, second, reports: tracker.reports().await.len() }
}

async fn by_hand(fence: Fence) -> Played {
    let (clock, database, hold) = (Clock::stopped(), Database::open().await, Hold::new());
    let by_hand = HandWritten { pool: database.pool.clone(), lease: LEASE, fence, hold: hold.clone() };
    let app = by_hand.app().await.unwrap();
    a_slow_request_is_taken_over(&clock, &database.serve(app).await, &hold).await
}

/// The crate, on a database in which nothing is renewed; and the claims that its handlers got.
async fn by_the_crate() -> (Played, Vec<(u64, u32)>) {
    let (clock, database, witness) = (Clock::stopped(), Database::open().await, Witness::new());
    table::read(&database.pool, withhold_renewals).await.unwrap();
    let app = database.witnessed(LEASE, &witness);
    let played = a_slow_request_is_taken_over(&clock, &database.serve(app).await, &witness.hold).await;
    (played, witness.claims())
}

fn created(report_id: i64) -> FinalResult {
    FinalResult::Created { report_id }
}

/// Article: "with fencing switched off there are 2 reports". Seen red: the lease lapsed, and the slow worker wrote.
#[tokio::test]
async fn without_fencing_a_slow_request_that_is_taken_over_files_a_second_report() {
    let played = by_hand(Fence::Ignored).await;

    assert_eq!(played.reports, 2);
    assert_eq!(played.told(), [&created(2), &created(1)]);
    assert_eq!(ends(&played.slow), [first_hand("201")]);
}

/// Article: `test_slow_request_taken_over_cannot_write_second_report`.
#[tokio::test]
async fn with_fencing_a_slow_request_that_is_taken_over_files_nothing_and_both_workers_are_told_one_id() {
    let (played, claims) = by_the_crate().await;

    assert_eq!(played.reports, 1);
    assert_eq!(played.told(), [&created(1); 2]);
    assert_eq!((ends(&played.slow), ends(&played.second)), (vec![replay("201")], vec![first_hand("201")]));
    assert_eq!(claims, [(1, 1), (2, 2)], "fence and attempt");
}

/// The article's own fence, in the same server: it is the fence that makes the difference.
#[tokio::test]
async fn with_a_fence_by_hand_there_is_one_report_too() {
    let played = by_hand(Fence::Compared).await;

    assert_eq!(played.reports, 1);
    assert_eq!(played.told(), [&created(1); 2]);
    assert_eq!((ends(&played.slow), ends(&played.second)), (vec![replay("201")], vec![first_hand("201")]));
}
