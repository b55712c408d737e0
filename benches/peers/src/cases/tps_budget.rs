//! Point 3: tower's `TpsBudget`.

use std::time::Duration;

use tokio::time::advance;
use tower::retry::budget::{Budget as _, TpsBudget};
use tower_idempotency::{
    RetryLayer,
    retry::{Backoff, Budget},
};

use super::{Ours, Peer, Row};
use crate::{
    clock,
    scripted::{Scripted, Step, get_through},
};

const RATIOS: [f32; 4] = [0.51, 0.6, 0.75, 0.9];
const SUCCESSES: u32 = 1000;
const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
/// No client should notice it.
const NOTHING: Duration = Duration::from_millis(100);

pub(crate) fn ratios_above_a_half() -> Row {
    let theirs = clock::paused(async { RATIOS.map(their_retries) });
    let ours = clock::paused(async {
        let mut retries = [0; RATIOS.len()];
        for (retries, ratio) in retries.iter_mut().zip(RATIOS) {
            *retries = our_retries(ratio).await;
        }
        retries
    });
    let asked = RATIOS.map(|ratio| (f64::from(ratio) * f64::from(SUCCESSES)).round() as usize);
    Row {
        point: "3a",
        case: "after 1000 successes, the retries that ratios of 0.51, 0.6, 0.75 and 0.9 allow",
        peer: Peer {
            name: "tower",
            did: format!("{theirs:?}"),
            fault_seen: theirs.iter().all(|retries| *retries == SUCCESSES as usize),
        },
        ours: Ours { did: format!("{ours:?}"), passed: ours == asked },
    }
}

fn their_retries(ratio: f32) -> usize {
    let budget = TpsBudget::new(Duration::from_secs(10), 0, ratio);
    (0..SUCCESSES).for_each(|_| budget.deposit());
    std::iter::from_fn(|| budget.withdraw().then_some(())).count()
}

/// The full bucket is emptied first: only what the successes earn is counted.
async fn our_retries(ratio: f32) -> usize {
    let budget =
        Budget::new(SUCCESSES).retry_cost(1).timeout_cost(1).throttled_cost(1).success_reward(f64::from(ratio));
    let layer = RetryLayer::new().max_attempts(2).backoff(Backoff::none()).budget(budget);
    retries_until_empty(&layer).await;
    for _ in 0..SUCCESSES {
        get_through(&layer, &Scripted::new(&[Step::Ok])).await.expect("a response");
    }
    retries_until_empty(&layer).await
}

async fn retries_until_empty(layer: &RetryLayer) -> usize {
    for retries in 0.. {
        let client = Scripted::new(&[Step::Busy]);
        get_through(layer, &client).await.expect("a busy server answers");
        if client.attempts() == 1 {
            return retries;
        }
    }
    unreachable!("a bucket without an end")
}

pub(crate) fn idle_for_a_year() -> Row {
    let theirs = clock::paused(async {
        let budget = TpsBudget::new(Duration::from_secs(1), 10, 0.2);
        advance(YEAR).await;
        let (granted, cost) = clock::cost_of(async { budget.withdraw() }).await;
        assert!(granted, "the reserve pays for it");
        cost
    });
    let ours = clock::paused(async {
        let budget = Budget::new(10).retry_cost(1).throttled_cost(1).refill_per_second(10.0);
        let layer = RetryLayer::new().max_attempts(2).backoff(Backoff::none()).budget(budget);
        // Time counts from the first retry.
        retries_until_empty(&layer).await;
        advance(YEAR).await;
        let client = Scripted::new(&[Step::Busy, Step::Ok]);
        let (answer, cost) = clock::cost_of(get_through(&layer, &client)).await;
        assert!(answer.expect("a response").status().is_success(), "the refilled bucket pays for it");
        cost
    });
    Row {
        point: "3b",
        case: "the first retry after a year without any, budget of 10 a second: computing time of one take",
        peer: Peer { name: "tower", did: format!("{theirs:.1?}"), fault_seen: theirs > NOTHING },
        ours: Ours { did: format!("{ours:.1?}, with its two attempts"), passed: ours < NOTHING },
    }
}
