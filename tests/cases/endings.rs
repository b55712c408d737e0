//! V14 and V35: how runs end, and layers in one another.

use std::io;

use bytes::Bytes;
use http::StatusCode;
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use lab::{
    app::{App, Runs, answer, created, payload},
    exchange::{post, send},
    gate::Verb,
    problem,
};
use tower::{Layer, ServiceExt};
use tower_idempotency::{MemoryStore, idempotency::OnFailure};

use crate::{LEASE, gated, shared};

/// V14: the handler panics: the panic goes on to whoever catches panics, and the key is free.
#[tokio::test(start_paused = true)]
async fn v14_a_panic_leaves_the_key_free() {
    let app = App::new(&shared(gated()), |run, _| async move {
        assert_ne!(run, 1, "the handler panics");
        created(format!("run {run}"))
    });
    let panicked = app.start(post("k", "{}")).await.expect_err("a panic");
    assert!(panicked.is_panic());
    assert_eq!(app.send(post("k", "{}")).await.text(), "run 2");
}

/// V14: a service that panics when it is called, before there is a future.
#[tokio::test(start_paused = true)]
async fn v14_a_panic_in_the_call_itself_leaves_the_key_free() {
    let app = App::new(&shared(gated()), |run, _| {
        assert_ne!(run, 1, "the handler panics");
        async move { created(format!("run {run}")) }
    });
    assert!(app.start(post("k", "{}")).await.is_err_and(|error| error.is_panic()));
    assert_eq!(app.send(post("k", "{}")).await.text(), "run 2");
}

/// V14: the inner service fails: its error goes on, and the key is free.
#[tokio::test(start_paused = true)]
async fn v14_an_error_leaves_the_key_free() {
    let app = App::fallible(&shared(gated()), |run, _| async move {
        if run == 1 { Err("it fails".into()) } else { Ok(created(format!("run {run}"))) }
    });
    assert!(app.service().oneshot(post("k", "{}")).await.is_err());
    assert_eq!(app.send(post("k", "{}")).await.text(), "run 2");
}

/// V14: the handler returns 503.
#[tokio::test(start_paused = true)]
async fn v14_a_503_leaves_the_key_free() {
    let app = App::new(&shared(gated()), |run, _| async move {
        if run == 1 { answer(StatusCode::SERVICE_UNAVAILABLE, "") } else { created(format!("run {run}")) }
    });
    assert_eq!(app.send(post("k", "{}")).await.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(app.send(post("k", "{}")).await.text(), "run 2");
}

/// V14: the body's stream fails half way: the caller gets what there was and the failure; as the work was done its key
/// is closed, and a repeat is told so.
#[tokio::test(start_paused = true)]
async fn v14_a_body_that_fails_half_way_closes_the_key() {
    let app = App::new(&shared(gated()), |_, _| async {
        let frames = [Ok(Frame::data(Bytes::from_static(b"half"))), Err(io::Error::other("the disk is gone"))];
        created("").map(|_| payload(StreamBody::new(futures_util::stream::iter(frames))))
    });

    let mut first = app.service().oneshot(post("k", "{}")).await.unwrap();

    assert_eq!(first.body_mut().frame().await.unwrap().unwrap().into_data().unwrap(), "half");
    assert_eq!(first.body_mut().frame().await.unwrap().unwrap_err().to_string(), "the disk is gone");
    assert_eq!(problem::kind(&app.send(post("k", "{}")).await), (410, "NotReplayable".into()));
    assert_eq!(app.runs(), 1);
}

/// V14: held until it lapses, where the layer is set to; no key answers 409 for ever.
#[tokio::test(start_paused = true)]
async fn v14_a_failure_that_is_held_lapses() {
    let app = App::new(&shared(gated()).on_failure(OnFailure::HoldUntilLapse), |run, _| async move {
        if run == 1 { answer(StatusCode::INTERNAL_SERVER_ERROR, "") } else { created(format!("run {run}")) }
    });
    app.send(post("k", "{}")).await;
    assert_eq!(app.send(post("k", "{}")).await.status, StatusCode::CONFLICT);
    tokio::time::advance(LEASE).await;
    assert_eq!(app.send(post("k", "{}")).await.text(), "run 2");
}

/// V35: the layer on the router and again on the route, with the same store: it runs once, and meets no lease of its
/// own.
#[tokio::test(start_paused = true)]
async fn v35_a_layer_inside_a_layer_lets_the_request_pass() {
    let (store, runs) = (gated(), Runs::default());
    let layer = shared(store.clone());
    let route = shared(store.clone()).layer(runs.counting(|run, _| async move { Ok(created(format!("run {run}"))) }));
    let router = layer.layer(route);
    for replayed in ["false", "true"] {
        let answer = send(&router, post("k", "{}")).await;
        assert_eq!((answer.status, answer.text()), (StatusCode::CREATED, "run 1"));
        assert_eq!(answer.headers.get_all("idempotency-replayed").iter().collect::<Vec<_>>(), [replayed]);
    }
    assert_eq!((runs.count(), store.calls(Verb::Claim), store.calls(Verb::Complete)), (1, 2, 1));
}

/// V35: in axum, as it happens there.
#[cfg(feature = "axum")]
#[tokio::test(start_paused = true)]
async fn v35_a_layer_on_the_router_and_on_the_route_runs_once() {
    use axum::{Router, routing};
    let layer = shared(MemoryStore::new());
    let app = Router::new()
        .route("/reports", routing::post(|| async { (StatusCode::CREATED, "made") }).layer(layer.clone()))
        .layer(layer);
    for replayed in ["false", "true"] {
        let answer = send(&app, post("k", "{}").map(axum::body::Body::new)).await;
        assert_eq!((answer.status, answer.text(), answer.replayed()), (StatusCode::CREATED, "made", Some(replayed)));
    }
}
