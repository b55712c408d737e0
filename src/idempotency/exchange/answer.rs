//! What is answered from the record, and how it is marked.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode};

use super::Exchange;
use crate::{
    idempotency::{
        holder::answer_within,
        metrics::{self, Seen},
        rejection::RejectionKind,
        settings::whole_seconds,
    },
    store::{ClaimRequest, Found, Store, StoredResponse},
};

impl<S: Store> Exchange<S> {
    /// The answer of one that was passed: the recorded response if it is the same request's, else 409 (rule 11).
    pub(super) async fn answer_of_passed(&self, request: &ClaimRequest) -> Response<Bytes> {
        match answer_within(self.settings().store_timeout, self.guard.store.lookup(request)).await {
            Ok(Found::Done(stored)) => self.replay(request, stored),
            Ok(Found::NotReplayable(original)) => self.not_replayable(request, original),
            Ok(Found::InFlight { lease_left }) => self.retry_within(RejectionKind::TakenOver, lease_left),
            Ok(Found::Absent | Found::Lapsed | Found::Mismatch(_)) => self.settings().refuse(RejectionKind::TakenOver),
            Err(error) => {
                metrics::store_failed("lookup", &request.key, &error);
                self.settings().refuse(RejectionKind::TakenOver)
            }
        }
    }

    pub(super) fn replay(&self, request: &ClaimRequest, stored: StoredResponse) -> Response<Bytes> {
        metrics::key_seen(Seen::Replayed, &request.key);
        let mut response = Response::new(stored.body);
        *response.status_mut() = stored.status;
        *response.headers_mut() = stored.headers;
        self.marked(response, "true")
    }

    pub(super) fn not_replayable(&self, request: &ClaimRequest, original: StatusCode) -> Response<Bytes> {
        metrics::key_seen(Seen::NotReplayable, &request.key);
        self.marked(self.settings().refuse(RejectionKind::NotReplayable { original }), "true")
    }

    /// 409 with a `Retry-After` that never exceeds what is left of the lease (rule 9).
    pub(super) fn in_progress(&self, request: &ClaimRequest, lease_left: Duration) -> Response<Bytes> {
        metrics::key_seen(Seen::InFlight, &request.key);
        self.retry_within(RejectionKind::InProgress, lease_left)
    }

    fn retry_within(&self, kind: RejectionKind, lease_left: Duration) -> Response<Bytes> {
        let mut rejection = self.settings().rejection(kind);
        rejection.retry_after = Some(whole_seconds(self.settings().retry_after.min(lease_left)));
        self.settings().render(rejection)
    }

    /// Takes off a mark that is none of ours: nothing here tells whether the request ran before.
    pub(super) fn unmarked<T>(&self, mut response: Response<T>) -> Response<T> {
        if let Some(marker) = &self.settings().recorder.marker {
            response.headers_mut().remove(marker);
        }
        response
    }

    /// Sets the layer's mark; a handler's own copy is none.
    pub(super) fn marked<T>(&self, mut response: Response<T>, replayed: &'static str) -> Response<T> {
        if let Some(marker) = &self.settings().recorder.marker {
            response.headers_mut().insert(marker.clone(), HeaderValue::from_static(replayed));
        }
        response
    }
}
