//! Rule 5: whose key it is.

use bytes::Bytes;
use http::{Response, StatusCode, request::Parts};
use lab::{
    exchange::{HeldRequest, post, send},
    handler::Handler,
};
use tower::Layer;
use tower_idempotency::{IdempotencyLayer, idempotency::Scope};

use crate::support::{TestStore, store};

/// Set by a layer outside that authenticates.
#[derive(Clone)]
struct User(&'static str);

fn by_user(store: &TestStore) -> IdempotencyLayer<TestStore> {
    let scope = Scope::by(|parts: &Parts| match parts.extensions.get::<User>() {
        Some(user) => Ok(user.0),
        None => Err(StatusCode::UNAUTHORIZED),
    });
    IdempotencyLayer::new(store.clone(), scope)
}

fn post_of(user: &'static str, key: &str) -> HeldRequest {
    let mut request = post(key, "{}");
    request.extensions_mut().insert(User(user));
    request
}

/// Rule 5: the same key in another scope is another key (V19).
#[tokio::test(start_paused = true)]
async fn two_principals_with_one_key_both_run_and_see_nothing_of_each_other() {
    let handler = Handler::numbered();
    let service = by_user(&store()).layer(handler.clone());

    let ann = send(&service, post_of("ann", "k")).await;
    let bob = send(&service, post_of("bob", "k")).await;
    let ann_again = send(&service, post_of("ann", "k")).await;

    assert_eq!((ann.text(), ann.replayed()), ("run 1", Some("false")));
    assert_eq!((bob.text(), bob.replayed()), ("run 2", Some("false")));
    assert_eq!((ann_again.text(), ann_again.replayed()), ("run 1", Some("true")));
}

/// Rule 5: in a shared scope the key alone counts.
#[tokio::test(start_paused = true)]
async fn in_a_shared_scope_all_callers_share_their_keys() {
    let handler = Handler::numbered();
    let service = crate::support::layer(&store()).layer(handler.clone());

    send(&service, post_of("ann", "k")).await;
    let bob = send(&service, post_of("bob", "k")).await;

    assert_eq!((bob.text(), bob.replayed()), ("run 1", Some("true")));
}

/// Rule 5: scope and key are joined length-prefixed.
#[tokio::test(start_paused = true)]
async fn no_choice_of_a_key_imitates_another_scope() {
    let handler = Handler::numbered();
    let service = by_user(&store()).layer(handler.clone());

    send(&service, post_of("ann", "bk")).await;
    send(&service, post_of("annb", "k")).await;

    assert_eq!(handler.runs(), 2);
}

/// Rule 5: a scope that fails answers its own response and claims nothing.
#[tokio::test(start_paused = true)]
async fn a_scope_that_fails_answers_its_status_and_claims_nothing() {
    let (store, handler) = (store(), Handler::numbered());
    let service = by_user(&store).layer(handler.clone());

    let answer = send(&service, post("k", "{}")).await;

    assert_eq!((answer.status, answer.replayed()), (StatusCode::UNAUTHORIZED, None));
    assert_eq!((handler.runs(), store.all_calls()), (0, 0));
}

/// Rule 5: its own response may be a whole one.
#[tokio::test(start_paused = true)]
async fn a_scope_that_fails_may_answer_a_whole_response() {
    #[expect(clippy::result_large_err, reason = "a whole response is what a scope may answer")]
    let scope = Scope::by(|_| -> Result<String, Response<Bytes>> {
        let mut response = Response::new(Bytes::from_static(b"who are you?"));
        *response.status_mut() = StatusCode::FORBIDDEN;
        Err(response)
    });
    let service = IdempotencyLayer::new(store(), scope).layer(Handler::numbered());

    let answer = send(&service, post("k", "{}")).await;

    assert_eq!((answer.status, answer.text()), (StatusCode::FORBIDDEN, "who are you?"));
}

/// Rule 5: a name that is empty would be everybody's; it is taken for a mistake.
#[tokio::test(start_paused = true)]
async fn an_empty_scope_is_refused_and_claims_nothing() {
    let (store, handler) = (store(), Handler::numbered());
    let service = by_user(&store).layer(handler.clone());

    let answer = send(&service, post_of("", "k")).await;

    assert_eq!((answer.status, handler.runs(), store.all_calls()), (StatusCode::INTERNAL_SERVER_ERROR, 0, 0));
}
