//! An HTTP client whose answers are written down: each attempt takes the next step of a script.

use std::{
    collections::VecDeque,
    future,
    io::{self, ErrorKind},
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard},
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures_util::FutureExt;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body::Body;
use http_body_util::{BodyExt, Full, combinators::BoxBody};
use tokio::time::Instant;
use tower::{BoxError, Service};

/// The body of a scripted answer.
pub type ScriptedBody = BoxBody<Bytes, BoxError>;

/// What happens to one attempt.
pub enum Step {
    /// It is answered at once.
    Answer(Response<ScriptedBody>),
    /// It is answered after a while.
    Late(Duration, Response<ScriptedBody>),
    /// It fails at once.
    Fail(BoxError),
    /// It is never answered.
    Never,
    /// The service was not ready for it.
    NotReady(BoxError),
}

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
}

#[derive(Debug, Default)]
struct Script {
    steps: VecDeque<Step>,
    seen: Vec<Seen>,
    /// Attempts that are under way.
    in_flight: usize,
}

impl Scripted {
    /// Plays these steps; none is a script for no attempt at all.
    pub fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        let script = Script { steps: steps.into_iter().collect(), ..Script::default() };
        Self { script: Arc::new(Mutex::new(script)), ready: false }
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
}

/// As it was: the clone has to be made ready.
impl Clone for Scripted {
    fn clone(&self) -> Self {
        Self { script: Arc::clone(&self.script), ready: false }
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

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        if let Some(Step::NotReady(_)) = self.script().steps.front() {
            let Step::NotReady(error) = self.script().next() else { unreachable!("just seen") };
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
        script.in_flight += 1;
        let step = script.next();
        drop(script);
        let under_way = UnderWay(Arc::clone(&self.script));
        Box::pin(async move {
            let _under_way = under_way;
            match step {
                Step::Answer(response) => Ok(response),
                Step::Late(after, response) => {
                    tokio::time::sleep(after).await;
                    Ok(response)
                }
                Step::Fail(error) | Step::NotReady(error) => Err(error),
                Step::Never => future::pending().await,
            }
        })
    }
}

/// Counts an attempt until it ends or is dropped.
struct UnderWay(Arc<Mutex<Script>>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.lock().expect("a lock").in_flight -= 1;
    }
}

impl Step {
    /// Answers with this status and no body.
    pub fn status(status: u16) -> Self {
        Self::Answer(answer(status, &[], ""))
    }

    /// Answers with this status and these headers.
    pub fn with_headers(status: u16, headers: &[(&'static str, &str)]) -> Self {
        Self::Answer(answer(status, headers, ""))
    }

    /// Fails with an error of the transport, as an HTTP client does: nothing is known of the request.
    pub fn reset() -> Self {
        Self::Fail(io::Error::from(ErrorKind::ConnectionReset).into())
    }

    /// Fails to connect.
    pub fn refused() -> Self {
        Self::Fail(io::Error::from(ErrorKind::ConnectionRefused).into())
    }

    /// Only the bodies that are empty or in memory can be answered twice, and errors of the transport.
    fn again(&mut self) -> Self {
        match self {
            Self::Answer(response) => Self::Answer(answer_again(response)),
            Self::Late(after, response) => Self::Late(*after, answer_again(response)),
            Self::Fail(error) => Self::Fail(error_again(error)),
            Self::NotReady(error) => Self::NotReady(error_again(error)),
            Self::Never => Self::Never,
        }
    }
}

impl std::fmt::Debug for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Answer(response) => write!(f, "Answer({})", response.status()),
            Self::Late(after, response) => write!(f, "Late({after:?}, {})", response.status()),
            Self::Fail(error) => write!(f, "Fail({error})"),
            Self::Never => f.write_str("Never"),
            Self::NotReady(error) => write!(f, "NotReady({error})"),
        }
    }
}

/// A response with its body in memory.
pub fn answer(status: u16, headers: &[(&'static str, &str)], body: impl Into<Bytes>) -> Response<ScriptedBody> {
    let mut response = Response::new(Full::new(body.into()).map_err(|never| match never {}).boxed());
    *response.status_mut() = StatusCode::from_u16(status).expect("a status");
    for (name, value) in headers {
        response.headers_mut().append(*name, value.parse().expect("a header value"));
    }
    response
}

/// The same head, and no body: a test that needs a body in each answer writes each answer.
fn answer_again(response: &mut Response<ScriptedBody>) -> Response<ScriptedBody> {
    let mut again = answer(response.status().as_u16(), &[], "");
    *again.headers_mut() = response.headers().clone();
    std::mem::replace(response, again)
}

fn error_again(error: &mut BoxError) -> BoxError {
    let again = match error.downcast_ref::<io::Error>() {
        Some(error) => io::Error::from(error.kind()).into(),
        None => error.to_string().into(),
    };
    std::mem::replace(error, again)
}
