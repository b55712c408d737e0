//! What the attacks share.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures_util::stream::{self, Stream};
use http::{Request, Response};
use http_body::{Body, Frame};
use http_body_util::{Full, StreamBody};
use lab::{clock::comes, exchange::HeldRequest};
use tower::{BoxError, Service, ServiceExt, service_fn};
use tower_idempotency::{RetryLayer, retry::Backoff};

/// The defaults, without any wait between attempts.
pub(crate) fn at_once() -> RetryLayer {
    RetryLayer::new().seed(1).backoff(Backoff::none())
}

/// As often as it fails, whatever that costs.
pub(crate) fn tireless() -> RetryLayer {
    at_once().max_attempts(u32::MAX).without_budget()
}

/// A body that gives some data and then fails, or ends.
pub(crate) struct Cut {
    data: Option<Bytes>,
    by: Option<BoxError>,
}

impl Cut {
    /// Begun, and then cut by this error.
    pub(crate) fn by(error: impl Into<BoxError>) -> Self {
        Self { data: Some(Bytes::from("{")), by: Some(error.into()) }
    }

    /// Nothing, and no failure.
    pub(crate) fn whole() -> Self {
        Self { data: None, by: None }
    }
}

impl Body for Cut {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let data = self.data.take().map(|data| Ok(Frame::data(data)));
        Poll::Ready(data.or_else(|| self.by.take().map(Err)))
    }
}

/// A body that always has a frame with this data, and never an end. Three million are taken for ever.
pub(crate) fn endless(
    data: &'static str,
    mut each: impl FnMut(),
) -> StreamBody<impl Stream<Item = Result<Frame<Bytes>, Infallible>>> {
    StreamBody::new(stream::iter((0..).map(move |n| {
        assert!(n < 3_000_000, "read for ever");
        each();
        Ok(Frame::data(Bytes::from(data)))
    })))
}

/// A server that answers the n-th request, from zero, with this.
#[derive(Clone)]
pub(crate) struct Server<F> {
    answer: F,
    served: Arc<AtomicUsize>,
}

impl<F, R> Server<F>
where
    F: Fn(usize) -> Response<R> + Clone,
{
    pub(crate) fn new(answer: F) -> Self {
        Self { answer, served: Arc::default() }
    }

    /// How many requests it got.
    pub(crate) fn served(&self) -> usize {
        self.served.load(Ordering::SeqCst)
    }

    /// A client of it.
    pub(crate) fn client(
        &self,
    ) -> impl Service<HeldRequest, Response = Response<R>, Error = Infallible, Future: Send> + Clone + use<F, R>
    where
        F: Send,
        R: Send,
    {
        let Self { answer, served } = self.clone();
        service_fn(move |_: Request<Full<Bytes>>| std::future::ready(Ok(answer(served.fetch_add(1, Ordering::SeqCst)))))
    }
}

/// A response with this body and no fields.
pub(crate) fn answer<R>(status: u16, body: R) -> Response<R> {
    Response::builder().status(status).body(body).expect("a response")
}

/// What the caller of a client gets; a month is taken for never.
pub(crate) async fn send<S, B, R>(client: S, request: Request<B>) -> Result<Response<R>, S::Error>
where
    S: Service<Request<B>, Response = Response<R>>,
{
    comes(client.oneshot(request)).await
}

pub(crate) fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub(crate) fn millis(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}
