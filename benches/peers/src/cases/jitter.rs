//! Points 1 and 2: tower's jitter.

use std::{collections::HashSet, fmt::Debug, hash::Hash, time::Duration};

use tokio::time::Instant;
use tower::{
    retry::backoff::{Backoff as _, ExponentialBackoffMaker, MakeBackoff},
    util::rng::HasherRng,
};
use tower_idempotency::{RetryLayer, retry::Backoff};

use super::{Ours, Peer, Row};
use crate::{
    clock,
    scripted::{Scripted, Step, get_through},
};

const MAX: Duration = Duration::from_secs(60);
const REQUESTS: usize = 100;
/// Of our random streams, so that no two draw the same three milliseconds by chance.
const SEED: u64 = 17;

pub(crate) fn requests_of_one_maker() -> Row {
    let base = Duration::from_millis(100);
    let theirs = clock::paused(async {
        let mut maker = tower_maker(base);
        (0..REQUESTS).map(|_| tower_delays(&mut maker)).collect::<Vec<_>>()
    });
    let layer = RetryLayer::new().max_attempts(4).backoff(Backoff::equal(base, MAX)).seed(SEED).without_budget();
    let ours = clock::paused(our_delays(&layer));
    let (their_sequences, our_sequences) = (distinct(&theirs), distinct(&ours));
    Row {
        point: "1",
        case: "100 requests of one client, from one maker or layer, fail together: three delays each, with jitter",
        peer: Peer {
            name: "tower",
            did: told("sequences", their_sequences, &theirs),
            fault_seen: their_sequences == 1,
        },
        ours: Ours { did: told("sequences", our_sequences, &ours), passed: our_sequences == REQUESTS },
    }
}

pub(crate) fn base_of_one_second() -> Row {
    let base = Duration::from_secs(1);
    // A maker for each request, so that point 1 does not hide it.
    let theirs =
        clock::paused(async { (0..REQUESTS).map(|_| tower_delays(&mut tower_maker(base))[0]).collect::<Vec<_>>() });
    let layer = RetryLayer::new().max_attempts(2).backoff(Backoff::equal(base, MAX)).seed(SEED).without_budget();
    let ours: Vec<_> = clock::paused(our_delays(&layer)).iter().map(|delays| delays[0]).collect();
    let (their_delays, our_delays) = (distinct(&theirs), distinct(&ours));
    Row {
        point: "2",
        case: "100 first delays from a base of 1 s: tower adds up to 99 % of it, we (`equal`) draw from its upper half",
        peer: Peer {
            name: "tower",
            did: told("delays", their_delays, &theirs),
            fault_seen: theirs.iter().all(|delay| *delay == base),
        },
        ours: Ours { did: told("delays", our_delays, &ours), passed: our_delays > REQUESTS / 2 },
    }
}

fn tower_maker(base: Duration) -> ExponentialBackoffMaker {
    ExponentialBackoffMaker::new(base, MAX, 0.99, HasherRng::new()).expect("valid settings")
}

/// As long as its timers are set to.
fn tower_delays(maker: &mut ExponentialBackoffMaker) -> Vec<Duration> {
    let mut backoff = maker.make_backoff();
    (0..3).map(|_| backoff.next_backoff().deadline() - Instant::now()).collect()
}

/// As long as the client waits, which is in whole milliseconds: tokio's timers count them.
async fn our_delays(layer: &RetryLayer) -> Vec<Vec<Duration>> {
    let mut delays = Vec::new();
    for _ in 0..REQUESTS {
        let client = Scripted::new(&[Step::Busy]);
        get_through(layer, &client).await.expect("a busy server answers");
        delays.push(client.waits());
    }
    delays
}

fn told<T: Debug>(what: &str, distinct: usize, all: &[T]) -> String {
    format!("different {what}: {distinct}; the first two: {:.0?}, {:.0?}", all[0], all[1])
}

fn distinct<T: Hash + Eq>(all: &[T]) -> usize {
    all.iter().collect::<HashSet<_>>().len()
}
