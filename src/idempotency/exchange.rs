//! One keyed exchange, top to bottom: read, claim, run, record | replay | refuse.

use std::{any::Any, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::FutureExt;
use http::{
    HeaderMap, HeaderValue, Request, Response, StatusCode,
    header::{ACCEPT_ENCODING, CONTENT_LENGTH},
    request::Parts,
    response,
};
use http_body::Body;
use http_body_util::LengthLimitError;
use tokio::{
    sync::OwnedSemaphorePermit,
    time::{Instant, timeout_at},
};
use tower::{BoxError, Service};

use super::{
    body::{self, MaybeHeld, ReadLimits, Unread},
    claim::{Claim, Unclaimed},
    commit::{CommitState, Ended},
    guard::Guard,
    in_place::Caller,
    lease::{self, Closed, Lease},
    metrics::{self, Seen},
    recording::{self, Verdict},
    rejection::RejectionKind,
    scope::Refusal,
    settings::{Settings, ends_at, whole_seconds},
};
use crate::{
    IdempotencyKey,
    store::{ClaimRequest, Claimed, Found, Outcome, Store, StoreError, StoredResponse, Token},
};

/// What an exchange answers, or the inner service's error.
pub(super) type Answer<R, E> = Result<Response<MaybeHeld<R>>, E>;

/// Everything that one exchange works with.
pub(super) struct Exchange<S: Store> {
    pub(super) guard: Arc<Guard<S>>,
    pub(super) key: IdempotencyKey,
    pub(super) caller: Caller,
}

/// A claim that was granted.
struct Granted {
    token: Token,
    attempt: u32,
    asked_at: Instant,
}

/// Why a request that wanted to run does not run guarded.
enum NotGranted {
    Answered(Response<Bytes>),
    /// The store failed, and the layer is set to serve all the same.
    Unprotected,
}

/// How the inner service ended.
enum Ran<R, E> {
    Response(Response<R>),
    Error(E),
    Panic(Box<dyn Any + Send>),
    OutOfTime,
}

impl<S: Store> Exchange<S> {
    pub(super) async fn run<I, B, R>(self, inner: I, request: Request<B>) -> Answer<R, I::Error>
    where
        I: Service<Request<MaybeHeld<B>>, Response = Response<R>>,
        B: Body<Data = Bytes>,
        B::Error: Into<BoxError>,
        R: Body<Data = Bytes>,
    {
        let (parts, body) = request.into_parts();
        let read = async { self.identify(&parts, body).await };
        let (claim, body) = match self.caller.while_present(read).await {
            Some(Ok(identified)) => identified,
            Some(Err(refusal)) => return Ok(refusal.map(MaybeHeld::whole)),
            None => return Ok(self.settings().refuse(RejectionKind::UnreadableBody).map(MaybeHeld::whole)),
        };
        match self.acquire(&claim).await {
            Ok(granted) => self.execute(inner, parts, body, claim, granted).await,
            Err(NotGranted::Answered(answer)) => Ok(answer.map(MaybeHeld::whole)),
            Err(NotGranted::Unprotected) => self.serve_unprotected(inner, parts, body).await,
        }
    }

    /// Whose request it is, and which: nothing is claimed yet.
    async fn identify<B>(&self, parts: &Parts, body: B) -> Result<(ClaimRequest, MaybeHeld<B>), Response<Bytes>>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<BoxError>,
    {
        let settings = self.settings();
        let key = settings.scope.of(parts, &self.key).map_err(Refusal::into_response)?;
        let limit = settings.max_request_body;
        let body = body::read_whole(body, limit).await.map_err(|unread| {
            settings.refuse(match unread {
                Unread::TooLarge => RejectionKind::BodyTooLarge { limit },
                Unread::Failed(error) => unreadable(&*error.into(), limit),
            })
        })?;
        let bytes = body.held_bytes().unwrap_or_default();
        let fingerprint = (settings.fingerprint)(parts, &bytes);
        let (lease, retention) = (settings.lease, settings.retention);
        Ok((ClaimRequest { key, fingerprint, lease, retention }, body))
    }

    /// Claims the key; where it is in flight and the layer waits, asks again at growing intervals.
    async fn acquire(&self, request: &ClaimRequest) -> Result<Granted, NotGranted> {
        let mut waiting = None;
        loop {
            let asked_at = Instant::now();
            match self.ask(request).await {
                Ok(Claimed::Acquired { token, attempt }) => {
                    if attempt > 1 {
                        metrics::holder_seen(Seen::TakenOver, &token);
                    }
                    return Ok(Granted { token, attempt, asked_at });
                }
                Ok(Claimed::InFlight { lease_left }) => {
                    let waiting = waiting.get_or_insert_with(|| Waiting::begin(self.settings()));
                    let pause = waiting.as_mut().and_then(|waiting| waiting.next_pause(lease_left));
                    let slept = match pause {
                        Some(pause) => self.caller.while_present(tokio::time::sleep(pause)).await,
                        None => None,
                    };
                    if slept.is_none() {
                        return Err(NotGranted::Answered(self.in_progress(request, lease_left)));
                    }
                }
                Ok(Claimed::Done(stored)) => return Err(NotGranted::Answered(self.replay(request, stored))),
                Ok(Claimed::NotReplayable(original)) => {
                    return Err(NotGranted::Answered(self.not_replayable(request, original)));
                }
                Ok(Claimed::Mismatch(differs)) => {
                    metrics::key_seen(Seen::Mismatch, &request.key);
                    let kind = RejectionKind::KeyReused(differs);
                    return Err(NotGranted::Answered(self.settings().refuse(kind)));
                }
                Err(error) => {
                    metrics::store_failed("claim", &request.key, &error);
                    return Err(if self.settings().serve_unprotected {
                        NotGranted::Unprotected
                    } else {
                        NotGranted::Answered(self.settings().refuse(RejectionKind::StoreUnavailable))
                    });
                }
            }
        }
    }

    /// One claim. Past its limit it is awaited in the background, and given back if it was granted after all.
    async fn ask(&self, request: &ClaimRequest) -> Result<Claimed, StoreError> {
        let (lease, timeout) = (request.lease, self.settings().store_timeout);
        let started = Instant::now();
        let mut claiming = Box::pin({
            let (store, request) = (self.guard.store.clone(), request.clone());
            async move { store.claim(&request).await }
        });
        let answer = tokio::time::timeout(timeout, &mut claiming).await;
        metrics::claim_took(started.elapsed());
        answer.unwrap_or_else(|silence| {
            let store = self.guard.store.clone();
            self.guard.tasks().spawn(async move {
                if let Ok(Claimed::Acquired { token, .. }) = lease::answer_within(lease, claiming).await {
                    lease::release_within_one_lease(store, token, lease, timeout).await;
                }
            });
            Err(StoreError::transient(silence))
        })
    }

    /// Runs the request as the holder of its key.
    async fn execute<I, B, R>(
        &self,
        inner: I,
        mut parts: Parts,
        body: MaybeHeld<B>,
        request: ClaimRequest,
        granted: Granted,
    ) -> Answer<R, I::Error>
    where
        I: Service<Request<MaybeHeld<B>>, Response = Response<R>>,
        B: Body<Data = Bytes>,
        R: Body<Data = Bytes>,
    {
        let settings = self.settings();
        let commit = CommitState::new();
        let lease = Lease::keep(
            self.guard.store.clone(),
            granted.token.clone(),
            (settings.lease, settings.store_timeout),
            granted.asked_at,
            commit.clone(),
            self.guard.tasks().clone(),
        );
        parts.extensions.insert(Claim::new(
            self.guard.store.clone(),
            self.key.clone(),
            granted.token,
            granted.attempt,
            commit.clone(),
            (settings.recorder.clone(), settings.store_timeout),
        ));
        if !settings.keep_accept_encoding {
            // What is stored has to be readable by every repeat, whatever encodings it accepts.
            parts.headers.remove(ACCEPT_ENCODING);
        }
        let run_until = ends_at(settings.max_run);
        let ran = call(inner, Request::from_parts(parts, body), run_until).await;
        match commit.end(settings.store_timeout).await {
            Ended::Open => self.record(ran, lease, &request, run_until).await,
            Ended::Committed(response) => {
                metrics::holder_seen(Seen::Executed, lease.token());
                lease.leave_to_lapse();
                self.guard.warn_once_if(other_than(&ran, &response));
                Ok(self.marked(response.map(MaybeHeld::whole), "false"))
            }
            Ended::Passed => {
                metrics::holder_seen(Seen::FencedOut, lease.token());
                lease.leave_to_lapse();
                Ok(self.answer_of_passed(&request).await.map(MaybeHeld::whole))
            }
            Ended::Unknown => {
                tracing::error!(key = request.key.key(), "whether a commit happened is unknown; the record decides");
                lease.leave_to_lapse();
                Ok(settings.refuse(RejectionKind::OutcomeUnknown).map(MaybeHeld::whole))
            }
        }
    }

    /// What becomes of the key and of the answer when nothing was committed (rule 13).
    async fn record<R, E>(
        &self,
        ran: Ran<R, E>,
        lease: Lease<S>,
        request: &ClaimRequest,
        run_until: Instant,
    ) -> Answer<R, E>
    where
        R: Body<Data = Bytes>,
    {
        let failed = |recorded| recording::judge_failure(self.settings().on_failure, recorded);
        let no_response = Outcome::NotReplayable(StatusCode::INTERNAL_SERVER_ERROR);
        match ran {
            Ran::Response(response) => Ok(self.record_response(response, lease, request, run_until).await),
            Ran::OutOfTime => {
                let response = self.settings().refuse(RejectionKind::RunTimedOut);
                let outcome = self.settings().recorder.outcome(&response);
                let closed = close(lease, failed(Verdict::Keep), outcome).await;
                Ok(self.answer(closed, response.map(MaybeHeld::whole), request).await)
            }
            Ran::Error(error) => match close(lease, failed(Verdict::Close), no_response).await {
                Closed::Passed => Ok(self.answer_of_passed(request).await.map(MaybeHeld::whole)),
                Closed::Kept | Closed::Failed => Err(error),
            },
            Ran::Panic(panic) => match close(lease, failed(Verdict::Close), no_response).await {
                Closed::Passed => Ok(self.answer_of_passed(request).await.map(MaybeHeld::whole)),
                Closed::Kept | Closed::Failed => std::panic::resume_unwind(panic),
            },
        }
    }

    /// Closes the key first; only then does anything of the response leave (rule 15).
    async fn record_response<R: Body<Data = Bytes>>(
        &self,
        response: Response<R>,
        lease: Lease<S>,
        request: &ClaimRequest,
        run_until: Instant,
    ) -> Response<MaybeHeld<R>> {
        let (parts, body) = response.into_parts();
        let verdict = self.settings().judge(&parts);
        let body = match verdict {
            Verdict::Keep => self.read_to_record(&parts, body, run_until).await,
            Verdict::Close | Verdict::GiveBack | Verdict::Hold => MaybeHeld::untouched(body),
        };
        let outcome = match body.held_bytes() {
            Some(bytes) => Outcome::Response(self.settings().recorder.stored(parts.status, &parts.headers, bytes)),
            None => Outcome::NotReplayable(parts.status),
        };
        let closed = close(lease, verdict, outcome).await;
        self.answer(closed, Response::from_parts(parts, body), request).await
    }

    /// Reads as much of a body as can be recorded; what streams, or is too large, is left as it is.
    async fn read_to_record<R: Body<Data = Bytes>>(
        &self,
        parts: &response::Parts,
        body: R,
        run_until: Instant,
    ) -> MaybeHeld<R> {
        let settings = self.settings();
        let limit = settings.recorder.limit;
        let size = body.size_hint();
        if size.lower() > limit as u64 || recording::streams_events(parts) {
            return MaybeHeld::untouched(body);
        }
        let stall = size.exact().is_none().then_some(settings.max_stall);
        body::read(body, ReadLimits { bytes: limit, stall, until: Some(run_until) }).await
    }

    /// The answer of one that ran, once its key is closed.
    async fn answer<R: Body<Data = Bytes>>(
        &self,
        closed: Closed,
        response: Response<MaybeHeld<R>>,
        request: &ClaimRequest,
    ) -> Response<MaybeHeld<R>> {
        match closed {
            Closed::Passed => self.answer_of_passed(request).await.map(MaybeHeld::whole),
            Closed::Kept | Closed::Failed => self.marked(response, "false"),
        }
    }

    /// The answer of one that was passed: the recorded response if it is the same request's, else 409 (rule 11).
    async fn answer_of_passed(&self, request: &ClaimRequest) -> Response<Bytes> {
        match lease::answer_within(self.settings().store_timeout, self.guard.store.lookup(request)).await {
            Ok(Found::Done(stored)) => self.replay(request, stored),
            Ok(Found::NotReplayable(original)) => self.not_replayable(request, original),
            Ok(Found::Absent | Found::Lapsed | Found::InFlight { .. } | Found::Mismatch(_)) => {
                self.settings().refuse(RejectionKind::TakenOver)
            }
            Err(error) => {
                metrics::store_failed("lookup", &request.key, &error);
                self.settings().refuse(RejectionKind::TakenOver)
            }
        }
    }

    fn replay(&self, request: &ClaimRequest, stored: StoredResponse) -> Response<Bytes> {
        metrics::key_seen(Seen::Replayed, &request.key);
        let mut response = Response::new(stored.body);
        *response.status_mut() = stored.status;
        *response.headers_mut() = stored.headers;
        self.marked(response, "true")
    }

    fn not_replayable(&self, request: &ClaimRequest, original: StatusCode) -> Response<Bytes> {
        metrics::key_seen(Seen::NotReplayable, &request.key);
        self.marked(self.settings().refuse(RejectionKind::NotReplayable { original }), "true")
    }

    /// 409 with a `Retry-After` that never exceeds what is left of the lease (rule 9).
    fn in_progress(&self, request: &ClaimRequest, lease_left: Duration) -> Response<Bytes> {
        metrics::key_seen(Seen::InFlight, &request.key);
        let mut rejection = self.settings().rejection(RejectionKind::InProgress);
        rejection.retry_after = Some(whole_seconds(self.settings().retry_after.min(lease_left)));
        self.settings().render(rejection)
    }

    /// Sets the layer's mark; a handler's own copy is none.
    fn marked<T>(&self, mut response: Response<T>, replayed: &'static str) -> Response<T> {
        if let Some(marker) = &self.settings().recorder.marker {
            response.headers_mut().insert(marker.clone(), HeaderValue::from_static(replayed));
        }
        response
    }

    /// The store failed at the claim, and the layer is set to serve all the same (rule 17).
    async fn serve_unprotected<I, B, R>(&self, inner: I, mut parts: Parts, body: MaybeHeld<B>) -> Answer<R, I::Error>
    where
        I: Service<Request<MaybeHeld<B>>, Response = Response<R>>,
        B: Body<Data = Bytes>,
        R: Body<Data = Bytes>,
    {
        tracing::warn!("a keyed request is served unprotected, since the store of keys failed");
        parts.extensions.insert(Unclaimed::new(Arc::clone(&self.guard), RejectionKind::StoreUnavailable));
        let run_until = ends_at(self.settings().max_run);
        match call(inner, Request::from_parts(parts, body), run_until).await {
            Ran::Response(response) => Ok(response.map(MaybeHeld::untouched)),
            Ran::Error(error) => Err(error),
            Ran::Panic(panic) => std::panic::resume_unwind(panic),
            Ran::OutOfTime => Ok(self.settings().refuse(RejectionKind::RunTimedOut).map(MaybeHeld::whole)),
        }
    }

    fn settings(&self) -> &Settings {
        &self.guard.settings
    }
}

/// A repeat's wait for the one that runs.
struct Waiting {
    until: Instant,
    pause: Duration,
    _one_of_the_bounded: OwnedSemaphorePermit,
}

impl Waiting {
    const FIRST_PAUSE: Duration = Duration::from_millis(10);
    const LONGEST_PAUSE: Duration = Duration::from_secs(1);

    /// `None` where the layer does not wait, or as many wait as may.
    fn begin(settings: &Settings) -> Option<Self> {
        let until = ends_at(settings.wait?);
        let _one_of_the_bounded = Arc::clone(&settings.waiters).try_acquire_owned().ok()?;
        Some(Self { until, pause: Self::FIRST_PAUSE, _one_of_the_bounded })
    }

    /// How long to wait before the next ask; `None` at the deadline.
    fn next_pause(&mut self, lease_left: Duration) -> Option<Duration> {
        let left = self.until.saturating_duration_since(Instant::now());
        let until_lapse = if lease_left.is_zero() { self.pause } else { lease_left };
        let pause = self.pause.min(until_lapse).min(left);
        self.pause = (self.pause * 2).min(Self::LONGEST_PAUSE);
        (!left.is_zero()).then_some(pause)
    }
}

/// Calls the inner service, until it ends, panics or is out of time.
async fn call<I, B, R>(mut inner: I, request: Request<B>, run_until: Instant) -> Ran<R, I::Error>
where
    I: Service<Request<B>, Response = Response<R>>,
{
    let running = AssertUnwindSafe(async move { inner.call(request).await }).catch_unwind();
    match timeout_at(run_until, running).await {
        Ok(Ok(Ok(response))) => Ran::Response(response),
        Ok(Ok(Err(error))) => Ran::Error(error),
        Ok(Err(panic)) => Ran::Panic(panic),
        Err(_elapsed) => Ran::OutOfTime,
    }
}

/// Carries a verdict out.
async fn close<S: Store>(lease: Lease<S>, verdict: Verdict, outcome: Outcome) -> Closed {
    match verdict {
        Verdict::Keep | Verdict::Close => lease.complete(outcome).await,
        Verdict::GiveBack => lease.release().await,
        Verdict::Hold => {
            metrics::holder_seen(Seen::LeftToLapse, lease.token());
            lease.leave_to_lapse();
            Closed::Kept
        }
    }
}

/// Whether the handler says something else than it has committed.
fn other_than<R, E>(ran: &Ran<R, E>, committed: &Response<Bytes>) -> bool {
    let fields = |headers: &HeaderMap| {
        let mut fields = headers.clone();
        fields.remove(CONTENT_LENGTH); // which a framework may add
        fields
    };
    match ran {
        Ran::Response(response) => {
            response.status() != committed.status() || fields(response.headers()) != fields(committed.headers())
        }
        Ran::Error(_) | Ran::Panic(_) | Ran::OutOfTime => true,
    }
}

fn unreadable(error: &(dyn std::error::Error + 'static), limit: usize) -> RejectionKind {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if error.is::<LengthLimitError>() {
            // A layer outside has a lower limit.
            return RejectionKind::BodyTooLarge { limit };
        }
        cause = error.source();
    }
    RejectionKind::UnreadableBody
}
