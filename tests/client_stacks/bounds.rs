//! What it asks of the types around it.

use std::{cell::Cell, rc::Rc};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use lab::scripted::Scripted;
use tokio::task::{LocalSet, spawn_local};
use tower::{BoxError, Layer, Service, ServiceExt, service_fn};
use tower_idempotency::retry::{ResponseFuture, Retry, RetryError};

use crate::{busy_once, keyed, layer};

#[tokio::test(start_paused = true)]
async fn the_future_is_spawned() {
    let service = busy_once();
    let mut client = layer().layer(service.clone());
    let ready = ServiceExt::<Request<Full<Bytes>>>::ready(&mut client).await.expect("ready");

    let answer = tokio::spawn(ready.call(keyed())).await.expect("no panic").expect("an answer");

    assert_eq!((answer.status(), service.attempts()), (StatusCode::CREATED, 2));
}

#[test]
fn what_is_shared_between_threads_can_be() {
    fn is<T: Send + Sync + 'static>() {}
    is::<Retry<Scripted>>();
    is::<tower_idempotency::RetryLayer>();
    is::<RetryError>();
    is::<tower_idempotency::retry::RetryInfo>();
}

/// The inner future alone decides: here a box that is `Send` and not `Sync`.
#[test]
fn the_future_can_be_sent() {
    fn is<T: Send + 'static>() {}
    is::<ResponseFuture<Scripted, Full<Bytes>, lab::scripted::ScriptedBody>>();
}

/// On one thread, with an `Rc` inside, as in a browser or on a `LocalSet`.
#[tokio::test(start_paused = true)]
async fn a_service_that_is_not_send_works_on_its_thread() {
    let calls = Rc::new(Cell::new(0));
    let counted = Rc::clone(&calls);
    let service = service_fn(move |_: Request<Full<Bytes>>| {
        let counted = Rc::clone(&counted);
        async move {
            counted.set(counted.get() + 1);
            let mut answer = Response::new(Full::<Bytes>::default());
            if counted.get() == 1 {
                *answer.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
            }
            Ok::<_, BoxError>(answer)
        }
    });
    let client = layer().layer(service);

    let local = LocalSet::new();
    let answer = local.run_until(async { spawn_local(client.oneshot(keyed())).await.expect("no panic") }).await;

    assert_eq!((answer.expect("an answer").status(), calls.get()), (StatusCode::OK, 2));
}
