//! [`reqwest::Client`] as a service of [`http::Request`].
//!
//! reqwest sends some requests again by itself, and follows redirects. Below a retry layer both have to be off:
//!
//! - **Attempts multiply.** Three of the layer's, each tried three times by the client, are nine, and the layer's
//!   budget, deadline and count of attempts know of three.
//! - **A redirect carries the idempotency key**, the body too on a 307 or 308, to wherever the server points, another
//!   origin included (reqwest takes off `Authorization` and cookies only). A 303 to a POST is followed with a GET.
//! - **The proof is lost.** If the second hop of a redirect is refused, [`is_connect`](::reqwest::Error::is_connect)
//!   says that no connection was made, although the first hop has done the work. What a bare [`reqwest::Error`] says is
//!   never taken as proof that a request was not applied, therefore; a [`SendError`]'s is.
//!
//! [`ReqwestService::new`] switches both off, whatever the builder says. For a client that you wrap yourself:
//!
//! ```
//! # fn main() -> reqwest::Result<()> {
//! let client = reqwest::Client::builder()
//!     .redirect(reqwest::redirect::Policy::none())
//!     .retry(reqwest::retry::never())
//!     .build()?;
//! # Ok(())
//! # }
//! ```
//!
//! A redirect is then a response like any other.
//!
//! This crate asks reqwest for no TLS and no HTTP/2: name reqwest in your own manifest, with the features that you need.
//!
//! # Example
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use bytes::Bytes;
//! use http_body_util::Full;
//! use tower::ServiceExt;
//! use tower_idempotency::retry::reqwest::ReqwestService;
//!
//! # async fn pay() -> Result<(), Box<dyn std::error::Error>> {
//! let builder = reqwest::Client::builder().connect_timeout(Duration::from_secs(2));
//! let client = ReqwestService::new(builder)?;
//!
//! let request = http::Request::post("https://pay.example/charges").body(Full::new(Bytes::from("amount=100")))?;
//! let response = client.oneshot(request).await?;
//! println!("{}", response.status());
//! # Ok(())
//! # }
//! ```

use std::{
    error::Error,
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http_body::Body;
use pin_project_lite::pin_project;
use reqwest::{Client, ClientBuilder, redirect, retry};
use tower::{BoxError, Service};

use super::evidence::Evidence;

#[cfg(test)]
mod tests;

/// A [`reqwest::Client`] that takes [`http::Request`]s, sends each once and follows nothing.
///
/// Clones share the client's connections.
///
/// Passed on are the method, the URI (absolute; it becomes a URL, whose dot segments are resolved), the headers, the body
/// (its exact length as `Content-Length`) and the version: HTTP/1.1, a request's default, goes over HTTP/2 as well.
/// Extensions are not. The client adds what it was built with: default headers, cookies, proxies, and its timeouts, which
/// run for each call.
#[derive(Clone, Debug)]
pub struct ReqwestService {
    client: Client,
}

impl ReqwestService {
    /// Builds the client, with reqwest's own retries and redirects switched off, whatever `builder` says of them.
    ///
    /// # Errors
    ///
    /// As [`ClientBuilder::build`]'s.
    pub fn new(builder: ClientBuilder) -> reqwest::Result<Self> {
        // reqwest repeats no body that is wrapped, so far, and `call` wraps each.
        let client = builder.redirect(redirect::Policy::none()).retry(retry::never()).build()?;
        Ok(Self { client })
    }
}

impl<B> Service<http::Request<B>> for ReqwestService
where
    B: Body<Data = Bytes> + Send + Sync + 'static,
    B::Error: Into<BoxError>,
{
    type Response = http::Response<reqwest::Body>;
    type Error = SendError;
    type Future = ResponseFuture;

    /// Always ready: the client waits for a connection while it sends.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), SendError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> ResponseFuture {
        let state = match reqwest::Request::try_from(request.map(reqwest::Body::wrap)) {
            Ok(request) => State::Sent { pending: self.client.call(request) },
            Err(error) => State::Refused { error: Some(error) },
        };
        ResponseFuture { state }
    }
}

/// reqwest's own future has no name that can be written.
type Pending = <Client as Service<reqwest::Request>>::Future;

pin_project! {
    /// The response of a [`ReqwestService`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless polled"]
    pub struct ResponseFuture {
        #[pin]
        state: State,
    }
}

pin_project! {
    #[derive(Debug)]
    #[project = StateProjection]
    enum State {
        // With the client.
        Sent {
            #[pin]
            pending: Pending,
        },
        // It is no request of reqwest's.
        Refused {
            error: Option<reqwest::Error>,
        },
    }
}

impl Future for ResponseFuture {
    type Output = Result<http::Response<reqwest::Body>, SendError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(match self.project().state.project() {
            StateProjection::Sent { pending } => match ready!(pending.poll(context)) {
                Ok(response) => Ok(response.into()),
                Err(error) => Err(SendError { error, sent: Sent::Maybe }),
            },
            StateProjection::Refused { error } => {
                let error = error.take().expect("polled after it was ready");
                Err(SendError { error, sent: Sent::Never })
            }
        })
    }
}

/// A request of a [`ReqwestService`] got no response; the source is the [`reqwest::Error`].
///
/// Another type than reqwest's own, because it proves more: there was no redirect and no hidden retry.
#[derive(Debug)]
pub struct SendError {
    error: reqwest::Error,
    sent: Sent,
}

impl SendError {
    /// reqwest's error.
    #[must_use]
    pub fn into_inner(self) -> reqwest::Error {
        self.error
    }
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.sent {
            Sent::Never => "not a request that can be sent",
            Sent::Maybe => "no response",
        })
    }
}

impl Error for SendError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.error)
    }
}

#[derive(Clone, Copy, Debug)]
enum Sent {
    /// It was never handed to the client.
    Never,
    /// The client had it. Even `is_builder` proves nothing then: reqwest says it of the location of a redirect, too.
    Maybe,
}

/// What a [`SendError`] tells; a bare [`reqwest::Error`], of a client that perhaps follows redirects, tells nothing.
pub(super) fn evidence(error: &(dyn Error + 'static)) -> Evidence {
    match error.downcast_ref::<SendError>() {
        Some(SendError { sent: Sent::Never, .. }) => Evidence::NotApplied,
        // Right below stands hyper-util's error. reqwest's `is_connect` would look into a body's error, too.
        Some(SendError { sent: Sent::Maybe, error }) => match error.source().map(super::hyper::evidence) {
            Some(Evidence::NotApplied) => Evidence::NotApplied,
            Some(Evidence::Nothing | Evidence::InItsSource) | None => Evidence::Nothing,
        },
        None if error.is::<reqwest::Error>() => Evidence::Nothing,
        None => Evidence::InItsSource,
    }
}

pub(super) fn is_timeout(error: &(dyn Error + 'static)) -> bool {
    error.downcast_ref::<reqwest::Error>().is_some_and(reqwest::Error::is_timeout)
}
