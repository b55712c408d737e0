//! A server with a queue, and workers who do not look up.

use std::{
    collections::VecDeque,
    convert::Infallible,
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use tokio::{
    sync::{Notify, oneshot},
    time::{sleep, sleep_until},
};
use tower::Service;

use super::{
    record::{Fate, Record},
    settings::{Abandoned, Settings},
    time::{Start, scaled},
};

/// Takes attempts into its queue, or refuses them; cheap to clone.
#[derive(Clone)]
pub(super) struct Server {
    shared: Arc<Shared>,
    record: Record,
}

struct Shared {
    settings: Settings,
    start: Start,
    state: Mutex<State>,
    came: Notify,
}

struct State {
    waiting: VecDeque<Job>,
    in_work: u64,
    /// Decides which requests end in an error.
    random: fastrand::Rng,
}

/// The client's end is dropped when it gives up.
struct Job {
    client: oneshot::Sender<StatusCode>,
}

impl Server {
    /// Starts its workers on this runtime.
    pub(super) fn start(settings: Settings, start: Start, random: fastrand::Rng, record: Record) -> Self {
        let state = Mutex::new(State { waiting: VecDeque::new(), in_work: 0, random });
        let shared = Arc::new(Shared { settings, start, state, came: Notify::new() });
        let server = Self { shared, record };
        for _ in 0..settings.workers {
            tokio::spawn(server.clone().work());
        }
        server
    }

    async fn work(self) {
        let Settings { before_s, abandoned, .. } = self.shared.settings;
        let outage = secs(before_s)..secs(self.shared.settings.outage_end_s());
        loop {
            if outage.contains(&self.shared.start.elapsed()) {
                sleep_until(self.shared.start.at(outage.end)).await;
            }
            let Some(job) = self.shared.state().take() else {
                self.shared.came.notified().await;
                continue;
            };
            self.record.taken();
            let fate = if abandoned == Abandoned::Dropped && job.client.is_closed() {
                Fate::Dropped
            } else {
                self.serve(job).await
            };
            self.record.attempt(fate);
            self.shared.state().in_work -= 1;
        }
    }

    async fn serve(&self, job: Job) -> Fate {
        sleep(scaled(self.shared.settings.service_time())).await;
        let error = self.shared.state().random.u32(0..100) < self.shared.settings.errors;
        let (status, fate) =
            if error { (StatusCode::INTERNAL_SERVER_ERROR, Fate::Failed) } else { (StatusCode::OK, Fate::Answered) };
        // The client hears of it in this very moment: there is no network between the two.
        job.client.send(status).map_or(Fate::ServedForNobody, |()| fate)
    }

    /// Attempts that wait or are in work.
    pub(super) fn left(&self) -> u64 {
        let state = self.shared.state();
        state.waiting.len() as u64 + state.in_work
    }
}

impl Service<Request<Full<Bytes>>> for Server {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<Full<Bytes>>) -> Self::Future {
        self.record.sent();
        let (client, answer) = oneshot::channel();
        {
            let waiting = &mut self.shared.state().waiting;
            if waiting.len() >= self.shared.settings.queue as usize {
                self.record.attempt(Fate::Refused);
                return Box::pin(async { Ok(answered(StatusCode::SERVICE_UNAVAILABLE)) });
            }
            waiting.push_back(Job { client });
        }
        self.record.queued();
        self.shared.came.notify_one();
        Box::pin(async move { Ok(answered(answer.await.expect("who still waits is answered"))) })
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn take(&mut self) -> Option<Job> {
        let job = self.waiting.pop_front()?;
        self.in_work += 1;
        Some(job)
    }
}

fn answered(status: StatusCode) -> Response<Full<Bytes>> {
    Response::builder().status(status).body(Full::default()).expect("a response")
}

fn secs(seconds: u32) -> Duration {
    Duration::from_secs(seconds.into())
}
