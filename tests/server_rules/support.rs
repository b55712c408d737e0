//! What the tests of the rules share.

use std::{convert::Infallible, sync::Arc};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
pub(crate) use lab::clock::{millis, pass, secs};
use lab::{body::ScriptedBody, exchange::post, gate::GatedStore, handler::Handler};
use tokio::sync::Semaphore;
use tower::{Service, ServiceExt};
use tower_idempotency::{
    IdempotencyKey, IdempotencyLayer, MemoryStore,
    idempotency::{Idempotency, MaybeHeld, Rejection, RejectionKind, Scope},
    store::ScopedKey,
};

pub(crate) type TestStore = GatedStore<MemoryStore>;
pub(crate) type Guarded = Idempotency<Handler, TestStore>;

pub(crate) fn store() -> TestStore {
    GatedStore::new(MemoryStore::new())
}

/// A layer on this store with the defaults, and one scope.
pub(crate) fn layer(store: &TestStore) -> IdempotencyLayer<TestStore> {
    IdempotencyLayer::new(store.clone(), Scope::shared())
}

/// A key as a layer with one scope files it.
pub(crate) fn filed(key: &str) -> ScopedKey {
    ScopedKey::new("", &IdempotencyKey::parse(key).expect("a key"))
}

/// A gate that is shut: each permit that is added lets one pass.
pub(crate) fn gate() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(0))
}

/// As [`post`], with any body.
pub(crate) fn post_body<B>(key: &str, body: B) -> Request<B> {
    post(key, "").map(|_| body)
}

/// The response before its body is read.
pub(crate) async fn respond<S, B, R>(service: &S, request: Request<B>) -> Response<R>
where
    S: Service<Request<B>, Response = Response<R>> + Clone,
    S::Error: std::fmt::Debug,
{
    service.clone().oneshot(request).await.expect("no error of the service")
}

/// Why a response is a refusal.
pub(crate) fn refusal<R>(response: &Response<R>) -> &RejectionKind {
    response.extensions().get::<Rejection>().expect("a rejection").kind()
}

/// What the next frame of a body holds; `None` at its end.
pub(crate) async fn next_data<B>(body: &mut B) -> Option<Bytes>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: std::fmt::Debug,
{
    use http_body_util::BodyExt;
    Some(body.frame().await?.expect("no failure").into_data().expect("data"))
}

/// An empty answer, for services that are no [`Handler`].
pub(crate) fn ok() -> Result<Response<ScriptedBody>, Infallible> {
    Ok(Response::new(ScriptedBody::whole("")))
}

/// The body that a handler gets.
pub(crate) type Got<B> = Request<MaybeHeld<B>>;
