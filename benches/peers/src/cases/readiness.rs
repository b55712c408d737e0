//! Point 4: a service that is no longer ready when the retry is due.

use std::{future::Ready, future::ready};

use http::{Request, Response, StatusCode};
use tower::{
    BoxError, ServiceExt,
    retry::{Policy, Retry},
};
use tower_idempotency::{
    RetryLayer,
    retry::{FailedAttempt, Failure},
};

use super::{Ours, Peer, Row};
use crate::{
    clock,
    scripted::{Scripted, Step, get, get_through},
};

const STEPS: &[Step] = &[Step::Busy, Step::NotReady];

pub(crate) fn service_fails_before_the_retry() -> Row {
    let theirs = clock::paused(async {
        let service = Retry::new(OnServerErrors, Scripted::new(STEPS));
        service.oneshot(get()).await.expect_err("it was not ready")
    });
    let ours = clock::paused(async {
        let failed = get_through(&RetryLayer::new(), &Scripted::new(STEPS)).await;
        failed.expect_err("it was not ready")
    });
    let failures: Vec<_> = ours.info().failures().iter().map(FailedAttempt::failure).collect();
    let busy = |failure: &&Failure| matches!(failure, Failure::Response(head) if head.status() == StatusCode::SERVICE_UNAVAILABLE);
    Row {
        point: "4",
        case: "a 503, then a service that fails to be ready: is the 503 in what the caller gets?",
        peer: Peer {
            name: "tower",
            did: format!("{theirs}"),
            fault_seen: theirs.source().is_none() && !format!("{theirs} {theirs:?}").contains("503"),
        },
        ours: Ours {
            did: failures.iter().map(ToString::to_string).collect::<Vec<_>>().join("; then "),
            passed: failures.iter().any(busy) && failures.len() == 2,
        },
    }
}

/// What tower's documentation tells a client to write.
#[derive(Clone)]
struct OnServerErrors;

impl<B: Clone, R> Policy<Request<B>, Response<R>, BoxError> for OnServerErrors {
    type Future = Ready<()>;

    fn retry(&mut self, _: &mut Request<B>, ended: &mut Result<Response<R>, BoxError>) -> Option<Ready<()>> {
        matches!(ended, Ok(response) if response.status().is_server_error()).then(|| ready(()))
    }

    fn clone_request(&mut self, request: &Request<B>) -> Option<Request<B>> {
        Some(request.clone())
    }
}
