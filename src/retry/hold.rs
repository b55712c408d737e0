//! Responses that are read whole before they count as answered.

use std::{
    error::Error,
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use http::{HeaderMap, Request, Response, StatusCode, response};
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use tower::{BoxError, Layer, Service};

/// Reads each response up to a limit before it is handed over, so that one that is cut in the middle fails as an attempt
/// and not in the caller's hands.
///
/// It stands inside of [`RetryLayer`](super::RetryLayer), which then repeats such an attempt as it does after a timeout:
/// the server has done the work, and a key gets the stored answer. It is a layer of its own since it changes the type of
/// the response's body, which nobody who does not want it should have to bear.
///
/// ```
/// # use bytes::Bytes;
/// # use http::{HeaderMap, Request, Response};
/// # use http_body_util::Full;
/// use tower::ServiceBuilder;
/// use tower_idempotency::{RetryLayer, retry::HoldResponses};
///
/// # let client = tower::service_fn(|_: Request<Full<Bytes>>| async { Ok::<_, std::io::Error>(Response::new(Full::<Bytes>::default())) });
/// let client = ServiceBuilder::new()
///     .layer(RetryLayer::new())
///     .layer(HoldResponses::up_to(1 << 20)) // bytes; a larger one streams from there
///     .service(client);
/// # fn is_service<S: tower::Service<Request<Full<Bytes>>>>(_: S) {}
/// # is_service(client);
/// ```
///
/// A body that never ends is read for ever, below the limit: set an
/// [`attempt_timeout`](super::RetryLayer::attempt_timeout) with it.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct HoldResponses {
    limit: u64,
}

/// Holds the responses of `inner`. Made by [`HoldResponses`].
#[derive(Clone, Copy, Debug)]
pub struct Hold<S> {
    inner: S,
    limit: u64,
}

/// A response's body: what was read, then what was not.
pub struct HeldBody<R> {
    /// Joined, so that it takes no more than its bytes however they came.
    read: BytesMut,
    trailers: Option<HeaderMap>,
    rest: Option<Pin<Box<R>>>,
    /// What it was cut by, where the head alone decides.
    cut: Option<BoxError>,
}

/// A response below 400 ended before its body did. Its source is the body's error.
#[derive(Debug)]
pub struct CutResponse {
    status: StatusCode,
    source: BoxError,
}

impl HoldResponses {
    /// Reads up to so many bytes of data.
    pub fn up_to(limit: u64) -> Self {
        Self { limit }
    }
}

impl<S> Layer<S> for HoldResponses {
    type Service = Hold<S>;

    fn layer(&self, inner: S) -> Hold<S> {
        Hold { inner, limit: self.limit }
    }
}

impl<S, B, R> Service<Request<B>> for Hold<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    S::Error: Into<BoxError>,
    R: Body,
    R::Error: Into<BoxError>,
{
    type Response = Response<HeldBody<R>>;
    type Error = BoxError;
    type Future = Holding<S::Future, R>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        Holding { attempt: Some(self.inner.call(request)), reading: None, left: self.limit }
    }
}

pin_project! {
    /// The future of [`Hold`].
    pub struct Holding<F, R> {
        // Until the head is there.
        #[pin]
        attempt: Option<F>,
        reading: Option<(response::Parts, HeldBody<R>)>,
        left: u64,
    }
}

impl<F, R, E> Future for Holding<F, R>
where
    F: Future<Output = Result<Response<R>, E>>,
    E: Into<BoxError>,
    R: Body,
    R::Error: Into<BoxError>,
{
    type Output = Result<Response<HeldBody<R>>, BoxError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        if let Some(attempt) = this.attempt.as_mut().as_pin_mut() {
            let (head, body) = ready!(attempt.poll(cx)).map_err(Into::into)?.into_parts();
            this.attempt.set(None);
            *this.reading = Some((head, HeldBody::unread(body)));
        }
        let (head, body) = this.reading.as_mut().expect("polled after its end");
        if let Err(source) = ready!(body.poll_read(this.left, cx)) {
            let status = head.status;
            // Of a failure the head decides, and what it asks for: a 422 is final, a `Retry-After` is a floor.
            if status.as_u16() < 400 {
                return Poll::Ready(Err(CutResponse { status, source }.into()));
            }
            (body.rest, body.cut) = (None, Some(source));
        }
        let (head, body) = this.reading.take().expect("just seen");
        Poll::Ready(Ok(Response::from_parts(head, body)))
    }
}

impl<R> HeldBody<R> {
    fn unread(body: R) -> Self {
        Self { read: BytesMut::new(), trailers: None, rest: Some(Box::pin(body)), cut: None }
    }
}

impl<R: Body> HeldBody<R>
where
    R::Error: Into<BoxError>,
{
    /// Reads until the end, or until more than `left` bytes were read or are sure to come.
    fn poll_read(&mut self, left: &mut u64, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        while let Some(rest) = &mut self.rest {
            if rest.size_hint().lower() > *left {
                break;
            }
            let frame = match ready!(rest.as_mut().poll_frame(cx)) {
                Some(Ok(frame)) => frame,
                Some(Err(error)) => return Poll::Ready(Err(error.into())),
                None => {
                    self.rest = None;
                    break;
                }
            };
            // One without data counts, too: a body may have nothing else.
            let mut read = 1;
            match frame.into_data() {
                Ok(data) => {
                    read = read.max(data.remaining() as u64);
                    self.read.put(data);
                }
                Err(frame) => self.trailers = frame.into_trailers().ok(),
            }
            match left.checked_sub(read) {
                Some(still) => *left = still,
                None => break,
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<R: Body> Body for HeldBody<R>
where
    R::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if !self.read.is_empty() {
            return Poll::Ready(Some(Ok(Frame::data(self.read.split().freeze()))));
        }
        if let Some(trailers) = self.trailers.take() {
            return Poll::Ready(Some(Ok(Frame::trailers(trailers))));
        }
        let Some(rest) = &mut self.rest else { return Poll::Ready(self.cut.take().map(Err)) };
        rest.as_mut().poll_frame(cx).map_ok(in_bytes).map_err(Into::into)
    }

    fn is_end_stream(&self) -> bool {
        let all_read = self.read.is_empty() && self.trailers.is_none() && self.cut.is_none();
        all_read && self.rest.as_ref().is_none_or(|rest| rest.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        let read = self.read.len() as u64;
        let rest = self.rest.as_ref().map_or(SizeHint::with_exact(0), |rest| rest.size_hint());
        let mut size = SizeHint::new();
        if self.cut.is_some() {
            size.set_lower(read);
            return size;
        }
        size.set_lower(read.saturating_add(rest.lower()));
        if let Some(upper) = rest.upper().and_then(|upper| upper.checked_add(read)) {
            size.set_upper(upper);
        }
        size
    }
}

impl CutResponse {
    /// The status of the head that had come.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.status
    }
}

impl fmt::Display for CutResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the response with status {} was cut in its body", self.status.as_u16())
    }
}

impl Error for CutResponse {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.source)
    }
}

impl<R> fmt::Debug for HeldBody<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeldBody").field("whole", &self.rest.is_none()).finish_non_exhaustive()
    }
}

impl<F, R> fmt::Debug for Holding<F, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Holding").finish_non_exhaustive()
    }
}

fn in_bytes<D: Buf>(frame: Frame<D>) -> Frame<Bytes> {
    frame.map_data(|mut data| data.copy_to_bytes(data.remaining()))
}
