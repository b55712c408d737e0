//! Rule 5 of the outbox: what a service that is down for an hour costs. The clock is paused.

use std::time::Duration;

use lab::bug_tracker::outbox::{Until, Worker, sender::retry};
use tokio::time::timeout;
use tower_idempotency::{RetryLayer, retry::Backoff};

use crate::{
    office::Office,
    settled::{answering, with_rows},
};

/// Pauses of 15 to 30 s once they have grown, which takes seven; ten retries until the budget is empty.
const MOST: usize = 60 * 60 / 15 + 7 + 10;

#[tokio::test(start_paused = true)]
async fn a_service_that_is_down_for_an_hour_is_asked_two_to_four_times_a_minute() {
    let requests = an_hour_down(retry(), None).await;

    assert!((60 * 60 / 30..=MOST).contains(&requests), "{requests}");
}

#[tokio::test(start_paused = true)]
async fn seen_red_without_the_budget_it_is_asked_three_times_as_often() {
    let requests = an_hour_down(retry().without_budget(), None).await;

    assert!(requests > MOST, "{requests}");
}

#[tokio::test(start_paused = true)]
async fn seen_red_with_pauses_that_do_not_grow_it_is_asked_all_the_time() {
    let second = Duration::from_secs(1);
    let requests = an_hour_down(retry(), Some(Backoff::exponential(second, second))).await;

    assert!(requests > 10 * MOST, "{requests}");
}

/// After a success the next failure is waited for as the first one was.
#[tokio::test(start_paused = true)]
async fn pauses_begin_again_once_a_row_is_settled() {
    let office = Office::open();
    let pool = with_rows(&office, 2).await;
    let (log, sender) = answering(RetryLayer::new().max_attempts(1), [503, 503, 503, 503, 201, 503, 201]);
    let begin = tokio::time::Instant::now();

    let pauses = Backoff::exponential(Duration::from_secs(1), Duration::from_secs(60));
    Worker::new(pool, sender).pauses(pauses).run(Until::Empty).await;

    assert_eq!(log.lock().unwrap().len(), 7);
    // 1 + 2 + 4 + 8 for the first row, 1 for the second.
    assert_eq!(begin.elapsed().as_secs(), 16);
}

async fn an_hour_down(retry: RetryLayer, pauses: Option<Backoff>) -> usize {
    let office = Office::open();
    let pool = with_rows(&office, 3).await;
    let (log, sender) = answering(retry, [503]);
    let worker = Worker::new(pool, sender);
    let worker = match pauses {
        Some(pauses) => worker.pauses(pauses),
        None => worker,
    };
    let run = timeout(Duration::from_secs(60 * 60), worker.run(Until::Empty)).await;
    assert!(run.is_err(), "it is never empty");
    assert_eq!(office.answers(), [None; 3]);
    log.lock().unwrap().len()
}
