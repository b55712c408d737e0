//! The faults of the article: counters that a client sets, and that requests use up.
//!
//! [`Counters`] says what each does. A [`Meeting`] is no fault: it makes two requests overlap, without luck.

use std::{
    io::{self, ErrorKind},
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use axum::{
    Json, Router,
    body::Body,
    extract::{FromRequest, Request, State},
    middleware::Next,
    response::Response,
    routing::get,
};
use futures_util::stream;
use http::{HeaderValue, StatusCode, header};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tower_idempotency::key::IDEMPOTENCY_REPLAYED;

use super::{json, problem::Problem};
use crate::watch::door::Lost;

/// How often each fault is still to strike. Zero: never.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// So many reports are committed, and the connection is closed without a byte of the answer.
    pub lose_response_after_commit: u32,
    /// So many requests fail with 500 where their server is weakest: `naive` after it has committed the report, `key_split`
    /// between its two commits, `key_atomic` between the claim and the commit.
    pub crash_mid_request: u32,
    /// The next request takes so many milliseconds longer, after the look-up or the claim and before the write.
    pub slow_ms: u64,
}

/// The counters that a client sets; the others stay.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(missing_docs, reason = "named as the counters")]
pub struct NewCounters {
    pub lose_response_after_commit: Option<u32>,
    pub crash_mid_request: Option<u32>,
    pub slow_ms: Option<u64>,
}

/// The faults of one server. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Faults(Arc<Mutex<Set>>);

#[derive(Debug, Default)]
struct Set {
    counters: Counters,
    meeting: Option<Meeting>,
}

impl Faults {
    /// Sets what is named, and returns what is set now.
    pub fn set(&self, new: NewCounters) -> Counters {
        let counters = &mut self.lock().counters;
        let NewCounters { lose_response_after_commit, crash_mid_request, slow_ms } = new;
        counters.lose_response_after_commit = lose_response_after_commit.unwrap_or(counters.lose_response_after_commit);
        counters.crash_mid_request = crash_mid_request.unwrap_or(counters.crash_mid_request);
        counters.slow_ms = slow_ms.unwrap_or(counters.slow_ms);
        *counters
    }

    /// What is set now.
    pub fn counters(&self) -> Counters {
        self.lock().counters
    }

    /// Makes the next requests wait for each other.
    pub fn arrange(&self, meeting: Meeting) {
        self.lock().meeting = Some(meeting);
    }

    /// Stands between the look-up and the write.
    pub(super) async fn before_the_write(&self) {
        let (slow, meeting) = {
            let mut set = self.lock();
            (std::mem::take(&mut set.counters.slow_ms), set.meeting.clone())
        };
        tokio::time::sleep(Duration::from_millis(slow)).await;
        if let Some(meeting) = meeting {
            meeting.arrive().await;
        }
    }

    /// Stands where the server is weakest.
    pub(super) fn crash(&self) -> Result<(), Problem> {
        if take_one(&mut self.lock().counters.crash_mid_request) { Err(Problem::crashed()) } else { Ok(()) }
    }

    fn lock(&self) -> MutexGuard<'_, Set> {
        self.0.lock().expect("no panic while it is held")
    }
}

fn take_one(counter: &mut u32) -> bool {
    let some = *counter > 0;
    *counter = counter.saturating_sub(1);
    some
}

/// Two or more requests that overlap: none writes until so many have passed the look-up or were refused with 409.
#[derive(Clone, Debug)]
pub struct Meeting {
    requests: usize,
    came: watch::Sender<usize>,
}

impl Meeting {
    /// Of so many requests. Those that come later find it open.
    pub fn of(requests: usize) -> Self {
        Self { requests, came: watch::Sender::new(0) }
    }

    /// Waits until so many came.
    pub async fn saw(&self, requests: usize) {
        self.came.subscribe().wait_for(|came| *came >= requests).await.expect("the sender is here");
    }

    /// Whether all came.
    pub fn took_place(&self) -> bool {
        *self.came.borrow() >= self.requests
    }

    async fn arrive(&self) {
        self.count();
        self.saw(self.requests).await;
    }

    fn count(&self) {
        self.came.send_modify(|came| *came += 1);
    }
}

/// `/faults`: GET shows the counters, POST sets them.
pub(super) fn routes(faults: Faults) -> Router {
    Router::new().route("/faults", get(show).post(set)).with_state(faults)
}

async fn show(State(faults): State<Faults>) -> Json<Counters> {
    Json(faults.counters())
}

async fn set(State(faults): State<Faults>, new: NewCounters) -> Json<Counters> {
    Json(faults.set(new))
}

impl<S: Send + Sync> FromRequest<S> for NewCounters {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        json::read_object(request, state).await
    }
}

/// Stands outside of everything else, where what a request did is committed.
pub(super) async fn on_the_way_out(State(faults): State<Faults>, response: Response) -> Response {
    let mut set = faults.lock();
    if let (StatusCode::CONFLICT, Some(meeting)) = (response.status(), &set.meeting) {
        meeting.count();
    }
    let is_replay = response.headers().get(IDEMPOTENCY_REPLAYED).is_some_and(|mark| mark == "true");
    if response.status() == StatusCode::CREATED && !is_replay && take_one(&mut set.counters.lose_response_after_commit)
    {
        let mut lost = response.map(|_| fails_at_once());
        lost.extensions_mut().insert(Lost);
        return lost;
    }
    response
}

/// A browser whose request gets no answer on a connection that has served another one sends it again by itself, a POST
/// too, and nobody sees the loss. So none of its connections serves two.
pub(super) async fn one_request_a_connection(request: Request, next: Next) -> Response {
    let agent = request.headers().get(header::USER_AGENT);
    let is_browser = agent.is_some_and(|agent| agent.as_bytes().starts_with(b"Mozilla/"));
    let mut response = next.run(request).await;
    if is_browser {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// hyper writes the head together with the first piece of the body; a body that fails before it has one takes the head
/// with it, and hyper closes the connection.
fn fails_at_once() -> Body {
    Body::from_stream(stream::iter([Err::<bytes::Bytes, _>(io::Error::from(ErrorKind::ConnectionReset))]))
}
