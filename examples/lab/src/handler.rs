//! A handler that remembers its calls and answers as it is told.

use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode, request::Parts};
use http_body::Body;
use http_body_util::BodyExt;
use tokio::sync::{Semaphore, watch};
use tower::Service;

use crate::body::{Broken, ScriptedBody};

/// What a handler answers.
pub type Reply = Result<Response<ScriptedBody>, Broken>;

type Running = Pin<Box<dyn Future<Output = Reply> + Send>>;

/// One call of a handler.
#[derive(Clone, Debug)]
pub struct Call {
    /// 1 for the first.
    pub run: usize,
    /// All of the request but its body.
    pub parts: Parts,
    /// The bytes of the body.
    pub body: Bytes,
    /// What came after them.
    pub trailers: Option<HeaderMap>,
}

/// A handler that remembers its calls. A clone is the same handler.
#[derive(Clone)]
pub struct Handler {
    script: Arc<dyn Fn(Call) -> Running + Send + Sync>,
    calls: Arc<watch::Sender<Vec<Call>>>,
}

impl Handler {
    /// Runs this for each call, after the request's body has been read.
    pub fn scripted<F, R>(script: F) -> Self
    where
        F: Fn(Call) -> R + Send + Sync + 'static,
        R: Future<Output = Reply> + Send + 'static,
    {
        Self { script: Arc::new(move |call| Box::pin(script(call))), calls: Arc::default() }
    }

    /// Answers each call with this.
    pub fn answering(answer: impl Fn(Call) -> Response<ScriptedBody> + Send + Sync + 'static) -> Self {
        Self::scripted(move |call| std::future::ready(Ok(answer(call))))
    }

    /// Answers each call with its number: 201, `run 1`.
    pub fn numbered() -> Self {
        Self::answering(|call| numbered(call.run))
    }

    /// Answers each call with its number, once there is a permit for it.
    pub fn numbered_at(gate: &Arc<Semaphore>) -> Self {
        Self::numbered_at_each([gate])
    }

    /// Answers each call with its number: the first waits for a permit of the first gate, and so on; those beyond
    /// the last gate wait there.
    pub fn numbered_at_each<'a>(gates: impl IntoIterator<Item = &'a Arc<Semaphore>>) -> Self {
        let gates: Vec<_> = gates.into_iter().map(Arc::clone).collect();
        Self::scripted(move |call| {
            let gate = Arc::clone(gates.get(call.run - 1).or(gates.last()).expect("a gate"));
            async move {
                gate.acquire().await.expect("never closed").forget();
                Ok(numbered(call.run))
            }
        })
    }

    /// How often it was called.
    pub fn runs(&self) -> usize {
        self.calls.borrow().len()
    }

    /// A call, 1 for the first.
    pub fn call_number(&self, run: usize) -> Call {
        self.calls.borrow()[run - 1].clone()
    }

    /// Waits until it has been called so often.
    pub async fn started(&self, runs: usize) {
        self.calls.subscribe().wait_for(|calls| calls.len() >= runs).await.expect("the sender is here");
    }

    fn remember(&self, parts: Parts, body: Bytes, trailers: Option<HeaderMap>) -> Call {
        let mut this = None;
        self.calls.send_modify(|calls| {
            let call = Call { run: calls.len() + 1, parts, body, trailers };
            calls.push(call.clone());
            this = Some(call);
        });
        this.expect("set above")
    }
}

impl<B> Service<Request<B>> for Handler
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: fmt::Debug + Send,
{
    type Response = Response<ScriptedBody>;
    type Error = Broken;
    type Future = Running;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Broken>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Running {
        let handler = self.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await.expect("a body that does not fail");
            let trailers = body.trailers().cloned();
            let call = handler.remember(parts, body.to_bytes(), trailers);
            (handler.script)(call).await
        })
    }
}

impl fmt::Debug for Handler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handler").field("runs", &self.runs()).finish_non_exhaustive()
    }
}

/// A response of this status.
pub fn response(status: u16, body: impl Into<ScriptedBody>) -> Response<ScriptedBody> {
    let mut response = Response::new(body.into());
    *response.status_mut() = StatusCode::from_u16(status).expect("a status");
    response
}

/// 201, `run 1`.
pub fn numbered(run: usize) -> Response<ScriptedBody> {
    response(201, format!("run {run}"))
}
