//! K17: the caller drops the future while it sleeps, while an attempt is in flight.

use http::Response;
use lab::scripted::{Scripted, ScriptedBody, Step};
use tokio::time::advance;
use tower::Layer;
use tower_idempotency::{
    RetryLayer,
    retry::{Backoff, Budget, RetryError},
};

use crate::{Copies, Driven, called, polled, scenes::SECOND};

type Request = Driven<Result<Response<ScriptedBody>, RetryError>>;

/// A request that was polled once.
async fn polled_once(service: &Scripted, budget: &Budget) -> Request {
    let layer = RetryLayer::new().backoff(Backoff::exponential(SECOND, SECOND)).budget(budget.clone());
    let mut request: Request = Box::pin(called(layer.layer(service.clone()), &Copies::default()).await);
    assert!(polled(&mut request, 1).await.is_none());
    request
}

fn service() -> Scripted {
    Scripted::new([Step::status(503), Step::Never])
}

#[tokio::test(start_paused = true)]
async fn k17_while_it_sleeps_the_retry_is_paid_for() {
    let (service, budget) = (service(), Budget::aws_v2_0());

    let _request = polled_once(&service, &budget).await;

    assert_eq!((service.attempts(), budget.available()), (1, 495.0));
}

#[tokio::test(start_paused = true)]
async fn k17_dropped_while_it_sleeps_it_is_refunded() {
    let (service, budget) = (service(), Budget::aws_v2_0());
    let request = polled_once(&service, &budget).await;

    drop(request);

    assert_eq!((service.attempts(), budget.available()), (1, 500.0));
}

#[tokio::test(start_paused = true)]
async fn k17_dropped_while_its_retry_is_in_flight_it_is_spent() {
    let (service, budget) = (service(), Budget::aws_v2_0());
    let mut request = polled_once(&service, &budget).await;
    advance(SECOND).await;
    assert!(polled(&mut request, 1).await.is_none());
    assert_eq!((service.attempts(), service.in_flight()), (2, 1));

    drop(request);

    assert_eq!((service.in_flight(), budget.available()), (0, 495.0));
}

#[tokio::test(start_paused = true)]
async fn k17_dropped_while_its_first_attempt_is_in_flight_it_has_cost_nothing() {
    let (service, budget) = (Scripted::new([Step::Never]), Budget::aws_v2_0());
    let request = polled_once(&service, &budget).await;

    drop(request);

    assert_eq!((service.in_flight(), budget.available()), (0, 500.0));
}
