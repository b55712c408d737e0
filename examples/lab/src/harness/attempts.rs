//! The list of attempts, written below the retry layer.

use std::{
    fmt, mem,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard},
    task::{Context, Poll},
    time::Duration,
};

use http::{HeaderMap, Request, Response};
use serde::{Serialize, Serializer};
use tokio::time::Instant;
use tower::{BoxError, Layer, Service};
use tower_idempotency::{
    IdempotencyKey,
    key::{IDEMPOTENCY_KEY, KeySyntax},
    retry::Repeat,
};

use super::ToolCall;
use crate::{
    bug_tracker::reports::NewReport,
    causes::with_causes,
    watch::{Before, Event, Watch},
};

/// One attempt that has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Attempt {
    /// 1 for the first.
    pub number: u32,
    /// The key that it carried on the wire.
    pub key: Option<String>,
    /// How it ended.
    #[serde(flatten)]
    pub end: AttemptEnd,
    /// Whether its answer is marked as the stored one of an earlier attempt.
    pub replayed: bool,
    /// From the begin of the submission until this attempt began.
    #[serde(rename = "after_ms", serialize_with = "milliseconds")]
    pub after: Duration,
    /// How long it took.
    #[serde(rename = "took_ms", serialize_with = "milliseconds")]
    pub took: Duration,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum AttemptEnd {
    /// It was answered.
    Status {
        /// With this status.
        status: u16,
    },
    /// There was no answer, or only a part of one.
    Transport {
        /// Why.
        error: String,
    },
    /// The harness waited no longer.
    Timeout,
}

/// The attempts of one submission; goes with the request from the caller to each attempt.
#[derive(Clone, Debug)]
pub(super) struct Attempts {
    begun: Instant,
    list: Arc<Mutex<Vec<Attempt>>>,
    watch: Watch,
    title: String,
    tool_use_id: String,
}

/// Enters each attempt into the list that its request carries.
#[derive(Clone, Copy, Debug)]
pub(super) struct ListAttempts;

#[derive(Clone, Debug)]
pub(super) struct Listing<S> {
    inner: S,
}

impl Attempts {
    pub(super) fn new(watch: Watch, report: &NewReport, call: &ToolCall) -> Self {
        let (title, tool_use_id) = (report.title.clone(), call.tool_use_id.clone());
        Self { begun: Instant::now(), list: Arc::default(), watch, title, tool_use_id }
    }

    pub(super) fn take(&self) -> Vec<Attempt> {
        mem::take(&mut self.list())
    }

    fn list(&self) -> MutexGuard<'_, Vec<Attempt>> {
        self.list.lock().expect("no panic while it is held")
    }
}

impl<S> Layer<S> for ListAttempts {
    type Service = Listing<S>;

    fn layer(&self, inner: S) -> Listing<S> {
        Listing { inner }
    }
}

impl<S, B, R> Service<Request<B>> for Listing<S>
where
    S: Service<Request<B>, Response = Response<R>, Error = BoxError, Future: Send + 'static>,
{
    type Response = Response<R>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<R>, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let mut under_way = UnderWay::begin(&request);
        if let Some(name) = under_way.watch.name() {
            name.write(request.headers_mut());
        }
        let answer = self.inner.call(request);
        Box::pin(async move {
            // Nothing is sent before that future is polled.
            under_way.sending().await;
            let answer = answer.await;
            under_way.ended(&answer);
            answer
        })
    }
}

/// Entered into the list when it is dropped: an attempt that is dropped before its end is one that timed out.
struct UnderWay {
    attempts: Attempts,
    attempt: Attempt,
    begun: Instant,
    watch: Watch,
}

impl UnderWay {
    fn begin<B>(request: &Request<B>) -> Self {
        let attempts: Attempts = request.extensions().get().cloned().expect("a submission has a list");
        let begun = Instant::now();
        let attempt = Attempt {
            number: request.extensions().get::<Repeat>().map_or(1, |repeat| repeat.number()),
            key: key(request.headers()),
            end: AttemptEnd::Timeout,
            replayed: false,
            after: begun - attempts.begun,
            took: Duration::ZERO,
        };
        let watch = attempts.watch.attempt(attempt.number);
        Self { attempts, attempt, begun, watch }
    }

    async fn sending(&self) {
        self.watch.hold(Before::Sending).await;
        let before = self.attempts.list().last().map(|last| last.after + last.took);
        if let Some(before) = before {
            let wait = self.attempt.after.saturating_sub(before);
            self.watch.saw(Event::Waited { wait_ms: wait.as_secs_f64() * 1000.0 });
        }
        let Attempts { title, tool_use_id, .. } = self.attempts.clone();
        self.watch.saw(Event::Sent { key: self.attempt.key.clone(), tool_use_id, title });
    }

    fn ended<R>(&mut self, answer: &Result<Response<R>, BoxError>) {
        match answer {
            Ok(answer) => {
                self.attempt.end = AttemptEnd::Status { status: answer.status().as_u16() };
                self.attempt.replayed = is_replay(answer.headers());
                let (status, replayed) = (answer.status().as_u16(), self.attempt.replayed);
                self.watch.saw(Event::Received { status, replayed });
            }
            Err(error) => {
                self.attempt.end = AttemptEnd::Transport { error: with_causes(&**error) };
                self.watch.saw(Event::NoAnswer);
            }
        }
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.attempt.took = self.begun.elapsed();
        self.attempts.list().push(self.attempt.clone());
    }
}

/// Whether the server marked the answer as stored.
pub(super) fn is_replay(headers: &HeaderMap) -> bool {
    headers.get("idempotency-replayed").is_some_and(|mark| mark == "true")
}

fn key(headers: &HeaderMap) -> Option<String> {
    let longest = IdempotencyKey::DEFAULT_MAX_LEN;
    let key = IdempotencyKey::from_headers(headers, &IDEMPOTENCY_KEY, KeySyntax::Strict, longest);
    key.expect("written by the harness").map(|key| key.to_string())
}

fn milliseconds<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64() * 1000.0)
}

/// As the articles name it: `201`, `transport`, `timeout`.
impl fmt::Display for AttemptEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status { status } => f.pad(&status.to_string()),
            Self::Transport { .. } => f.pad("transport"),
            Self::Timeout => f.pad("timeout"),
        }
    }
}
