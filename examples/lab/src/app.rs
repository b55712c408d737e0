//! A handler behind the layer, whose runs are counted and can be held.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::{Body, Frame};
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use tokio::{
    sync::{
        Semaphore,
        mpsc::{self, UnboundedSender},
    },
    task::JoinHandle,
};
use tower::{BoxError, Layer, Service, ServiceExt, service_fn, util::BoxCloneSyncService};
use tower_idempotency::{IdempotencyLayer, Store};

use crate::{
    clock::comes,
    exchange::{Answer, HeldRequest, send},
};

/// The body of an answer, whatever it is made of.
pub type Payload = UnsyncBoxBody<Bytes, BoxError>;

/// The whole of a service: requests in memory go in.
pub type AppService = BoxCloneSyncService<HeldRequest, Response<Payload>, BoxError>;

/// A guarded handler.
#[derive(Clone, Debug)]
pub struct App {
    service: AppService,
    runs: Runs,
}

impl App {
    /// This handler behind this layer. It is told the number of the run, from 1, and gets the request with its body in
    /// memory.
    pub fn new<S, F, A>(layer: &IdempotencyLayer<S>, handler: F) -> Self
    where
        S: Store,
        F: Fn(usize, Request<Bytes>) -> A + Clone + Send + Sync + 'static,
        A: Future<Output = Response<Payload>> + Send + 'static,
    {
        Self::fallible(layer, move |run, request| {
            let answer = handler(run, request);
            async move { Ok(answer.await) }
        })
    }

    /// As [`new`](Self::new), for a handler that can fail as a service does.
    pub fn fallible<S, F, A>(layer: &IdempotencyLayer<S>, handler: F) -> Self
    where
        S: Store,
        F: Fn(usize, Request<Bytes>) -> A + Clone + Send + Sync + 'static,
        A: Future<Output = Result<Response<Payload>, BoxError>> + Send + 'static,
    {
        let runs = Runs::default();
        let service = layer.layer(runs.counting(handler)).map_response(|response| response.map(payload));
        Self { service: BoxCloneSyncService::new(service), runs }
    }

    /// Answers `201` and `run 1` on the first run, `run 2` on the second.
    pub fn numbered<S: Store>(layer: &IdempotencyLayer<S>) -> Self {
        Self::new(layer, |run, _| async move { created(format!("run {run}")) })
    }

    /// Sends a request and reads the answer to its end.
    pub async fn send(&self, request: HeldRequest) -> Answer {
        comes(send(&self.service, request)).await
    }

    /// Sends a request from a task of its own.
    pub fn start(&self, request: HeldRequest) -> JoinHandle<Answer> {
        let service = self.service.clone();
        tokio::spawn(async move { comes(send(&service, request)).await })
    }

    /// How often the handler ran.
    pub fn runs(&self) -> usize {
        self.runs.count()
    }

    /// The service itself.
    pub fn service(&self) -> AppService {
        self.service.clone()
    }
}

/// Counts the runs of a handler.
#[derive(Clone, Debug, Default)]
pub struct Runs(Arc<AtomicUsize>);

impl Runs {
    /// How many there were.
    pub fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    /// The number of the run that begins now, from 1.
    pub fn begin(&self) -> usize {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// A service that counts its calls here, reads the request's body and answers what the handler says.
    pub fn counting<B, F, A>(
        &self,
        handler: F,
    ) -> impl Service<Request<B>, Response = Response<Payload>, Error = BoxError, Future: Send>
    + Clone
    + Send
    + Sync
    + use<B, F, A>
    where
        B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
        F: Fn(usize, Request<Bytes>) -> A + Clone + Send + Sync + 'static,
        A: Future<Output = Result<Response<Payload>, BoxError>> + Send + 'static,
    {
        let runs = self.clone();
        service_fn(move |request: Request<B>| {
            let (handler, run) = (handler.clone(), runs.begin());
            async move {
                let (parts, body) = request.into_parts();
                let body = body.collect().await.map_err(Into::into)?.to_bytes();
                handler(run, Request::from_parts(parts, body)).await
            }
        })
    }
}

/// Stops each run at one place until it is let go.
#[derive(Clone, Debug)]
pub struct Hold(Arc<(Semaphore, Semaphore)>);

impl Hold {
    /// Holds whoever passes.
    #[expect(clippy::new_without_default, reason = "it is a place, and no default of anything")]
    pub fn new() -> Self {
        Self(Arc::new((Semaphore::new(0), Semaphore::new(0))))
    }

    /// For the one that is held: goes on once it is let go.
    pub async fn pass(&self) {
        self.0.0.add_permits(1);
        self.0.1.acquire().await.expect("never closed").forget();
    }

    /// Waits until one more is held.
    pub async fn reached(&self) {
        comes(self.0.0.acquire()).await.expect("never closed").forget();
    }

    /// Lets so many go.
    pub fn let_go(&self, count: usize) {
        self.0.1.add_permits(count);
    }
}

/// `201` with this body.
pub fn created(body: impl Into<Bytes>) -> Response<Payload> {
    answer(StatusCode::CREATED, body)
}

/// This status with this body.
pub fn answer(status: StatusCode, body: impl Into<Bytes>) -> Response<Payload> {
    let mut response = Response::new(payload(Full::new(body.into())));
    *response.status_mut() = status;
    response
}

/// A body of unknown length, and the way to send its parts: it ends when the sender is dropped, and the sender is closed
/// when the body is dropped.
pub fn streaming() -> (UnboundedSender<Bytes>, Payload) {
    let (parts, receiver) = mpsc::unbounded_channel();
    let frames = futures_util::stream::unfold(receiver, |mut receiver| async {
        receiver.recv().await.map(|part| (Ok::<_, BoxError>(Frame::data(part)), receiver))
    });
    (parts, payload(StreamBody::new(frames)))
}

/// Any body as that of an answer.
pub fn payload<B>(body: B) -> Payload
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    body.map_err(Into::into).boxed_unsync()
}
