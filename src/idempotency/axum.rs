//! [`Claim`] as an extractor, and the status of a key as a route.

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
    commit::CommitError,
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
                    std::any::type_name::<S>()
                );
                StatusCode::INTERNAL_SERVER_ERROR.into_response()
            }
        })
    }
}

/// `None` where there is no claim, for whatever reason.
impl<S: Store, T: Sync> OptionalFromRequestParts<T> for Claim<S> {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &T) -> Result<Option<Self>, Self::Rejection> {
        Ok(parts.extensions.get::<Self>().cloned())
    }
}

/// 503: nothing was committed, or only the record can say. The layer replaces this answer where it knows better.
impl IntoResponse for CommitError {
    fn into_response(self) -> Response {
        tracing::error!(source = std::error::Error::source(&self).map(tracing::field::display), "{self}");
        StatusCode::SERVICE_UNAVAILABLE.into_response()
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
