//! `Retry`: begins the first attempt on the service that is ready.

use std::{
    sync::Arc,
    task::{Context, Poll, ready},
};

use http::{Request, Response};
use http_body::Body;
use tower::{BoxError, Layer, Service};

use super::{
    body::RepeatBody, course::Course, error::RetryError, future::ResponseFuture, layer::RetryLayer, settings::Settings,
};

/// Tries again around `inner`. Made by [`RetryLayer`].
#[derive(Clone, Debug)]
pub struct Retry<S> {
    inner: S,
    settings: Arc<Settings>,
}

impl<S> Layer<S> for RetryLayer {
    type Service = Retry<S>;

    fn layer(&self, inner: S) -> Retry<S> {
        Retry { inner, settings: Arc::new(self.settings.clone()) }
    }
}

impl<S, B, R> Service<Request<B>> for Retry<S>
where
    S: Service<Request<B>, Response = Response<R>> + Clone,
    S::Error: Into<BoxError>,
    B: RepeatBody,
    R: Body,
{
    type Response = Response<R>;
    type Error = RetryError;
    type Future = ResponseFuture<S, B, R>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), RetryError>> {
        Poll::Ready(ready!(self.inner.poll_ready(cx)).map_err(|error| RetryError::not_ready(error.into())))
    }

    fn call(&mut self, request: Request<B>) -> ResponseFuture<S, B, R> {
        match Course::begin(request, Arc::clone(&self.settings)) {
            Ok((course, first)) => {
                // The instance that is ready is called; the clone is asked first whether it is. Where no retry can
                // follow there is none.
                let attempt = self.inner.call(first);
                let service = course.may_go_on().then(|| self.inner.clone());
                ResponseFuture::calling(attempt, service, course)
            }
            Err(unsent) => ResponseFuture::unsent(unsent),
        }
    }
}
