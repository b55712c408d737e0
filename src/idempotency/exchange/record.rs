//! What becomes of the key, and of the answer, when the handler has ended without a commit.

use bytes::Bytes;
use http::{Response, response};
use http_body::Body;
use tokio::time::Instant;

use super::{Answer, Exchange, Ran};
use crate::{
    idempotency::{
        body::{self, MaybeHeld, ReadLimits},
        lease::{Closed, Lease},
        metrics::{self, Seen},
        recording::{self, NO_RESPONSE, Verdict},
        rejection::RejectionKind,
    },
    store::{ClaimRequest, Outcome, Store},
};

impl<S: Store> Exchange<S> {
    /// What becomes of the key and of the answer when nothing was committed (rule 13).
    pub(super) async fn record<R, E>(
        &self,
        ran: Ran<R, E>,
        lease: Lease<S>,
        request: &ClaimRequest,
        run_until: Instant,
    ) -> Answer<R, E>
    where
        R: Body<Data = Bytes>,
    {
        // None of these leaves a response of the handler to keep.
        let failed = recording::judge_failure(self.settings().on_failure, Verdict::Close);
        match ran {
            Ran::Response(response) => Ok(self.record_response(response, lease, request, run_until).await),
            Ran::OutOfTime => {
                metrics::holder_seen(Seen::TimedOut, lease.token());
                let response = self.settings().refuse(RejectionKind::RunTimedOut);
                // The layer's own words are no outcome of the work: a repeat is told that there is none to replay.
                let outcome = Outcome::NotReplayable(response.status());
                let closed = close(lease, failed, outcome).await;
                Ok(self.answer(closed, response.map(MaybeHeld::whole), request).await)
            }
            Ran::Error(error) => match close(lease, failed, NO_RESPONSE).await {
                Closed::Passed => Ok(self.answer_of_passed(request).await.map(MaybeHeld::whole)),
                Closed::Kept | Closed::Failed => Err(error),
            },
            Ran::Panic(panic) => match close(lease, failed, NO_RESPONSE).await {
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
}

/// Carries a verdict out.
async fn close<S: Store>(lease: Lease<S>, verdict: Verdict, outcome: Outcome) -> Closed {
    match verdict {
        Verdict::Keep | Verdict::Close => lease.complete(outcome).await,
        Verdict::GiveBack => lease.release().await,
        Verdict::Hold => lease.hold(),
    }
}
