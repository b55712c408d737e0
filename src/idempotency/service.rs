//! Guard the request, or let it pass untouched.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use pin_project_lite::pin_project;
use tower::{BoxError, Layer, Service};

use super::{
    IdempotencyLayer,
    body::MaybeHeld,
    claim::{Claim, Unclaimed},
    exchange::{Answer, Exchange},
    guard::Guard,
    in_place::{Caller, InPlace},
    rejection::RejectionKind,
};
use crate::{IdempotencyKey, store::Store};

/// Runs each keyed request once around `inner`. Made by [`IdempotencyLayer`].
pub struct Idempotency<I, S> {
    pub(super) inner: I,
    pub(super) guard: Arc<Guard<S>>,
}

impl<I, S: Clone> Layer<I> for IdempotencyLayer<S> {
    type Service = Idempotency<I, S>;

    fn layer(&self, inner: I) -> Self::Service {
        let (store, settings) = (self.store.clone(), self.settings.clone());
        Idempotency { inner, guard: Arc::new(Guard { store, settings, background: Arc::clone(&self.background) }) }
    }
}

/// What is to be done with a request.
enum Way {
    /// Rules 1 and 2: it passes through untouched.
    Through,
    /// Rule 2: it passes through, and its handler can be told that it sent no key.
    ThroughWithoutKey,
    Exchange(IdempotencyKey),
    Refuse(RejectionKind),
}

impl<I, S: Store> Idempotency<I, S> {
    fn way_of<B>(&self, request: &Request<B>) -> Way {
        let settings = &self.guard.settings;
        if !settings.methods.contains(request.method()) {
            return Way::Through;
        }
        if request.extensions().get::<Claim<S>>().is_some() {
            self.guard.warn_once_of_inner_layer();
            return Way::Through;
        }
        let key = IdempotencyKey::from_headers(
            request.headers(),
            &settings.key_header,
            settings.key_syntax,
            settings.max_key_length,
        );
        match key {
            Ok(Some(key)) => Way::Exchange(key),
            Ok(None) if settings.key_required => Way::Refuse(RejectionKind::MissingKey),
            Ok(None) => Way::ThroughWithoutKey,
            Err(invalid) => Way::Refuse(RejectionKind::InvalidKey(Arc::new(invalid))),
        }
    }
}

impl<I, S, B, R> Service<Request<B>> for Idempotency<I, S>
where
    I: Service<Request<MaybeHeld<B>>, Response = Response<R>> + Clone + Send + 'static,
    I::Future: Send + 'static,
    I::Error: Send + 'static,
    S: Store,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError> + Send,
    R: Body<Data = Bytes> + Send + 'static,
    R::Error: Send,
{
    type Response = Response<MaybeHeld<R>>;
    type Error = I::Error;
    type Future = ResponseFuture<I::Future, R, I::Error>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), I::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        match self.way_of(&request) {
            Way::Through => self.pass(request),
            Way::ThroughWithoutKey => {
                let unclaimed = Unclaimed::new(Arc::clone(&self.guard), RejectionKind::MissingKey);
                request.extensions_mut().insert(unclaimed);
                self.pass(request)
            }
            Way::Refuse(kind) => {
                let refusal = self.guard.settings.refuse(kind).map(MaybeHeld::whole);
                ResponseFuture { way: Going::Refused { refusal: Some(refusal) } }
            }
            Way::Exchange(key) => {
                // The service that was polled ready is the one to call: its clone may not be.
                let unready = self.inner.clone();
                let ready = std::mem::replace(&mut self.inner, unready);
                let caller = Caller::default();
                let exchange = Exchange { guard: Arc::clone(&self.guard), key, caller: caller.clone() };
                let exchange = InPlace::new(exchange.run(ready, request), caller, self.guard.tasks().clone());
                ResponseFuture { way: Going::Exchanged { exchange } }
            }
        }
    }
}

impl<I, S> Idempotency<I, S> {
    fn pass<B, R>(&mut self, request: Request<B>) -> ResponseFuture<I::Future, R, I::Error>
    where
        I: Service<Request<MaybeHeld<B>>, Response = Response<R>>,
        B: Body<Data = Bytes>,
        R: Body<Data = Bytes> + 'static,
    {
        ResponseFuture { way: Going::Through { future: self.inner.call(request.map(MaybeHeld::untouched)) } }
    }
}

impl<I: Clone, S> Clone for Idempotency<I, S> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), guard: Arc::clone(&self.guard) }
    }
}

impl<I: fmt::Debug, S> fmt::Debug for Idempotency<I, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Idempotency").field("inner", &self.inner).field("guard", &self.guard).finish()
    }
}

pin_project! {
    /// The answer to a request, guarded or not.
    ///
    /// Dropped before it is ready, a guarded request goes on as a task of its own.
    pub struct ResponseFuture<F, R, E>
    where
        R: Body,
        R: 'static,
        E: 'static,
    {
        #[pin]
        way: Going<F, R, E>,
    }
}

pin_project! {
    #[project = GoingProjected]
    enum Going<F, R, E>
    where
        R: Body,
        R: 'static,
        E: 'static,
    {
        Through { #[pin] future: F },
        Refused { refusal: Option<Response<MaybeHeld<R>>> },
        Exchanged { #[pin] exchange: InPlace<Answer<R, E>> },
    }
}

impl<F, R, E> Future for ResponseFuture<F, R, E>
where
    F: Future<Output = Result<Response<R>, E>>,
    R: Body<Data = Bytes> + 'static,
    E: 'static,
{
    type Output = Answer<R, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(match self.project().way.project() {
            GoingProjected::Through { future } => {
                ready!(future.poll(cx)).map(|response| response.map(MaybeHeld::untouched))
            }
            GoingProjected::Refused { refusal } => Ok(refusal.take().expect("not polled after it was ready")),
            GoingProjected::Exchanged { exchange } => ready!(exchange.poll(cx)),
        })
    }
}

impl<F, R: Body + 'static, E: 'static> fmt::Debug for ResponseFuture<F, R, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}
