//! An HTTP client in memory whose answers are written down.

use std::{
    future::{self, Future},
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response, StatusCode, header::RETRY_AFTER};
use http_body_util::Full;
use tokio::time::{Instant, sleep};
use tower::{BoxError, Service};
use tower_idempotency::{RetryLayer, retry::RetryError};

/// What happens to one attempt.
#[derive(Clone, Copy)]
pub(crate) enum Step {
    Ok,
    Busy,
    BusyFor(Duration),
    LateBusy(Duration),
    Never,
    NotReady,
}

/// Plays one step for each attempt, the last one for ever, and notes when attempts came.
#[derive(Clone)]
pub(crate) struct Scripted {
    steps: &'static [Step],
    seen: Arc<Mutex<Vec<Instant>>>,
}

impl Scripted {
    pub(crate) fn new(steps: &'static [Step]) -> Self {
        Self { steps, seen: Arc::default() }
    }

    pub(crate) fn attempts(&self) -> usize {
        self.seen.lock().expect("a lock").len()
    }

    /// The time between one attempt and the next.
    pub(crate) fn waits(&self) -> Vec<Duration> {
        self.seen.lock().expect("a lock").windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    fn step(&self) -> Step {
        self.steps[self.attempts().min(self.steps.len() - 1)]
    }
}

impl<B> Service<Request<B>> for Scripted {
    type Response = Response<Full<Bytes>>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Full<Bytes>>, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(match self.step() {
            Step::NotReady => Err("the pool of connections is closed".into()),
            Step::Ok | Step::Busy | Step::BusyFor(_) | Step::LateBusy(_) | Step::Never => Ok(()),
        })
    }

    fn call(&mut self, _: Request<B>) -> Self::Future {
        let step = self.step();
        self.seen.lock().expect("a lock").push(Instant::now());
        Box::pin(async move {
            let mut response = Response::new(Full::default());
            match step {
                Step::Ok => return Ok(response),
                Step::Busy => {}
                Step::BusyFor(wait) => {
                    response.headers_mut().insert(RETRY_AFTER, wait.as_secs().into());
                }
                Step::LateBusy(after) => sleep(after).await,
                Step::Never => future::pending().await,
                Step::NotReady => unreachable!("called without having been ready"),
            }
            *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
            Ok(response)
        })
    }
}

pub(crate) fn get() -> Request<Full<Bytes>> {
    Request::new(Full::default())
}

/// One GET through our layer around this client.
pub(crate) async fn get_through(layer: &RetryLayer, client: &Scripted) -> Result<Response<Full<Bytes>>, RetryError> {
    use tower::{Layer, ServiceExt};
    layer.layer(client.clone()).oneshot(get()).await
}
