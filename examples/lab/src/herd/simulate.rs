//! One run.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use clap::ValueEnum;
use http::{Request, Response, StatusCode};
use http_body_util::Empty;
use serde::Serialize;
use tokio::{
    runtime::Runtime,
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;
use tower::{Layer, ServiceExt};
use tower_idempotency::{
    RetryLayer,
    retry::{Attempt, Verdict},
};

use super::{
    network::Network,
    pace::Pace,
    row::{Arrival, Row, Written},
    seed::Seed,
    size::Clients,
    strategy::Strategy,
};

/// One run to be played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Herd {
    /// How the clients wait.
    pub strategy: Strategy,
    /// How many there are.
    pub clients: Clients,
    /// How long they wait.
    pub pace: Pace,
    /// The same seed gives the same outcome.
    pub seed: u64,
    /// A mistake in it.
    pub planted: Option<Defect>,
}

/// A mistake to plant, so that the comparison is seen to find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Defect {
    /// The first wait is up to the base, not twice the base
    NFromZero,
    /// The cap cuts what was drawn, so that clients meet at it
    CapAfterJitter,
    /// Times are whole milliseconds
    WholeMilliseconds,
    /// All clients draw the same jitter
    SharedStream,
}

/// What came of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// Each write, in the order in which they came to the server.
    pub arrivals: Vec<Arrival>,
    /// When the last client had its answer, in milliseconds of the model.
    pub elapsed: f64,
}

impl Outcome {
    /// How many writes were sent.
    pub fn calls(&self) -> usize {
        self.arrivals.len()
    }
}

/// Plays it, on a runtime of its own: it does not belong in an async task, other than in `spawn_blocking`.
pub fn simulate(herd: &Herd) -> Outcome {
    runtime().block_on(run(herd))
}

/// The same, and nothing as soon as it is cancelled.
pub fn simulate_until(herd: &Herd, stop: &CancellationToken) -> Option<Outcome> {
    runtime().block_on(stop.run_until_cancelled(run(herd)))
}

fn runtime() -> Runtime {
    // Without I/O there is nothing to ask the host for, time and again.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("time needs nothing of the host")
}

async fn run(herd: &Herd) -> Outcome {
    let time = Time { start: Instant::now(), scale: scale(herd.planted) };
    let row = Arc::new(Row::default());
    let layer = RetryLayer::new()
        .max_attempts(u32::MAX)
        .without_budget()
        .backoff(herd.strategy.backoff(herd.pace.times(time.scale), herd.planted))
        .with_classifier(again_after_a_conflict);
    let clients: Vec<_> = (0..herd.clients.get())
        .map(|number| {
            let streams = Streams::of(herd, number);
            let client =
                Client { number, network: Mutex::new(Network::new(streams.network.0)), row: row.clone(), time };
            let client = Arc::new(client);
            let attempts = tower::service_fn(move |_: Request<Empty<Bytes>>| client.clone().attempt());
            let retry = layer.clone().seed(streams.backoff.0).layer(attempts);
            tokio::spawn(retry.oneshot(Request::put("/row").body(Empty::new()).expect("a request")))
        })
        .collect();
    for client in clients {
        let answer = client.await.expect("no client panics").expect("no attempt is the last");
        assert_eq!(answer.status(), StatusCode::NO_CONTENT, "given up");
    }
    Outcome { arrivals: row.take_arrivals(), elapsed: time.passed() }
}

/// A conflict proves that nothing was written.
fn again_after_a_conflict(attempt: &Attempt<'_>) -> Verdict {
    match attempt.response().map(Response::status) {
        Some(StatusCode::CONFLICT) => Verdict::RetryNotApplied,
        _ => attempt.verdict(),
    }
}

/// Of one client.
struct Streams {
    network: Seed,
    backoff: Seed,
}

impl Streams {
    fn of(herd: &Herd, client: u32) -> Self {
        let [networks, backoffs] = [0, 1].map(|number| Seed(herd.seed).child(number));
        let backoff = match herd.planted {
            Some(Defect::SharedStream) => backoffs,
            _ => backoffs.child(client.into()),
        };
        Self { network: networks.child(client.into()), backoff }
    }
}

/// tokio's timers fire on whole milliseconds: a thousand times slower these are microseconds of the model.
fn scale(planted: Option<Defect>) -> u32 {
    if planted == Some(Defect::WholeMilliseconds) { 1 } else { 1000 }
}

/// The model's time on tokio's clock.
#[derive(Clone, Copy)]
struct Time {
    start: Instant,
    scale: u32,
}

impl Time {
    async fn pass(self, milliseconds: f64) {
        sleep(Duration::from_secs_f64(milliseconds / 1e3 * f64::from(self.scale))).await;
    }

    fn passed(self) -> f64 {
        self.start.elapsed().as_secs_f64() * 1e3 / f64::from(self.scale)
    }
}

/// A client below its retries: the network, and at its end the row.
struct Client {
    number: u32,
    network: Mutex<Network>,
    row: Arc<Row>,
    time: Time,
}

impl Client {
    /// Rule 1: from the read to the answer to the write.
    async fn attempt(self: Arc<Self>) -> Result<Response<Empty<Bytes>>, Infallible> {
        let ways = self.network.lock().unwrap_or_else(PoisonError::into_inner).ways();
        self.time.pass(ways.read).await;
        let version = self.row.read();
        self.time.pass(ways.version + ways.write).await;
        let written = self.row.write(version, self.number, self.time.passed());
        self.time.pass(ways.answer).await;
        let mut answer = Response::new(Empty::new());
        *answer.status_mut() = match written {
            Written::Won => StatusCode::NO_CONTENT,
            Written::Conflicted => StatusCode::CONFLICT,
        };
        Ok(answer)
    }
}
