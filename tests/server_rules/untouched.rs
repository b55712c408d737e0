//! Rules 1 and 2: what is not guarded costs nothing. The store panics at each verb, the body when it is polled or asked
//! for its size before the handler allows it.

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response};
use http_body_util::{BodyExt, Full};
use lab::{
    exchange::{post_without_key, send},
    untouched::{UntouchedBody, UntouchedStore},
};
use tower::{Layer, service_fn};
use tower_idempotency::{IdempotencyLayer, idempotency::Scope};

use crate::support::Got;

/// Sends it through a layer that may touch nothing; what the handler read.
async fn through(request: Request<()>) -> Bytes {
    let body = UntouchedBody::of("the body");
    let allowed = body.clone();
    let handler = service_fn(move |request: Got<UntouchedBody>| {
        allowed.allow();
        async move { request.into_body().collect().await.map(|body| Response::new(Full::new(body.to_bytes()))) }
    });
    let service = IdempotencyLayer::new(
        UntouchedStore,
        Scope::by(|_| -> Result<String, http::StatusCode> { panic!("the scope was asked") }),
    )
    .layer(handler);
    send(&service, request.map(|()| body)).await.body
}

/// Rule 1.
#[tokio::test(start_paused = true)]
async fn a_get_costs_no_store_call_and_no_buffering_even_with_a_key() {
    for key in [None, Some("k"), Some("\"malformed")] {
        let mut request = Request::new(());
        if let Some(key) = key {
            request.headers_mut().insert("idempotency-key", HeaderValue::from_static(key));
        }

        assert_eq!(through(request).await, "the body");
    }
}

/// Rule 2.
#[tokio::test(start_paused = true)]
async fn a_post_without_a_key_costs_no_store_call_and_no_buffering() {
    for method in [Method::POST, Method::PATCH] {
        let mut request = post_without_key("").map(|_| ());
        *request.method_mut() = method;

        assert_eq!(through(request).await, "the body");
    }
}

/// The body above would have told: a keyed request is read before its handler runs.
#[tokio::test(start_paused = true)]
#[should_panic = "the body was touched"]
async fn a_keyed_post_is_read_before_its_handler_runs() {
    let service = IdempotencyLayer::new(UntouchedStore, Scope::shared())
        .layer(service_fn(async |_: Got<UntouchedBody>| crate::support::ok()));

    send(&service, crate::support::post_body("k", UntouchedBody::of("{}"))).await;
}

/// The store above would have told: a keyed request is claimed.
#[tokio::test(start_paused = true)]
#[should_panic = "claim"]
async fn a_keyed_post_is_claimed() {
    let service = IdempotencyLayer::new(UntouchedStore, Scope::shared())
        .layer(service_fn(async |_: Got<Full<Bytes>>| crate::support::ok()));

    send(&service, lab::exchange::post("k", "{}")).await;
}
