//! One test for each numbered rule of `tower_idempotency::idempotency`, named as a sentence.

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use lab::exchange::{post, send};
use tower::{Layer, service_fn};
use tower_idempotency::{
    IdempotencyLayer, MemoryStore,
    idempotency::{MaybeHeld, Scope},
};

/// Rules 7 and 8.
#[tokio::test(start_paused = true)]
async fn the_first_request_runs_and_its_repeat_gets_the_same_answer() {
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&runs);
    let handler = service_fn(move |_: Request<MaybeHeld<Full<Bytes>>>| {
        let run = counted.fetch_add(1, Ordering::Relaxed) + 1;
        async move {
            let mut response = Response::new(Full::from(format!("run {run}")));
            *response.status_mut() = StatusCode::CREATED;
            Ok::<_, Infallible>(response)
        }
    });
    let service = IdempotencyLayer::new(MemoryStore::new(), Scope::shared()).layer(handler);

    let first = send(&service, post("k", "{}")).await;
    let second = send(&service, post("k", "{}")).await;

    assert_eq!((first.status, first.text(), first.replayed()), (StatusCode::CREATED, "run 1", Some("false")));
    assert_eq!((second.status, second.text(), second.replayed()), (StatusCode::CREATED, "run 1", Some("true")));
    assert_eq!(runs.load(Ordering::Relaxed), 1);
}
