//! `Retry`: begins the first attempt on the service that is ready.

use std::{
    mem,
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
            Ok((course, first)) if course.may_go_on() => {
                // The instance that is ready is called, and goes with its request; the clone has to be asked first.
                let fresh = self.inner.clone();
                let mut ready = mem::replace(&mut self.inner, fresh);
                let attempt = ready.call(first);
                ResponseFuture::calling(attempt, Some(ready), course)
            }
            Ok((course, first)) => ResponseFuture::calling(self.inner.call(first), None, course),
            Err(unsent) => ResponseFuture::unsent(unsent),
        }
    }
}
