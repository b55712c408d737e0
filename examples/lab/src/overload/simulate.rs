//! One run.

use std::{
    num::NonZero,
    sync::Mutex,
    thread::{self, available_parallelism},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use tokio::time::sleep_until;
use tokio_util::task::TaskTracker;
use tower::{Layer, ServiceExt};
use tower_idempotency::{
    RetryLayer,
    retry::{Retry, RetryError, RetryInfo, Stopped},
};

use super::{
    outcome::Outcome,
    policy::Policy,
    record::{End, Record},
    server::Server,
    settings::Settings,
    time::{Start, scaled},
};

/// Plays the outage with clients of this policy. The same settings, the same outcome.
///
/// # Panics
///
/// Within a runtime: it has one of its own, with a paused clock.
pub fn simulate(settings: &Settings, policy: Policy) -> Outcome {
    simulate_with(settings, || policy.layer(settings))
}

/// As [`simulate`], with a layer of your own for each client. Seed and attempt timeout are set here; any other duration
/// in it has to be a thousand times as long as it is meant.
///
/// # Panics
///
/// As [`simulate`].
pub fn simulate_with(settings: &Settings, layer: impl Fn() -> RetryLayer) -> Outcome {
    // The time driver alone: nothing else can wake it.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime").block_on(play(*settings, layer))
}

async fn play(settings: Settings, layer: impl Fn() -> RetryLayer) -> Outcome {
    let start = Start::now();
    let record = Record::new(&settings, start);
    let mut random = fastrand::Rng::with_seed(settings.seed);
    let server = Server::start(settings, start, random.fork(), record.clone());
    let clients: Vec<_> = (0..settings.clients.max(1))
        .map(|_| layer().attempt_timeout(scaled(settings.timeout())).seed(random.u64(..)).layer(server.clone()))
        .collect();

    let watched = f64::from(settings.watched_s());
    let requests = TaskTracker::new();
    let mut arrives = 0.0;
    for client in clients.iter().cycle() {
        arrives += -(1.0 - random.f64()).ln() / settings.arrivals_per_second();
        sleep_until(start.at(Duration::from_secs_f64(arrives))).await;
        // Arrivals go on until the fate of those that are watched is known: without load anything would recover.
        if arrives >= watched && !record.is_pending() {
            break;
        }
        requests.spawn(request(client.clone(), record.clone()));
    }
    requests.close();
    requests.wait().await;
    record.outcome(&settings, server.left())
}

async fn request(client: Retry<Server>, record: Record) {
    let arrival = record.arrived();
    let request = Request::get("/").body(Full::<Bytes>::default()).expect("a request");
    record.ended(arrival, end(&client.oneshot(request).await));
}

fn end(answer: &Result<Response<Full<Bytes>>, RetryError>) -> End {
    let (info, good) = match answer {
        Ok(response) => (response.extensions().get::<RetryInfo>(), response.status().is_success()),
        Err(error) => (Some(error.info()), false),
    };
    match (good, info) {
        (true, None) => End::FirstTry,
        (true, Some(_)) => End::AfterRetry,
        (false, info) => End::Failed(info.map_or(Stopped::Attempts, RetryInfo::stopped)),
    }
}

/// Plays all of these at the same time, as far as there are cores, and keeps their order.
pub fn side_by_side(runs: &[(Settings, Policy)]) -> Vec<Outcome> {
    let next = Mutex::new(0..runs.len());
    let play = || {
        let mut played = Vec::new();
        while let Some(run) = { next.lock().expect("no run panics with it").next() } {
            let (settings, policy) = &runs[run];
            played.push((run, simulate(settings, *policy)));
        }
        played
    };
    let cores = available_parallelism().map_or(1, NonZero::get);
    let mut played: Vec<_> = thread::scope(|scope| {
        let playing: Vec<_> = (0..cores).map(|_| scope.spawn(play)).collect();
        playing.into_iter().flat_map(|thread| thread.join().expect("a run panics")).collect()
    });
    played.sort_by_key(|(run, _)| *run);
    played.into_iter().map(|(_, outcome)| outcome).collect()
}
