//! Bodies that can be sent again.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Buf;
use http::Request;
use http_body::{Body, Frame, SizeHint};
use http_body_util::{
    Either, Empty, Full,
    combinators::{BoxBody, UnsyncBoxBody},
};
use pin_project_lite::pin_project;

/// A request's body that can be sent again byte for byte, or says that it cannot.
///
/// Asked before the body is first sent. A body that answers `None` is sent once, and is never an error for that.
/// Wrap a body of another type in [`SentOnce`], or collect it first.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say whether it can be sent again",
    label = "no `RepeatBody`",
    note = "use `http_body_util::Full<Bytes>`, or wrap a body that is sent once in `retry::SentOnce`"
)]
pub trait RepeatBody: Sized {
    /// The same bytes once more, from the start; `None` if they can be had only once.
    fn try_clone(&self) -> Option<Self>;
}

pin_project! {
    /// A body that is sent once: a stream, an upload, an incoming body that is passed on.
    #[derive(Clone, Copy, Debug, Default)]
    pub struct SentOnce<B> {
        #[pin]
        body: B,
    }
}

impl<B> SentOnce<B> {
    /// The body as it is.
    pub fn new(body: B) -> Self {
        Self { body }
    }

    /// The body inside.
    pub fn into_inner(self) -> B {
        self.body
    }
}

impl<B> RepeatBody for SentOnce<B> {
    fn try_clone(&self) -> Option<Self> {
        None
    }
}

impl<B: Body> Body for SentOnce<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        self.project().body.poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The same request once more, unless its body can be had only once.
pub(super) fn try_clone<B: RepeatBody>(request: &Request<B>) -> Option<Request<B>> {
    let mut copy = Request::new(request.body().try_clone()?);
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.version_mut() = request.version();
    *copy.headers_mut() = request.headers().clone();
    *copy.extensions_mut() = request.extensions().clone();
    Some(copy)
}

impl<D: Buf + Clone> RepeatBody for Full<D> {
    fn try_clone(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl<D> RepeatBody for Empty<D> {
    fn try_clone(&self) -> Option<Self> {
        Some(Self::new())
    }
}

impl RepeatBody for String {
    fn try_clone(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl<L: RepeatBody, R: RepeatBody> RepeatBody for Either<L, R> {
    fn try_clone(&self) -> Option<Self> {
        match self {
            Self::Left(body) => body.try_clone().map(Self::Left),
            Self::Right(body) => body.try_clone().map(Self::Right),
        }
    }
}

/// No body at all.
impl RepeatBody for () {
    fn try_clone(&self) -> Option<Self> {
        Some(())
    }
}

/// Sent once: what is in the box is not known.
impl<D, E> RepeatBody for BoxBody<D, E> {
    fn try_clone(&self) -> Option<Self> {
        None
    }
}

/// Sent once: what is in the box is not known.
impl<D, E> RepeatBody for UnsyncBoxBody<D, E> {
    fn try_clone(&self) -> Option<Self> {
        None
    }
}

/// Sent once: what is in the box is not known.
#[cfg(feature = "axum")]
impl RepeatBody for axum::body::Body {
    fn try_clone(&self) -> Option<Self> {
        None
    }
}

/// Repeated if it is in memory; a stream is sent once.
#[cfg(feature = "reqwest")]
impl RepeatBody for reqwest::Body {
    fn try_clone(&self) -> Option<Self> {
        self.as_bytes().map(|bytes| bytes::Bytes::copy_from_slice(bytes).into())
    }
}
