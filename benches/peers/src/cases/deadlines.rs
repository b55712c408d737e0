//! Point 8: a limit of time for all attempts.

use std::{
    future::pending,
    sync::{Arc, Mutex},
    time::Duration,
};

use google_cloud_gax::{
    backoff_policy::BackoffPolicy,
    error::{
        Error,
        rpc::{Code, Status},
    },
    options::RequestOptions,
    retry_loop_internal::{effective_timeout, retry_loop},
    retry_policy::{Aip194Strict, RetryPolicyExt},
    retry_state::RetryState,
    retry_throttler::CircuitBreaker,
};
use tokio::time::{Instant, sleep, timeout};
use tower_idempotency::{RetryLayer, retry::Backoff};

use super::{Ours, Peer, Row};
use crate::{
    clock,
    scripted::{Scripted, Step, get_through},
};

const LIMIT: Duration = Duration::from_secs(10);
const DELAY: Duration = Duration::from_secs(8);
const FIRST: Duration = Duration::from_secs(1);

pub(crate) fn limit_of_ten_seconds() -> Row {
    let theirs = clock::paused(async {
        let begun = Instant::now();
        gax_call().await;
        begun.elapsed()
    });
    let ours = clock::paused(async {
        let begun = Instant::now();
        let client = Scripted::new(&[Step::LateBusy(FIRST), Step::Never]);
        let layer = RetryLayer::new().deadline(LIMIT).backoff(Backoff::exponential(DELAY, DELAY));
        get_through(&layer, &client).await.expect_err("nothing that could be returned");
        begun.elapsed()
    });
    Row {
        point: "8",
        case: "limit 10 s; a failure after 1 s, a wait of 8 s, an attempt without an answer: how long did it take?",
        peer: Peer { name: "google-cloud-gax", did: format!("{theirs:?}"), fault_seen: theirs > LIMIT },
        ours: Ours { did: format!("{ours:?}"), passed: ours <= LIMIT },
    }
}

/// As Google's clients call it: an attempt may take what the loop says is left.
async fn gax_call() {
    let mut attempt = 0;
    let call = async |left: Option<Duration>| -> Result<(), Error> {
        attempt += 1;
        if attempt == 1 {
            sleep(FIRST).await;
            return Err(Error::service(Status::default().set_code(Code::Unavailable)));
        }
        let limit = effective_timeout(&RequestOptions::default(), left).expect("a limit is set");
        timeout(limit, pending()).await.map_err(Error::timeout)?
    };
    let throttler = Arc::new(Mutex::new(CircuitBreaker::clamp(100, 0, 1)));
    let policy = Arc::new(Aip194Strict.with_time_limit(LIMIT));
    let backoff = async |delay| sleep(delay).await;
    retry_loop(call, backoff, true, throttler, policy, Arc::new(Fixed)).await.expect_err("no answer");
}

/// Its own has jitter, which would make the case a matter of luck.
#[derive(Debug)]
struct Fixed;

impl BackoffPolicy for Fixed {
    fn on_failure(&self, _: &RetryState) -> Duration {
        DELAY
    }
}
