//! [`Claim`] as an extractor, and the status of a key as a route.

use std::any::type_name;

use axum::{
    body::Body,
    extract::{FromRequestParts, OptionalFromRequestParts, Request},
    response::{IntoResponse, Response},
    routing::{MethodRouter, get},
};
use http::{StatusCode, request::Parts};

use super::{
    IdempotencyLayer,
    claim::{Claim, Unclaimed},
    commit::{CommitError, CommitErrorKind},
};
use crate::store::Store;

/// Without a key: 400. Served [unprotected](IdempotencyLayer::serve_unprotected_when_the_store_fails): 503. Without a
/// layer of this store that guards the request: 500, and a line in the log that says so.
impl<S: Store, T: Sync> FromRequestParts<T> for Claim<S> {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &T) -> Result<Self, Response> {
        if let Some(claim) = parts.extensions.get::<Self>() {
            return Ok(claim.clone());
        }
        Err(match parts.extensions.get::<Unclaimed<S>>() {
            Some(unclaimed) => unclaimed.to_response().map(Body::from),
            None => {
                tracing::error!(
                    method = %parts.method,
                    path = parts.uri.path(),
                    "a handler asks for a Claim, but no IdempotencyLayer<{}> guards this request: add the layer to \
                     this route, or the method to those that it guards",
                    type_name::<S>()
                );
                StatusCode::INTERNAL_SERVER_ERROR.into_response()
            }
        })
    }
}

/// `None` where there is no claim, for whatever reason. Where no layer guards the request a line in the log says so.
impl<S: Store, T: Sync> OptionalFromRequestParts<T> for Claim<S> {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &T) -> Result<Option<Self>, Self::Rejection> {
        let claim = parts.extensions.get::<Self>().cloned();
        if claim.is_none() && parts.extensions.get::<Unclaimed<S>>().is_none() {
            tracing::warn!("no IdempotencyLayer<{}> guards a request whose handler takes a claim", type_name::<S>());
        }
        Ok(claim)
    }
}

/// 503 where another try may succeed, 500 where the handler has to be mended. The layer replaces this answer where it
/// knows better.
impl IntoResponse for CommitError {
    fn into_response(self) -> Response {
        tracing::error!(source = std::error::Error::source(&self).map(tracing::field::display), "{self}");
        let status = match self.kind() {
            CommitErrorKind::Passed | CommitErrorKind::RolledBack | CommitErrorKind::Unknown => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            CommitErrorKind::AlreadyCommitted
            | CommitErrorKind::UnderWay
            | CommitErrorKind::Ended
            | CommitErrorKind::StreamingBody
            | CommitErrorKind::Panicked => StatusCode::INTERNAL_SERVER_ERROR,
        };
        status.into_response()
    }
}

/// A response whose body is there as a whole, without waiting: a commit waits for nobody.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub(crate) fn in_memory(response: Response) -> Result<http::Response<bytes::Bytes>, CommitError> {
    use futures_util::FutureExt as _;
    use http_body::Body as _;
    use http_body_util::BodyExt as _;

    let (parts, body) = response.into_parts();
    if body.size_hint().exact().is_none() {
        return Err(CommitErrorKind::StreamingBody.into());
    }
    match body.collect().now_or_never() {
        Some(Ok(body)) => Ok(http::Response::from_parts(parts, body.to_bytes())),
        Some(Err(error)) => Err(CommitError::because(CommitErrorKind::StreamingBody, error)),
        None => Err(CommitErrorKind::StreamingBody.into()),
    }
}

impl<S: Store> IdempotencyLayer<S> {
    /// The status of a key as a route: [`answer_status`](Self::answer_status) for GET.
    ///
    /// ```
    /// # use axum::Router;
    /// # use tower_idempotency::{IdempotencyLayer, MemoryStore, idempotency::Scope};
    /// let layer = IdempotencyLayer::new(MemoryStore::new(), Scope::shared());
    /// let app: Router = Router::new().route("/idempotency", layer.status_route());
    /// ```
    pub fn status_route<T: Clone + Send + Sync + 'static>(&self) -> MethodRouter<T> {
        let layer = self.clone();
        get(async move |request: Request| {
            let (parts, _) = request.into_parts();
            layer.answer_status(&parts).await.map(Body::from)
        })
    }
}
