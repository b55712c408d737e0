//! What the handler holds: `Claim` as an extractor.

use axum::{
    Router,
    body::Body,
    extract::State,
    routing::{get, post as on_post},
};
use http::{Method, Request, StatusCode};
use lab::{
    exchange::{post, post_without_key, send},
    gate::{Gate, Verb},
};
use tokio::sync::mpsc;
use tower_idempotency::{
    IdempotencyLayer,
    idempotency::{Claim, Scope},
};

use crate::support::{TestStore, gate, layer, pass, secs, store};

type Held = Claim<TestStore>;

fn axum(request: lab::exchange::HeldRequest) -> Request<Body> {
    request.map(Body::new)
}

/// A route that asks for a claim, and one that takes it if there is one.
fn routes() -> Router {
    Router::new()
        .route("/reports", on_post(async |claim: Held| claim.key().to_string()))
        .route("/either", on_post(async |claim: Option<Held>| claim.is_some().to_string()))
        .route("/read", get(async |claim: Held| claim.key().to_string()))
}

fn to(path: &'static str, request: lab::exchange::HeldRequest) -> Request<Body> {
    let mut request = axum(request);
    *request.uri_mut() = http::Uri::from_static(path);
    request
}

/// "What the handler holds": the key that the client sent, without quotes.
#[tokio::test(start_paused = true)]
async fn a_handler_gets_the_claim_of_its_request() {
    let app = routes().layer(layer(&store()));

    let answer = send(&app, axum(post("\"the key\"", "{}"))).await;

    assert_eq!((answer.status, answer.text()), (StatusCode::OK, "the key"));
}

/// No layer above it: 500.
#[tokio::test(start_paused = true)]
async fn a_handler_without_a_layer_above_it_is_500() {
    assert_eq!(send(&routes(), axum(post("k", "{}"))).await.status, StatusCode::INTERNAL_SERVER_ERROR);
}

/// A layer of another store is none.
#[tokio::test(start_paused = true)]
async fn a_handler_under_a_layer_of_another_store_is_500() {
    use tower_idempotency::{MemoryStore, idempotency::Scope};
    let app = routes().layer(IdempotencyLayer::new(MemoryStore::new(), Scope::shared()));

    assert_eq!(send(&app, axum(post("k", "{}"))).await.status, StatusCode::INTERNAL_SERVER_ERROR);
}

/// A method that the layer does not guard has no claim either.
#[tokio::test(start_paused = true)]
async fn a_handler_of_an_unguarded_method_is_500() {
    let app = routes().layer(layer(&store()));
    let mut request = to("/read", post("k", ""));
    *request.method_mut() = Method::GET;

    assert_eq!(send(&app, request).await.status, StatusCode::INTERNAL_SERVER_ERROR);
}

/// A layer but no key: 400, as a problem.
#[tokio::test(start_paused = true)]
async fn a_handler_without_a_key_is_400() {
    let app = routes().layer(layer(&store()));

    let answer = send(&app, axum(post_without_key("{}"))).await;

    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
    assert_eq!(answer.header("content-type"), Some("application/problem+json"));
    assert!(answer.text().contains("MissingKey"));
}

/// Rule 17: served unprotected, the extractor answers 503.
#[tokio::test(start_paused = true)]
async fn a_handler_that_is_served_unprotected_is_503() {
    let store = store();
    let app = routes().layer(layer(&store).serve_unprotected_when_the_store_fails());
    store.set(Verb::Claim, Gate::Fail);

    let answer = send(&app, axum(post("k", "{}"))).await;

    assert_eq!((answer.status, answer.header("retry-after")), (StatusCode::SERVICE_UNAVAILABLE, Some("1")));
}

/// `Option<Claim<S>>` works, whatever the reason for there being none.
#[tokio::test(start_paused = true)]
async fn a_claim_may_be_optional() {
    let store = store();
    let app = routes().layer(layer(&store).serve_unprotected_when_the_store_fails());

    assert_eq!(send(&app, to("/either", post("k", "{}"))).await.text(), "true");
    assert_eq!(send(&app, to("/either", post_without_key("{}"))).await.text(), "false");
    assert_eq!(send(&routes(), to("/either", post("k", "{}"))).await.text(), "false");
    store.set(Verb::Claim, Gate::Fail);
    assert_eq!(send(&app, to("/either", post("l", "{}"))).await.text(), "false");
}

/// `child_key` is the same on each attempt, and another for each step and each key; `fence` and `attempt` rise.
#[tokio::test(start_paused = true)]
async fn a_claim_names_its_steps_alike_on_each_attempt() {
    let (store, stuck) = (store(), gate());
    let (claims, mut claimed) = mpsc::unbounded_channel::<Held>();
    let app = Router::new()
        .route(
            "/reports",
            on_post(async move |State(claims): State<mpsc::UnboundedSender<Held>>, claim: Held| {
                let first = claim.attempt() == 1 && claim.key().as_str() == "k";
                claims.send(claim).expect("the test receives");
                if first {
                    drop(stuck.acquire().await);
                }
            }),
        )
        .with_state(claims)
        .layer(layer(&store));
    store.set(Verb::Renew, Gate::Never);

    let _lapses = lab::exchange::sending(&app, axum(post("k", "{}")));
    let first = claimed.recv().await.unwrap();
    pass(secs(10)).await;
    send(&app, axum(post("k", "{}"))).await;
    let second = claimed.recv().await.unwrap();
    send(&app, axum(post("other", "{}"))).await;
    let other = claimed.recv().await.unwrap();

    assert_eq!(first.child_key("notify"), second.child_key("notify"));
    assert_ne!(first.child_key("notify"), first.child_key("charge"));
    assert_ne!(first.child_key("notify"), other.child_key("notify"));
    assert_eq!((first.attempt(), second.attempt(), other.attempt()), (1, 2, 1));
    assert!(first.fence() < second.fence() && second.fence() < other.fence());
}

/// Rule 5: to the server downstream the principals of this one are one caller, so a step's key carries the scope.
#[tokio::test(start_paused = true)]
async fn a_step_of_the_same_key_in_another_scope_has_another_key() {
    let scope = Scope::by(|parts| Ok::<_, StatusCode>(parts.headers["x-user"].to_str().expect("text").to_owned()));
    let app = Router::new()
        .route("/reports", on_post(async |claim: Held| claim.child_key("charge").to_string()))
        .layer(IdempotencyLayer::new(store(), scope));
    let from = |user: &str| {
        let mut request = axum(post("order-1", "{}"));
        request.headers_mut().insert("x-user", user.parse().expect("a value"));
        request
    };

    let (alice, bob) = (send(&app, from("alice")).await, send(&app, from("bob")).await);

    assert_eq!((alice.status, bob.status), (StatusCode::OK, StatusCode::OK));
    assert_ne!(alice.text(), bob.text());
}

/// What a claim shows in a log is not the answer nor the store.
#[tokio::test(start_paused = true)]
async fn a_claim_can_be_shown() {
    let app = Router::new().route("/reports", on_post(async |claim: Held| format!("{claim:?}"))).layer(layer(&store()));

    let answer = send(&app, axum(post("k", "{}"))).await;

    assert!(answer.text().starts_with("Claim { token: "), "{}", answer.text());
}
