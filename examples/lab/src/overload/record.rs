//! What is counted while a run goes on.

use std::sync::{Arc, Mutex, PoisonError};

use tower_idempotency::retry::Stopped;

use super::{
    outcome::{Attempts, Outcome, Requests, Second},
    settings::Settings,
    time::Start,
};

/// Counts, second by second; clones count together.
#[derive(Clone)]
pub(super) struct Record {
    start: Start,
    counts: Arc<Mutex<Counts>>,
}

struct Counts {
    seconds: Vec<Second>,
    /// Came into the queue less went out of it, second by second: its length is the sum.
    queue: Vec<i64>,
    attempts: Attempts,
    requests: Requests,
    /// Requests that came in while it was watched, and that have not ended.
    pending: u64,
}

/// How an attempt ended, seen from the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// The queue was full.
    Refused,
    /// The client got the answer.
    Answered,
    /// The client got an error.
    Failed,
    /// The work was done, and the client was gone.
    ServedForNobody,
    /// The client was gone, and the work was not done.
    Dropped,
}

/// How a logical request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    FirstTry,
    AfterRetry,
    Failed(Stopped),
}

/// The second in which a request came in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival(usize);

impl Record {
    pub(super) fn new(settings: &Settings, start: Start) -> Self {
        let seconds = settings.watched_s() as usize;
        let counts = Counts {
            seconds: vec![Second::default(); seconds],
            queue: vec![0; seconds],
            attempts: Attempts::default(),
            requests: Requests::default(),
            pending: 0,
        };
        Self { start, counts: Arc::new(Mutex::new(counts)) }
    }

    /// A logical request comes in.
    pub(super) fn arrived(&self) -> Arrival {
        self.count(|counts, now| {
            counts.requests.arrived += 1;
            if let Some(second) = counts.seconds.get_mut(now) {
                second.arrived += 1;
                counts.pending += 1;
            }
            Arrival(now)
        })
    }

    /// It has ended.
    pub(super) fn ended(&self, arrival: Arrival, end: End) {
        self.count(|counts, now| {
            let ends = &mut counts.requests;
            let answered = match end {
                End::FirstTry => &mut ends.answered_first_try,
                End::AfterRetry => &mut ends.answered_after_retry,
                End::Failed(Stopped::Budget) => &mut ends.budget_empty,
                End::Failed(Stopped::Attempts) => &mut ends.out_of_attempts,
                End::Failed(other) => unreachable!("nothing here ends so: {other}"),
            };
            *answered += 1;
            let good = !matches!(end, End::Failed(_));
            if let Some(second) = counts.seconds.get_mut(arrival.0) {
                second.answered_of_these += u64::from(good);
                counts.pending -= 1;
            }
            if let Some(second) = counts.seconds.get_mut(now) {
                second.goodput += u64::from(good);
            }
        });
    }

    /// An attempt reaches the server.
    pub(super) fn sent(&self) {
        self.count(|counts, now| {
            counts.attempts.sent += 1;
            if let Some(second) = counts.seconds.get_mut(now) {
                second.attempts += 1;
            }
        });
    }

    /// It waits.
    pub(super) fn queued(&self) {
        self.count(|counts, now| counts.moved(now, 1));
    }

    /// A worker has taken it.
    pub(super) fn taken(&self) {
        self.count(|counts, now| counts.moved(now, -1));
    }

    /// It has ended.
    pub(super) fn attempt(&self, fate: Fate) {
        self.count(|counts, _| {
            let fates = &mut counts.attempts;
            *match fate {
                Fate::Refused => &mut fates.refused,
                Fate::Answered => &mut fates.answered,
                Fate::Failed => &mut fates.failed,
                Fate::ServedForNobody => &mut fates.served_for_nobody,
                Fate::Dropped => &mut fates.dropped,
            } += 1;
        });
    }

    /// Whether requests that came in while it was watched have still to end.
    pub(super) fn is_pending(&self) -> bool {
        self.count(|counts, _| counts.pending > 0)
    }

    /// What was seen, when the last request has ended and the server still has so many attempts.
    pub(super) fn outcome(&self, settings: &Settings, left: u64) -> Outcome {
        self.count(|counts, _| {
            let mut length = 0;
            let lengths = counts.queue.iter().map(|change| {
                length += change;
                length.unsigned_abs()
            });
            let seconds =
                counts.seconds.iter().zip(lengths).map(|(second, queue)| Second { queue, ..*second }).collect();
            Outcome::new(settings, seconds, Attempts { left, ..counts.attempts }, counts.requests)
        })
    }

    fn count<T>(&self, change: impl FnOnce(&mut Counts, usize) -> T) -> T {
        let now = self.start.elapsed().as_secs() as usize;
        change(&mut self.counts.lock().unwrap_or_else(PoisonError::into_inner), now)
    }
}

impl Counts {
    fn moved(&mut self, now: usize, by: i64) {
        if let Some(change) = self.queue.get_mut(now) {
            *change += by;
        }
    }
}
