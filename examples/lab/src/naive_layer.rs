//! Layers as one writes them first: each leaves out one guard, and tests have to see it go wrong.

use std::{panic::AssertUnwindSafe, time::Duration};

use bytes::Bytes;
use futures_util::FutureExt;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body::Body;
use http_body_util::{BodyExt, Full};
use tokio::time::timeout;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};
use tower::{BoxError, Service, ServiceExt, service_fn, util::BoxCloneSyncService};
use tower_idempotency::{
    IdempotencyKey, Store,
    key::{IDEMPOTENCY_KEY, KeySyntax},
    store::{ClaimRequest, Claimed, Fingerprint, Outcome, ScopedKey, StoredResponse, Token},
};

use crate::app::{AppService, Payload, answer};

/// What a layer leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// Nothing that these flaws are about.
    None,
    /// The answer leaves first, and the key is closed afterwards.
    AnswersFirst,
    /// The work ends when its caller goes away.
    EndsWithItsCaller,
    /// What renews the lease is stopped at the end of a run that went well, and only there.
    RenewsForEver,
    /// It waits for the store for as long as that takes.
    WaitsForEver,
    /// Its own code trusts the store, and panics where it fails.
    Trusts,
}

const LEASE: Duration = Duration::from_secs(10);

/// A service behind such a layer.
#[derive(Debug)]
pub struct Guarded {
    /// All of its requests are taken for the same.
    pub service: AppService,
    tasks: TaskTracker,
}

impl Guarded {
    /// Waits for the exchanges whose callers have left.
    pub async fn drained(self) {
        self.tasks.close();
        self.tasks.wait().await;
    }
}

/// This service behind such a layer.
pub fn guarded<S, I, B>(store: S, inner: I, flaw: Flaw) -> Guarded
where
    S: Store,
    I: Service<Request<Full<Bytes>>, Response = Response<B>, Error: Into<BoxError>, Future: Send>
        + Clone
        + Send
        + Sync
        + 'static,
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    let tasks = TaskTracker::new();
    let spawner = tasks.clone();
    let service = service_fn(move |request: Request<Full<Bytes>>| {
        let (store, inner, spawner) = (store.clone(), inner.clone(), spawner.clone());
        async move {
            if flaw == Flaw::EndsWithItsCaller {
                return exchange(store, inner, request, flaw).await;
            }
            let on_its_own = spawner.spawn(exchange(store, inner, request, flaw));
            on_its_own.await.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
        }
    });
    Guarded { service: BoxCloneSyncService::new(service), tasks }
}

async fn exchange<S, I, B>(
    store: S,
    inner: I,
    request: Request<Full<Bytes>>,
    flaw: Flaw,
) -> Result<Response<Payload>, BoxError>
where
    S: Store,
    I: Service<Request<Full<Bytes>>, Response = Response<B>, Error: Into<BoxError>>,
    B: Body<Data = Bytes, Error: Into<BoxError>>,
{
    let limit = if flaw == Flaw::WaitsForEver { Duration::from_secs(u32::MAX.into()) } else { LEASE / 2 };
    let claim = ClaimRequest {
        key: key_of(request.headers()),
        fingerprint: Fingerprint::of(b"", b"", b""),
        lease: LEASE,
        retention: Duration::from_secs(24 * 60 * 60),
    };
    let token = match timeout(limit, store.claim(&claim)).await {
        Ok(Ok(Claimed::Acquired { token, .. })) => token,
        Ok(Ok(Claimed::Done(stored))) => return Ok(marked(stored, "true")),
        Ok(Ok(Claimed::InFlight { .. } | Claimed::Mismatch(_) | Claimed::NotReplayable(_))) => {
            return Ok(answer(StatusCode::CONFLICT, ""));
        }
        Ok(Err(_)) | Err(_) => return Ok(answer(StatusCode::SERVICE_UNAVAILABLE, "")),
    };
    let renewing = tokio::spawn(renew(store.clone(), token.clone()));
    let stop = renewing.abort_handle();
    let _stops_on_each_way_out = (flaw != Flaw::RenewsForEver).then(|| AbortOnDropHandle::new(renewing));
    let running = inner.oneshot(request).map(|ran| ran.map_err(Into::into));
    let ran: Result<Result<_, BoxError>, _> = AssertUnwindSafe(running).catch_unwind().await;
    let response = match ran {
        Ok(Ok(response)) if !response.status().is_server_error() => response,
        failed => {
            if flaw != Flaw::RenewsForEver {
                let _ = timeout(limit, store.release(&token)).await;
            }
            let response = failed.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            return Ok(answer(response.status(), ""));
        }
    };
    let (parts, body) = response.into_parts();
    let body = body.collect().await.map_err(Into::into)?.to_bytes();
    let stored = StoredResponse { status: parts.status, headers: parts.headers, body };
    let outcome = Outcome::Response(stored.clone());
    let complete = async move { timeout(limit, store.complete(&token, outcome)).await };
    match flaw {
        Flaw::AnswersFirst => drop(tokio::spawn(complete)),
        Flaw::Trusts => drop(complete.await.expect("it answers").expect("it works")),
        Flaw::None | Flaw::EndsWithItsCaller | Flaw::RenewsForEver | Flaw::WaitsForEver => drop(complete.await),
    }
    stop.abort();
    Ok(marked(stored, "false"))
}

async fn renew<S: Store>(store: S, token: Token) {
    loop {
        tokio::time::sleep(LEASE / 3).await;
        let _ = store.renew(&token, LEASE).await;
    }
}

fn marked(stored: StoredResponse, replayed: &'static str) -> Response<Payload> {
    let mut response = answer(stored.status, stored.body);
    *response.headers_mut() = stored.headers;
    response.headers_mut().insert("idempotency-replayed", replayed.parse().expect("a value"));
    response
}

fn key_of(headers: &HeaderMap) -> ScopedKey {
    let key = IdempotencyKey::from_headers(headers, &IDEMPOTENCY_KEY, KeySyntax::Lenient, 255);
    ScopedKey::new("", &key.expect("a valid key").expect("a key"))
}
