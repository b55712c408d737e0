//! S12 to S14: which requests are guarded.

use http::{Method, StatusCode};
use lab::{
    app::{App, created},
    exchange::{post, post_without_key, send},
    problem,
};

use crate::{send_to, shared, spied, with_field};

fn query() -> Method {
    Method::from_bytes(b"QUERY").expect("a method")
}

/// S12, IK 1, own: by default POST and PATCH only; with any other method a key causes no call of the store.
#[tokio::test(start_paused = true)]
async fn s12_the_store_is_not_asked_about_other_methods() {
    let store = spied();
    let app = App::numbered(&shared(store.clone()));
    let others = [Method::GET, Method::HEAD, Method::OPTIONS, Method::TRACE, Method::PUT, Method::DELETE, query()];
    for method in &others {
        for _ in 0..2 {
            let answer = app.send(send_to(method.clone(), "/reports", "k", "{}")).await;
            assert_eq!((answer.status, answer.replayed()), (StatusCode::CREATED, None), "{method}");
        }
    }
    assert_eq!((app.runs(), store.all_calls()), (2 * others.len(), 0));
}

/// S12, own: an invalid key on a method that is not guarded is no reason to refuse.
#[tokio::test(start_paused = true)]
async fn s12_a_key_on_another_method_is_not_even_read() {
    let app = App::numbered(&shared(spied()));
    let request = with_field(send_to(Method::PUT, "/reports", "", "{}"), "idempotency-key", "é");
    assert_eq!(app.send(request).await.status, StatusCode::CREATED);
}

/// S12, own: POST and PATCH are guarded.
#[tokio::test(start_paused = true)]
async fn s12_post_and_patch_are_guarded() {
    for method in [Method::POST, Method::PATCH] {
        let app = App::numbered(&shared(spied()));
        for replayed in ["false", "true"] {
            let answer = app.send(send_to(method.clone(), "/reports", "k", "{}")).await;
            assert_eq!(answer.replayed(), Some(replayed), "{method}");
        }
    }
}

/// S12, own: the set of methods is a setting.
#[tokio::test(start_paused = true)]
async fn s12_the_methods_are_a_setting() {
    let app = App::numbered(&shared(spied()).methods([Method::PUT, query()]));
    for method in [Method::PUT, query()] {
        app.send(send_to(method.clone(), "/reports", method.as_str(), "{}")).await;
        let repeat = app.send(send_to(method.clone(), "/reports", method.as_str(), "{}")).await;
        assert_eq!(repeat.replayed(), Some("true"), "{method}");
    }
    assert_eq!(app.send(post("k", "{}")).await.replayed(), None);
}

/// S13, IK 2.7, SHOULD: a route that requires a key answers 400 without one, and the inner service is not called.
#[tokio::test(start_paused = true)]
async fn s13_a_route_that_requires_a_key_refuses_a_request_without_one() {
    let store = spied();
    let app = App::numbered(&shared(store.clone()).require_key());

    let answer = app.send(post_without_key("{}")).await;

    assert_eq!(problem::kind(&answer), (400, "MissingKey".into()));
    assert_eq!((app.runs(), store.all_calls()), (0, 0));
}

/// S14, IK 2.5.2, own: elsewhere a request without a key passes through unchanged, and the store is not asked.
#[tokio::test(start_paused = true)]
async fn s14_a_request_without_a_key_passes_through_unchanged() {
    let store = spied();
    let app = App::new(&shared(store.clone()), |_, request| async move {
        let (parts, body) = request.into_parts();
        let mut response = created(body);
        *response.headers_mut() = parts.headers;
        response
    });
    let request = with_field(post_without_key("{}"), "accept-encoding", "gzip");
    let sent = request.headers().clone();

    for _ in 0..2 {
        let answer = send(&app.service(), request.clone()).await;
        assert_eq!((&answer.headers, answer.text()), (&sent, "{}"));
    }
    assert_eq!((app.runs(), store.all_calls()), (2, 0));
}
