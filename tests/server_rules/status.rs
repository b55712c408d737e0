//! Status of a key: what a client that lost the answer asks, and what an operator can do.

use http::{HeaderValue, Request, StatusCode, request::Parts};
use lab::{
    exchange::{Answer, post, send, sending},
    gate::{Gate, Verb},
    handler::{Handler, numbered, response},
};
use serde_json::{Value, json};
use tower::Layer;
use tower_idempotency::{
    IdempotencyLayer,
    idempotency::{Recording, Scope},
    store::{Held, Status},
};

use crate::support::{TestStore, filed, gate, layer, pass, secs, store};

fn asking(query: &str) -> Parts {
    Request::get(format!("/idempotency{query}")).body(()).expect("a request").into_parts().0
}

async fn state_of(layer: &IdempotencyLayer<TestStore>, key: &str) -> Value {
    let answer =
        Answer::of(layer.answer_status(&asking(&format!("?key={key}"))).await.map(http_body_util::Full::new)).await;
    assert_eq!((answer.status, answer.header("cache-control")), (StatusCode::OK, Some("no-store")));
    serde_json::from_slice(&answer.body).expect("JSON")
}

/// *unknown*.
#[tokio::test(start_paused = true)]
async fn a_key_that_was_never_seen_is_unknown() {
    assert_eq!(state_of(&layer(&store()), "k").await, json!({ "state": "unknown" }));
}

/// *in progress since*, then *lapsed*.
#[tokio::test(start_paused = true)]
async fn a_key_is_in_progress_until_its_lease_lapses() {
    let store = store();
    let layer = layer(&store);
    let handler = Handler::numbered_at(&gate());
    store.set(Verb::Renew, Gate::Never);
    let _first = sending(&layer.layer(handler.clone()), post("k", "{}"));
    handler.started(1).await;

    let running = state_of(&layer, "k").await;
    pass(secs(10)).await;
    let lapsed = state_of(&layer, "k").await;

    assert_eq!((&running["state"], &lapsed["state"]), (&json!("in_progress"), &json!("lapsed")));
    assert!(running["since"].is_string() && running["since"] == lapsed["since"]);
}

/// *done with status*.
#[tokio::test(start_paused = true)]
async fn a_key_that_was_used_is_done_with_its_status() {
    let layer = layer(&store());
    send(&layer.layer(Handler::numbered()), post("k", "{}")).await;

    let state = state_of(&layer, "k").await;

    assert_eq!((&state["state"], &state["status"], &state["replayable"]), (&json!("done"), &json!(201), &json!(true)));
    assert!(state["at"].is_string());
}

/// Rule 15: done and not kept.
#[tokio::test(start_paused = true)]
async fn a_key_whose_response_was_not_kept_is_done_and_not_replayable() {
    let layer = layer(&store());
    let handler = Handler::answering(|_| {
        let mut response = response(201, "");
        response.extensions_mut().insert(Recording::CloseWithoutKeeping);
        response
    });
    send(&layer.layer(handler), post("k", "{}")).await;

    let state = state_of(&layer, "k").await;

    assert_eq!((&state["status"], &state["replayable"]), (&json!(201), &json!(false)));
}

/// The key may stand in the header, and a key in the query is read as one in the header is.
#[tokio::test(start_paused = true)]
async fn a_key_may_be_asked_for_by_header_or_query() {
    let layer = layer(&store());
    send(&layer.layer(Handler::numbered()), post("a b", "{}")).await;
    let mut by_header = asking("");
    by_header.headers.insert("idempotency-key", HeaderValue::from_static("\"a b\""));

    for parts in [by_header, asking("?key=a%20b"), asking("?key=a+b"), asking("?x=1&key=%22a%20b%22")] {
        let answer = Answer::of(layer.answer_status(&parts).await.map(http_body_util::Full::new)).await;
        assert!(answer.text().contains("done"), "{parts:?}");
    }
}

/// No key, or a malformed one, is 400.
#[tokio::test(start_paused = true)]
async fn asking_without_a_key_is_400() {
    for query in ["", "?key=", "?key=%00", "?key=a&key=b"] {
        let response = layer(&store()).answer_status(&asking(query)).await;
        assert_eq!(response.status(), StatusCode::BAD_REQUEST, "{query}");
    }
}

/// In the layer's scope: nobody learns of another one's key.
#[tokio::test(start_paused = true)]
async fn a_key_is_asked_for_in_the_scope_of_the_one_who_asks() {
    #[derive(Clone)]
    struct User(&'static str);
    let scope = Scope::by(|parts: &Parts| match parts.extensions.get::<User>() {
        Some(user) => Ok(user.0),
        None => Err(StatusCode::UNAUTHORIZED),
    });
    let layer = IdempotencyLayer::new(store(), scope);
    let mut request = post("k", "{}");
    request.extensions_mut().insert(User("ann"));
    send(&layer.layer(Handler::numbered()), request).await;

    let mut states = Vec::new();
    for user in [Some("ann"), Some("bob"), None] {
        let mut parts = asking("?key=k");
        parts.extensions.extend(user.map_or_else(http::Extensions::new, |user| {
            let mut extensions = http::Extensions::new();
            extensions.insert(User(user));
            extensions
        }));
        let answer = Answer::of(layer.answer_status(&parts).await.map(http_body_util::Full::new)).await;
        states.push((answer.status.as_u16(), answer.text().contains("done")));
    }

    assert_eq!(states, [(200, true), (200, false), (401, false)]);
}

/// Rule 17: a store that fails is 503 here too.
#[tokio::test(start_paused = true)]
async fn asking_a_store_that_fails_is_503() {
    for gate in [Gate::Fail, Gate::Never] {
        let store = store();
        store.set(Verb::Status, gate);
        let response = layer(&store).answer_status(&asking("?key=k")).await;
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    }
}

/// `force_release` frees an unfinished key, fenced: a repeat runs at once, and the holder can complete nothing.
#[tokio::test(start_paused = true)]
async fn a_key_that_was_released_by_force_runs_again_and_its_holder_is_passed() {
    let layer = layer(&store());
    let (first_ends, second_ends) = (gate(), gate());
    let handler = Handler::numbered_at_each([&first_ends, &second_ends]);
    let service = layer.layer(handler.clone());
    let first = sending(&service, post("k", "{}"));
    handler.started(1).await;

    assert_eq!(layer.force_release(&filed("k")).await.unwrap(), Held::Yes);
    second_ends.add_permits(1);
    let second = send(&service, post("k", "{}")).await;
    first_ends.add_permits(1);

    assert_eq!((second.text(), second.replayed()), ("run 2", Some("false")));
    assert_eq!(first.await.unwrap().text(), "run 2");
}

/// It changes nothing of a finished key.
#[tokio::test(start_paused = true)]
async fn a_finished_key_cannot_be_released_by_force() {
    let layer = layer(&store());
    let service = layer.layer(Handler::numbered());
    send(&service, post("k", "{}")).await;

    assert_eq!(layer.force_release(&filed("k")).await.unwrap(), Held::No);
    assert_eq!(send(&service, post("k", "{}")).await.replayed(), Some("true"));
}

/// `forget` erases a record: a second run.
#[tokio::test(start_paused = true)]
async fn a_key_that_was_forgotten_runs_again() {
    let layer = layer(&store());
    let service = layer.layer(Handler::answering(|call| numbered(call.run)));
    send(&service, post("k", "{}")).await;

    assert_eq!(layer.forget(&filed("k")).await.unwrap(), Held::Yes);
    assert_eq!(layer.forget(&filed("k")).await.unwrap(), Held::No);

    assert_eq!(layer.status(&filed("k")).await.unwrap(), Status::Unknown);
    assert_eq!(send(&service, post("k", "{}")).await.text(), "run 2");
}

/// The ready-made route.
#[cfg(feature = "axum")]
#[tokio::test(start_paused = true)]
async fn the_status_of_a_key_is_a_route() {
    use axum::{Router, body::Body};
    let layer = layer(&store());
    send(&layer.layer(Handler::numbered()), post("k", "{}")).await;
    let app: Router = Router::new().route("/idempotency", layer.status_route());

    let request = Request::get("/idempotency?key=k").body(Body::empty()).unwrap();
    let answer = send(&app, request).await;

    assert_eq!((answer.status, answer.header("content-type")), (StatusCode::OK, Some("application/json")));
    assert!(answer.text().contains("\"done\""));
}
