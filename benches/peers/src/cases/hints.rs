//! Point 6: what a server asks for.

use std::{sync::Mutex, time::Duration};

use tokio::time::Instant;
use tokio_retry2::{Retry, RetryError, strategy::FixedInterval};
use tower_idempotency::{RetryLayer, retry::Backoff};

use super::{Ours, Peer, Row};
use crate::{
    clock,
    scripted::{Scripted, Step, get_through},
};

const OWN: Duration = Duration::from_millis(100);
const ASKED: Duration = Duration::from_secs(30);

pub(crate) fn server_asks_for_thirty_seconds() -> Row {
    let theirs = clock::paused(async {
        let attempts = Mutex::new(Vec::new());
        let attempt = || async {
            attempts.lock().expect("a lock").push(Instant::now());
            Err::<(), _>(RetryError::retry_after("busy", ASKED))
        };
        Retry::spawn(FixedInterval::new(OWN).take(1), attempt).await.expect_err("busy");
        let attempts = attempts.into_inner().expect("a lock");
        attempts[1] - attempts[0]
    });
    let ours = clock::paused(async {
        let client = Scripted::new(&[Step::BusyFor(ASKED), Step::Ok]);
        let layer = RetryLayer::new().backoff(Backoff::exponential(OWN, OWN));
        get_through(&layer, &client).await.expect("a response");
        client.waits()[0]
    });
    Row {
        point: "6",
        case: "the server asks for 30 s, the client's own delay is 100 ms: the wait",
        peer: Peer { name: "tokio-retry2", did: format!("{theirs:?}"), fault_seen: theirs < ASKED },
        ours: Ours {
            did: format!("{ours:?}: what was asked for, up to a tenth more, and its own delay"),
            passed: ours >= ASKED && ours <= ASKED + ASKED / 10 + 2 * OWN,
        },
    }
}
