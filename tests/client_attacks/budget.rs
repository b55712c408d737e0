//! Rules 7 and 10: the budget stays exact, whatever breaks off.

use std::{
    convert::Infallible,
    future::{Ready, ready},
    iter,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use bytes::Bytes;
use http::Response;
use http_body_util::Full;
use lab::{
    body::ScriptedBody,
    exchange::{HeldRequest, get},
    scripted::{Scripted, Step},
};
use tokio::time::timeout;
use tower::{Layer, Service, ServiceExt};
use tower_idempotency::{
    RetryLayer,
    retry::{Backoff, Budget},
};

use crate::support::{answer, at_once, millis, secs};

/// What is left of ten tokens when a request through this layer has panicked.
async fn left_by_a_panic<S, R>(layer: RetryLayer, client: S) -> f64
where
    S: Service<HeldRequest, Response = Response<R>, Error: Into<tower::BoxError> + Send> + Clone + Send + 'static,
    S::Future: Send,
    R: http_body::Body + Send + 'static,
{
    let budget = Budget::new(10);
    let client = layer.budget(budget.clone()).layer(client);
    let ended = tokio::spawn(async move { client.oneshot(get("/reports")).await.is_ok() }).await;
    assert!(ended.expect_err("a panic").is_panic());
    budget.available()
}

/// Rule 7: asked last, so after the classifier.
#[tokio::test(start_paused = true)]
async fn a_classifier_that_panics_costs_nothing() {
    let layer = at_once().with_classifier(|_| panic!("the classifier"));

    assert_eq!(left_by_a_panic(layer, Scripted::new([Step::status(503)])).await, 10.0);
}

/// Rule 7: asked last, so after the wait is known.
#[tokio::test(start_paused = true)]
async fn a_backoff_that_panics_costs_nothing() {
    let layer = at_once().backoff(Backoff::custom(|_| iter::from_fn(|| panic!("the backoff"))));

    assert_eq!(left_by_a_panic(layer, Scripted::new([Step::status(503)])).await, 10.0);
}

/// A service whose second clone panics.
struct ClonedOnce(Arc<AtomicUsize>);

impl Clone for ClonedOnce {
    fn clone(&self) -> Self {
        assert!(self.0.fetch_add(1, Ordering::SeqCst) < 1, "the clone");
        Self(Arc::clone(&self.0))
    }
}

impl Service<HeldRequest> for ClonedOnce {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: HeldRequest) -> Self::Future {
        ready(Ok(answer(503, Full::default())))
    }
}

/// Rule 7: a retry that is never sent is refunded, though a panic is why.
#[tokio::test(start_paused = true)]
async fn a_service_that_panics_when_it_is_cloned_costs_nothing() {
    assert_eq!(left_by_a_panic(at_once(), ClonedOnce(Arc::default())).await, 10.0);
}

/// Rule 10: dropped at any instant of attempt, drain and wait, a request has paid for the retries that were sent.
#[tokio::test(start_paused = true)]
async fn requests_that_are_dropped_pay_for_the_retries_that_were_sent() {
    let budget = Budget::new(2000).success_reward(0.0);
    let mut retries = 0;
    for seed in 0..300 {
        let slow = ScriptedBody::streaming().data("x").pause(millis(7));
        let client = Scripted::new([Step::with_body(503, slow), Step::Never]);
        let layer = RetryLayer::new().seed(seed).budget(budget.clone()).max_attempts(2);
        let layer = layer.backoff(Backoff::exponential(millis(20), secs(1)));

        drop(timeout(millis(seed % 40), layer.layer(client.clone()).oneshot(get("/reports"))).await);

        retries += client.attempts().saturating_sub(1);
    }
    assert!((1..300).contains(&retries), "{retries}");
    assert_eq!(budget.available(), 2000.0 - 5.0 * retries as f64);
}
