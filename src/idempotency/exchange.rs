//! One keyed exchange, top to bottom: read, claim, run, record | replay | refuse.

use std::{any::Any, panic::AssertUnwindSafe, sync::Arc};

use bytes::Bytes;
use futures_util::FutureExt;
use http::{
    HeaderMap, Request, Response,
    header::{ACCEPT_ENCODING, CONTENT_LENGTH},
    request::Parts,
};
use http_body::Body;
use http_body_util::LengthLimitError;
use tokio::time::{Instant, timeout_at};
use tower::{BoxError, Service};

use super::{
    body::{self, MaybeHeld, Unread},
    claim::{Claim, Unclaimed},
    commit::{CommitState, Ended},
    guard::Guard,
    holder::Holder,
    in_place::Caller,
    lease::Lease,
    metrics::{self, Seen},
    rejection::RejectionKind,
    scope::ScopeFailure,
    settings::{Settings, ends_at},
};
use crate::{
    IdempotencyKey,
    store::{ClaimRequest, Store},
};
use acquire::{Granted, NotGranted};

mod acquire;
mod answer;
mod joined;
mod record;

/// What an exchange answers, or the inner service's error.
pub(super) type Answer<R, E> = Result<Response<MaybeHeld<R>>, E>;

/// Everything that one exchange works with.
pub(super) struct Exchange<S: Store> {
    pub(super) guard: Arc<Guard<S>>,
    pub(super) key: IdempotencyKey,
    pub(super) caller: Caller,
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
        self.guard.purge_from_now_on();
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
        let key = settings.scope.of(parts, &self.key).map_err(ScopeFailure::into_response)?;
        let limit = settings.max_request_body;
        let body = body::read_whole(body, limit, ends_at(settings.max_read)).await.map_err(|unread| {
            settings.refuse(match unread {
                Unread::TooLarge => RejectionKind::BodyTooLarge { limit: Some(limit) },
                Unread::TooSlow => RejectionKind::BodyTooSlow,
                Unread::Failed(error) => unreadable(&*error.into()),
            })
        })?;
        let bytes = body.held_bytes().unwrap_or_default();
        let fingerprint = (settings.fingerprint)(parts, &bytes);
        let (lease, retention) = (settings.lease, settings.retention);
        Ok((ClaimRequest { key, fingerprint, lease, retention }, body))
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
        let holder = Holder {
            store: self.guard.store.clone(),
            token: granted.token.clone(),
            lease: settings.lease,
            timeout: settings.store_timeout,
        };
        let tasks = self.guard.tasks().clone();
        let run_until = ends_at(settings.max_run);
        let lease = Lease::keep(holder, (granted.asked_at, run_until), settings.on_failure, commit.clone(), tasks);
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
        let ran = call(inner, Request::from_parts(parts, body), run_until).await;
        let ended = match commit.end(settings.store_timeout).await {
            Ended::Joined(joined) => self.ask_the_record(&joined, &request).await,
            ended => ended,
        };
        match ended {
            Ended::Open => self.record(ran, lease, &request, run_until).await,
            Ended::Left => self.record_unless_success(ran, lease, &request, run_until).await,
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
            Ended::Unknown | Ended::Joined(_) => {
                metrics::holder_seen(Seen::StoreError, lease.token());
                tracing::error!(key = request.key.key(), "whether a commit happened is unknown; the record decides");
                lease.leave_to_lapse();
                Ok(settings.refuse(RejectionKind::OutcomeUnknown).map(MaybeHeld::whole))
            }
        }
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
            Ran::Response(response) => Ok(self.unmarked(response.map(MaybeHeld::untouched))),
            Ran::Error(error) => Err(error),
            Ran::Panic(panic) => std::panic::resume_unwind(panic),
            Ran::OutOfTime => Ok(self.settings().refuse(RejectionKind::RunTimedOut).map(MaybeHeld::whole)),
        }
    }

    fn settings(&self) -> &Settings {
        &self.guard.settings
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

/// Whether the handler says something else than it has committed.
fn other_than<R: Body, E>(ran: &Ran<R, E>, committed: &Response<Bytes>) -> bool {
    let fields = |headers: &HeaderMap| {
        let mut fields = headers.clone();
        fields.remove(CONTENT_LENGTH); // which a framework may add
        fields
    };
    match ran {
        Ran::Response(response) => {
            let length = response.body().size_hint().exact();
            response.status() != committed.status()
                || fields(response.headers()) != fields(committed.headers())
                || length.is_some_and(|length| length != committed.body().len() as u64)
        }
        Ran::Error(_) | Ran::Panic(_) | Ran::OutOfTime => true,
    }
}

fn unreadable(error: &(dyn std::error::Error + 'static)) -> RejectionKind {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if error.is::<LengthLimitError>() {
            // A layer outside has a lower limit.
            return RejectionKind::BodyTooLarge { limit: None };
        }
        cause = error.source();
    }
    RejectionKind::UnreadableBody
}
