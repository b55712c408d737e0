//! What a run shows.

use std::ops::Range;

use serde::Serialize;

use super::settings::Settings;

/// What a run showed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// When it was healthy again.
    pub recovery: Recovery,
    /// Second by second, while it was watched.
    pub seconds: Vec<Second>,
    /// All attempts, those after the last second too.
    pub attempts: Attempts,
    /// All logical requests, those after the last second too.
    pub requests: Requests,
}

/// When the server was healthy again.
///
/// A stretch of [`STRETCH_S`](Self::STRETCH_S) seconds is healthy if at least [`SHARE_PERCENT`](Self::SHARE_PERCENT) % of
/// the requests that came in during it were answered. It is healthy again from the first second after the outage on from
/// which every stretch is healthy, up to the end of what was watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Recovery {
    /// So many seconds after the outage.
    AfterSeconds(u32),
    /// Not in the seconds that were watched after it.
    NotWithinSeconds(u32),
}

/// One second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Second {
    /// Logical requests that came in.
    pub arrived: u64,
    /// How many of these were answered, whenever that was.
    pub answered_of_these: u64,
    /// Answers that reached a client that still waited.
    pub goodput: u64,
    /// Attempts that reached the server.
    pub attempts: u64,
    /// Attempts that wait for a worker, at its end.
    pub queue: u64,
}

/// What became of all attempts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Attempts {
    /// That reached the server.
    pub sent: u64,
    /// 503, since the queue was full.
    pub refused: u64,
    /// The client got the answer.
    pub answered: u64,
    /// The client got an error in place of it.
    pub failed: u64,
    /// The work was done after the client had given up.
    pub served_for_nobody: u64,
    /// Thrown away after the client had given up.
    pub dropped: u64,
    /// Waiting or in work when the last request had ended; nobody waits for them.
    pub left: u64,
}

/// What became of all logical requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Requests {
    /// That came in.
    pub arrived: u64,
    /// Answered.
    pub answered_first_try: u64,
    /// Answered, after attempts that were not.
    pub answered_after_retry: u64,
    /// Failed: all attempts were made.
    pub out_of_attempts: u64,
    /// Failed: the budget for retries was empty.
    pub budget_empty: u64,
}

/// What a stretch of seconds comes to, for each second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Mean {
    /// Answers that reached a client that still waited.
    pub goodput: f64,
    /// Attempts that reached the server.
    pub attempts: f64,
    /// Attempts that wait at the end of a second.
    pub queue: f64,
}

impl Outcome {
    pub(super) fn new(settings: &Settings, seconds: Vec<Second>, attempts: Attempts, requests: Requests) -> Self {
        let recovery = Recovery::of(&seconds, settings.outage_end_s() as usize);
        Self { recovery, seconds, attempts, requests }
    }

    /// Over these seconds, as far as they were watched.
    pub fn mean(&self, seconds: Range<u32>) -> Mean {
        let seconds = self.watched(seconds);
        let mean = |of: fn(&Second) -> u64| seconds.iter().map(of).sum::<u64>() as f64 / seconds.len().max(1) as f64;
        Mean {
            goodput: mean(|second| second.goodput),
            attempts: mean(|second| second.attempts),
            queue: mean(|second| second.queue),
        }
    }

    /// How many of a hundred requests that came in during these seconds were not answered.
    pub fn failed_percent(&self, seconds: Range<u32>) -> f64 {
        let sum = |of: fn(&Second) -> u64| self.watched(seconds.clone()).iter().map(of).sum::<u64>();
        let (arrived, answered) = (sum(|second| second.arrived), sum(|second| second.answered_of_these));
        100.0 * (arrived - answered) as f64 / arrived.max(1) as f64
    }

    fn watched(&self, seconds: Range<u32>) -> &[Second] {
        let end = (seconds.end as usize).min(self.seconds.len());
        &self.seconds[(seconds.start as usize).min(end)..end]
    }
}

impl Recovery {
    /// Seconds that are judged together: single ones differ by chance.
    pub const STRETCH_S: usize = 10;

    /// What is healthy.
    pub const SHARE_PERCENT: u64 = 95;

    /// By what came in from second `after` on.
    pub fn of(seconds: &[Second], after: usize) -> Self {
        let watched = &seconds[after.min(seconds.len())..];
        let mut stretches = watched.windows(Self::STRETCH_S);
        let healthy = match stretches.clone().rposition(|stretch| !is_healthy(stretch)) {
            Some(last_ill) => last_ill + 1,
            None => 0,
        };
        match stretches.nth(healthy) {
            Some(_) => Self::AfterSeconds(u32::try_from(healthy).expect("few seconds")),
            None => Self::NotWithinSeconds(u32::try_from(watched.len()).expect("few seconds")),
        }
    }
}

fn is_healthy(stretch: &[Second]) -> bool {
    let sum = |of: fn(&Second) -> u64| stretch.iter().map(of).sum::<u64>();
    sum(|second| second.answered_of_these) * 100 >= sum(|second| second.arrived) * Recovery::SHARE_PERCENT
}
