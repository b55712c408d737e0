//! Faults between a client and a server, in process or in front of a server on the wire.

use std::{
    collections::VecDeque,
    io::{self, ErrorKind},
    mem,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard},
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::Body;
use http_body_util::BodyExt;
use tokio::sync::watch;
use tower::{BoxError, Layer, Service};

use crate::{
    app::{Payload, answer, payload},
    body::ScriptedBody,
    clock::comes,
};

/// What happens to one request, or to its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    Pass,
    /// Nobody listens. In process only: a server that reads the request has accepted its connection.
    Refused,
    /// The connection breaks before the server has seen the request.
    ResetBefore,
    /// Something in the middle answers, and the server does not see the request.
    AnsweredBefore(StatusCode),
    /// The server does the work, and the connection breaks before a byte of its answer.
    LoseAnswer,
    /// The server does the work, and the connection breaks in the middle of the body of its answer.
    CutAnswer,
    /// The server does the work, and its answer takes so much longer.
    LateAnswer(Duration),
}

/// A layer that gives each request the next fault of a list. Clones share the list.
#[derive(Clone, Debug)]
pub struct Faults {
    list: Arc<Mutex<VecDeque<Fault>>>,
    after: Fault,
    seen: Arc<watch::Sender<usize>>,
}

/// Made by [`Faults`].
#[derive(Clone, Debug)]
pub struct Faulty<S> {
    inner: S,
    faults: Faults,
}

impl Faults {
    /// These, one request each; then nothing happens any more.
    pub fn first(faults: impl IntoIterator<Item = Fault>) -> Self {
        Self { list: Arc::new(Mutex::new(faults.into_iter().collect())), after: Fault::Pass, seen: Arc::default() }
    }

    /// This one, for each request.
    pub fn always(fault: Fault) -> Self {
        Self { after: fault, ..Self::first([]) }
    }

    /// No faults.
    pub fn none() -> Self {
        Self::first([])
    }

    /// How many requests there were.
    pub fn requests(&self) -> usize {
        *self.seen.borrow()
    }

    /// Waits until there were so many requests.
    pub async fn saw(&self, requests: usize) {
        comes(self.seen.subscribe().wait_for(|seen| *seen >= requests)).await.expect("the sender is here");
    }

    fn next(&self) -> Fault {
        self.seen.send_modify(|seen| *seen += 1);
        self.list().pop_front().unwrap_or(self.after)
    }

    fn list(&self) -> MutexGuard<'_, VecDeque<Fault>> {
        self.list.lock().expect("no panic while it is held")
    }
}

impl<S> Layer<S> for Faults {
    type Service = Faulty<S>;

    fn layer(&self, inner: S) -> Faulty<S> {
        Faulty { inner, faults: self.clone() }
    }
}

impl<S, B, R> Service<Request<B>> for Faulty<S>
where
    S: Service<Request<B>, Response = Response<R>, Error: Into<BoxError>, Future: Send> + Clone + Send + 'static,
    B: Send + 'static,
    R: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    type Response = Response<Payload>;
    /// Behind a server it closes the connection.
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Payload>, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let fault = self.faults.next();
        // The one that is ready; its clone would have to be asked first.
        let fresh = self.inner.clone();
        let mut server = mem::replace(&mut self.inner, fresh);
        Box::pin(async move {
            match fault {
                Fault::Refused => return Err(io::Error::from(ErrorKind::ConnectionRefused).into()),
                Fault::ResetBefore => return Err(reset()),
                Fault::AnsweredBefore(status) => return Ok(answer(status, "")),
                Fault::Pass | Fault::LoseAnswer | Fault::CutAnswer | Fault::LateAnswer(_) => {}
            }
            let answer = server.call(request).await.map_err(Into::into)?;
            match fault {
                Fault::LoseAnswer => Err(reset()),
                Fault::CutAnswer => cut(answer).await,
                Fault::LateAnswer(after) => {
                    tokio::time::sleep(after).await;
                    Ok(answer.map(payload))
                }
                Fault::Pass | Fault::Refused | Fault::ResetBefore | Fault::AnsweredBefore(_) => Ok(answer.map(payload)),
            }
        })
    }
}

fn reset() -> BoxError {
    io::Error::from(ErrorKind::ConnectionReset).into()
}

/// Half of the body, then a failure. A server has the time to send the half: a body that fails at once takes the head
/// with it.
async fn cut<R>(answer: Response<R>) -> Result<Response<Payload>, BoxError>
where
    R: Body<Data = Bytes, Error: Into<BoxError>>,
{
    let (head, body) = answer.into_parts();
    let body = body.collect().await.map_err(Into::into)?.to_bytes();
    let half = body.slice(..body.len() / 2);
    let cut = ScriptedBody::streaming().sized(body.len() as u64).data(half).pause(Duration::from_millis(10)).fails();
    Ok(Response::from_parts(head, payload(cut)))
}
