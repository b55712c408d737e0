//! An HTTP client whose answers are written down: each attempt takes the next step of a script.

use std::{
    collections::VecDeque,
    future,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard},
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use futures_util::FutureExt;
use http::{HeaderMap, Request, Response};
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt, combinators::BoxBody};
use tokio::time::{Instant, Sleep, sleep};
use tower::{BoxError, Layer, Service, ServiceExt};
use tower_idempotency::{
    RetryLayer,
    retry::{RepeatBody, RetryError},
};

mod step;

pub use step::{Step, answer};

/// The body of a scripted answer.
pub type ScriptedBody = BoxBody<Bytes, BoxError>;

/// An attempt that reached the service.
#[derive(Clone, Debug)]
pub struct Seen {
    /// When.
    pub at: Instant,
    /// What was sent.
    pub request: Request<Bytes>,
}

/// A client that plays a script, whose last step is played for ever. Panics when called without having been ready.
#[derive(Debug)]
pub struct Scripted {
    script: Arc<Mutex<Script>>,
    ready: bool,
    hesitates: Duration,
    getting_ready: Option<(Pin<Box<Sleep>>, Counted)>,
}

#[derive(Debug, Default)]
struct Script {
    steps: VecDeque<Step>,
    seen: Vec<Seen>,
    /// Attempts that are under way.
    in_flight: usize,
    /// Bodies of answers that are not yet dropped.
    open_bodies: usize,
    /// Clones that were asked to be ready, and are not yet.
    getting_ready: usize,
}

impl Scripted {
    /// Plays these steps; none is a script for no attempt at all.
    pub fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        let script = Script { steps: steps.into_iter().collect(), ..Script::default() };
        let script = Arc::new(Mutex::new(script));
        Self { script, ready: false, hesitates: Duration::ZERO, getting_ready: None }
    }

    /// Before each attempt it is ready only so long after it was first asked.
    #[must_use]
    pub fn hesitates(self, time: Duration) -> Self {
        Self { hesitates: time, ..self }
    }

    /// Sends a request to it through a layer.
    ///
    /// # Errors
    ///
    /// Those of the layer.
    pub async fn send<B>(&self, layer: &RetryLayer, request: Request<B>) -> Result<Response<ScriptedBody>, RetryError>
    where
        B: RepeatBody + Body<Data = Bytes>,
        B::Error: std::fmt::Debug,
    {
        layer.layer(self.clone()).oneshot(request).await
    }

    /// The attempts so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.script().seen.clone()
    }

    /// How many attempts there were.
    pub fn attempts(&self) -> usize {
        self.script().seen.len()
    }

    /// How many attempts are under way.
    pub fn in_flight(&self) -> usize {
        self.script().in_flight
    }

    /// How many bodies of answers are not yet dropped.
    pub fn open_bodies(&self) -> usize {
        self.script().open_bodies
    }

    /// How many clones were asked to be ready, and are not yet.
    pub fn getting_ready(&self) -> usize {
        self.script().getting_ready
    }

    /// The time between one attempt and the next.
    pub fn waits(&self) -> Vec<Duration> {
        self.script().seen.windows(2).map(|pair| pair[1].at - pair[0].at).collect()
    }

    /// What each attempt carried in this header.
    pub fn header(&self, name: &str) -> Vec<Option<String>> {
        let text = |headers: &HeaderMap| Some(headers.get(name)?.to_str().expect("text").to_owned());
        self.script().seen.iter().map(|seen| text(seen.request.headers())).collect()
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().expect("a lock")
    }
}

impl Script {
    /// The last step stays.
    fn next(&mut self) -> Step {
        match self.steps.len() {
            0 => panic!("the script has no step for this attempt"),
            1 => self.steps[0].again(),
            _ => self.steps.pop_front().expect("more than one"),
        }
    }

    /// The next step, if it is one of the service and not of an attempt.
    fn ready_after(&mut self) -> Option<Duration> {
        let Some(Step::ReadyAfter(time)) = self.steps.front() else { return None };
        let time = *time;
        self.next();
        Some(time)
    }

    fn not_ready(&mut self) -> Option<BoxError> {
        let Some(Step::NotReady(_)) = self.steps.front() else { return None };
        let Step::NotReady(error) = self.next() else { unreachable!("just seen") };
        Some(error)
    }
}

/// As it was: the clone has to be made ready.
impl Clone for Scripted {
    fn clone(&self) -> Self {
        let script = Arc::clone(&self.script);
        Self { script, ready: false, hesitates: self.hesitates, getting_ready: None }
    }
}

impl<B> Service<Request<B>> for Scripted
where
    B: Body<Data = Bytes>,
    B::Error: std::fmt::Debug,
{
    type Response = Response<ScriptedBody>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<ScriptedBody>, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        if !self.ready && self.getting_ready.is_none() {
            let time = self.script().ready_after().unwrap_or(self.hesitates);
            if !time.is_zero() {
                let counted = Counted::new(&self.script, |script| &mut script.getting_ready);
                self.getting_ready = Some((Box::pin(sleep(time)), counted));
            }
        }
        if let Some((wait, _)) = &mut self.getting_ready {
            ready!(wait.as_mut().poll(cx));
            self.getting_ready = None;
        }
        if let Some(error) = self.script().not_ready() {
            return Poll::Ready(Err(error));
        }
        self.ready = true;
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        assert!(std::mem::take(&mut self.ready), "called without having been ready");
        let request =
            request.map(|body| body.collect().now_or_never().expect("in memory").expect("no error").to_bytes());
        let mut script = self.script();
        script.seen.push(Seen { at: Instant::now(), request });
        let step = script.next();
        drop(script);
        let under_way = Counted::new(&self.script, |script| &mut script.in_flight);
        Box::pin(async move {
            let answer = match step {
                Step::Answer(response) => Ok(response),
                Step::Late(after, response) => {
                    tokio::time::sleep(after).await;
                    Ok(response)
                }
                Step::Fail(error) | Step::NotReady(error) => Err(error),
                Step::Never => future::pending().await,
                Step::ReadyAfter(_) => panic!("the script has no step for this attempt"),
            };
            let open = Counted::new(&under_way.script, |script| &mut script.open_bodies);
            answer.map(|response| response.map(|body| Open { body, _counted: open }.boxed()))
        })
    }
}

/// Counted until it is dropped.
struct Counted {
    script: Arc<Mutex<Script>>,
    counter: fn(&mut Script) -> &mut usize,
}

impl Counted {
    fn new(script: &Arc<Mutex<Script>>, counter: fn(&mut Script) -> &mut usize) -> Self {
        *counter(&mut script.lock().expect("a lock")) += 1;
        Self { script: Arc::clone(script), counter }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        *(self.counter)(&mut self.script.lock().expect("a lock")) -= 1;
    }
}

impl std::fmt::Debug for Counted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Counted").finish_non_exhaustive()
    }
}

/// The body of an answer, counted while it is there.
struct Open {
    body: ScriptedBody,
    _counted: Counted,
}

impl Body for Open {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
