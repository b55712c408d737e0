//! Two workers with one key at the same time, in an order that the test chooses.

use std::{future::ready, sync::Arc, time::Duration};

use axum::{middleware::map_response, response::Response};
use http::StatusCode;
use lab::harness::FinalResult;
use tokio::sync::Notify;

use crate::{
    clock::Clock,
    tracker::{Database, Witness, ends, filed, first_hand, replay},
};

/// Article: "1 report, at least one 409 on the way, and both workers get the same id in the end". The article's waits
/// for 300 ms of work and for the backoff, and calls that flaky; here the second worker comes while the first is held.
#[tokio::test]
async fn two_workers_with_one_key_get_one_report_and_one_of_them_409_on_the_way() {
    let (clock, database, witness) = (Clock::stopped(), Database::open().await, Witness::new());
    let refused = Arc::new(Notify::new());
    let tells = Arc::clone(&refused);
    let tell = move |response: Response| {
        if response.status() == StatusCode::CONFLICT {
            tells.notify_one();
        }
        ready(response)
    };
    let app = database.witnessed(Duration::from_secs(10), &witness).layer(map_response(tell));
    let tracker = database.serve(app).await;

    let first = tracker.start_submitting();
    clock.comes(witness.hold.reached()).await;
    let second = tracker.start_submitting();
    clock.comes(refused.notified()).await;
    witness.hold.let_go(1);
    let first = first.await.unwrap();
    clock.pass_until_request(3, &tracker).await;
    let second = second.await.unwrap();

    assert_eq!(ends(&first), [first_hand("201")]);
    assert_eq!(ends(&second), [first_hand("409"), replay("201")]);
    assert_eq!([&first.result, &second.result], [&FinalResult::Created { report_id: 1 }; 2]);
    assert_eq!(witness.claims(), [(1, 1)], "fence and attempt");
    assert_eq!(tracker.reports().await, [filed(1)]);
}
