//! S15 to S20 and S23, S24: whose key it is, and which request it belongs to.

use std::time::Duration;

use http::{Method, StatusCode, request::Parts};
use lab::{
    app::{App, Hold, Runs, created, streaming},
    exchange::{HeldRequest, post, send},
    problem,
};
use tower::Layer;
use tower_idempotency::{
    IdempotencyKey, IdempotencyLayer, Store,
    idempotency::Scope,
    store::{ClaimRequest, Claimed, Fingerprint, ScopedKey},
};

use crate::{of_type, send_to, shared, spied, with_field};

/// Set by the authentication layer outside.
#[derive(Clone)]
struct Principal(&'static str);

fn by_principal() -> Scope {
    Scope::by(|parts: &Parts| {
        parts.extensions.get::<Principal>().map(|principal| principal.0).ok_or(StatusCode::UNAUTHORIZED)
    })
}

fn from(principal: &'static str, key: &str, body: &'static str) -> HeldRequest {
    let mut request = post(key, body);
    request.extensions_mut().insert(Principal(principal));
    request
}

/// S15, IK 5, recommended; here within the layer's scope, as rule 5 has it: the same key of two principals is two keys,
/// and neither sees the other's status, body or existence.
#[tokio::test(start_paused = true)]
async fn s15_two_principals_never_share_a_key() {
    let app = App::numbered(&IdempotencyLayer::new(spied(), by_principal()));

    let first = app.send(from("ann", "k", "{}")).await;
    let second = app.send(from("bob", "k", "{}")).await;
    let other_body = app.send(from("cid", "k", r#"{"a":1}"#)).await;

    assert_eq!((first.text(), first.replayed()), ("run 1", Some("false")));
    assert_eq!((second.text(), second.replayed()), ("run 2", Some("false")));
    assert_eq!((other_body.text(), other_body.replayed()), ("run 3", Some("false")));
    assert_eq!(app.send(from("ann", "k", "{}")).await.text(), "run 1");
}

/// S15: nor does one wait for the other.
#[tokio::test(start_paused = true)]
async fn s15_a_key_in_use_by_one_principal_is_free_for_another() {
    let hold = Hold::new();
    let held = hold.clone();
    let app = App::new(&IdempotencyLayer::new(spied(), by_principal()), move |run, _| {
        let held = held.clone();
        async move {
            held.pass().await;
            created(format!("run {run}"))
        }
    });
    let (ann, bob) = (app.start(from("ann", "k", "{}")), app.start(from("bob", "k", "{}")));
    hold.reached().await;
    hold.reached().await;
    hold.let_go(2);
    assert_eq!((ann.await.unwrap().status, bob.await.unwrap().status), (StatusCode::CREATED, StatusCode::CREATED));
}

/// S15: a scope that fails answers its own response and claims nothing.
#[tokio::test(start_paused = true)]
async fn s15_a_principal_that_cannot_be_told_is_refused_before_any_claim() {
    let store = spied();
    let app = App::numbered(&IdempotencyLayer::new(store.clone(), by_principal()));
    assert_eq!(app.send(post("k", "{}")).await.status, StatusCode::UNAUTHORIZED);
    assert_eq!((app.runs(), store.all_calls()), (0, 0));
}

/// S16, own, after ACP 6.1 and Stripe: the same key with another method, path or query never replays the first
/// response; it is answered 422.
#[tokio::test(start_paused = true)]
async fn s16_another_method_path_or_query_is_another_request() {
    let app = App::numbered(&shared(spied()));
    app.send(send_to(Method::POST, "/orders/1?a=1", "k", "{}")).await;
    for (method, target) in [
        (Method::PATCH, "/orders/1?a=1"),
        (Method::POST, "/orders/2?a=1"),
        (Method::POST, "/orders/1?a=2"),
        (Method::POST, "/orders/1"),
        (Method::POST, "/orders/1/?a=1"),
    ] {
        let answer = app.send(send_to(method.clone(), target, "k", "{}")).await;
        assert_eq!(problem::kind(&answer), (422, "KeyReused".into()), "{method} {target}");
        assert_eq!(problem::of(&answer)["differs"], serde_json::json!(["target"]));
    }
    assert_eq!(app.runs(), 1);
}

/// S17, IK 2.2 and 2.7, SHOULD: the same key with another payload is a 422 problem, and the inner service is not called.
#[tokio::test(start_paused = true)]
async fn s17_another_payload_is_422() {
    let app = App::numbered(&shared(spied()));
    app.send(post("k", r#"{"amount":1}"#)).await;
    for body in [r#"{"amount":2}"#, r#"{"amount":1} "#, ""] {
        let answer = app.send(post("k", body)).await;
        assert_eq!(problem::kind(&answer), (422, "KeyReused".into()), "{body}");
        assert_eq!(problem::of(&answer)["differs"], serde_json::json!(["body"]));
    }
    assert_eq!(app.runs(), 1);
}

/// S17: the status is a setting, for APIs that promise 409 or 400.
#[tokio::test(start_paused = true)]
async fn s17_the_status_of_a_reused_key_is_a_setting() {
    let app = App::numbered(&shared(spied()).mismatch_status(StatusCode::CONFLICT));
    app.send(post("k", "1")).await;
    assert_eq!(problem::kind(&app.send(post("k", "2")).await), (409, "KeyReused".into()));
}

/// S18, own: if the first still runs and the payload differs, 422 and not 409.
#[tokio::test(start_paused = true)]
async fn s18_another_payload_is_422_while_the_first_still_runs() {
    let hold = Hold::new();
    let held = hold.clone();
    let app = App::new(&shared(spied()), move |_, _| {
        let held = held.clone();
        async move {
            held.pass().await;
            created("one")
        }
    });
    let first = app.start(post("k", "1"));
    hold.reached().await;

    assert_eq!(problem::kind(&app.send(post("k", "2")).await), (422, "KeyReused".into()));

    hold.let_go(1);
    assert_eq!(first.await.unwrap().text(), "one");
}

/// S19, own: after a 422 the record is as it was, and replays.
#[tokio::test(start_paused = true)]
async fn s19_a_422_leaves_the_record_as_it_was() {
    let app = App::numbered(&shared(spied()));
    app.send(post("k", "1")).await;
    app.send(post("k", "2")).await;
    let repeat = app.send(post("k", "1")).await;
    assert_eq!((repeat.text(), repeat.replayed()), ("run 1", Some("true")));
}

/// S19: not even the lease of one that runs is touched by a 422.
#[tokio::test(start_paused = true)]
async fn s19_a_422_does_not_touch_a_running_claim() {
    let store = spied();
    let (parts, _) = post("k", "").into_parts();
    let request = |body: &[u8]| ClaimRequest {
        key: ScopedKey::new("", &IdempotencyKey::parse("k").unwrap()),
        fingerprint: Fingerprint::exact(&parts, body),
        lease: Duration::from_secs(10),
        retention: Duration::from_secs(60),
    };
    assert!(matches!(store.claim(&request(b"1")).await, Ok(Claimed::Acquired { .. })));
    tokio::time::advance(Duration::from_secs(4)).await;

    assert_eq!(App::numbered(&shared(store.clone())).send(post("k", "2")).await.status, 422);

    let Ok(Claimed::InFlight { lease_left }) = store.claim(&request(b"1")).await else { panic!("it runs") };
    assert_eq!(lease_left, Duration::from_secs(6));
}

/// S20, IK 2.4 and 9530 5, own: the content type is part of the request.
#[tokio::test(start_paused = true)]
async fn s20_another_content_type_is_another_request() {
    let app = App::numbered(&shared(spied()));
    app.send(of_type("application/json", "k", "1")).await;
    let answer = app.send(of_type("text/plain", "k", "1")).await;
    assert_eq!(problem::kind(&answer), (422, "KeyReused".into()));
    assert_eq!(problem::of(&answer)["differs"], serde_json::json!(["content_type"]));
}

/// S20, own: three digests of SHA-256's length, and nothing of the request itself, are what a store is given.
#[test]
fn s20_a_fingerprint_is_three_digests() {
    let (parts, _) = post("k", "").into_parts();
    let fingerprint = Fingerprint::exact(&parts, b"a secret").to_bytes();
    assert_eq!(fingerprint.len(), 3 * 32);
    assert!(!fingerprint.windows(6).any(|bytes| bytes == b"secret"));
}

/// S20, own: it can be replaced, or switched off by a name that says what that means.
#[tokio::test(start_paused = true)]
async fn s20_the_fingerprint_is_pluggable_and_can_be_off() {
    let pluggable = App::numbered(
        &shared(spied()).with_fingerprint(|parts, _| Fingerprint::of(parts.uri.path().as_bytes(), b"", b"")),
    );
    pluggable.send(send_to(Method::POST, "/a?x=1", "k", "1")).await;
    assert_eq!(pluggable.send(send_to(Method::POST, "/a?x=2", "k", "2")).await.replayed(), Some("true"));
    assert_eq!(pluggable.send(send_to(Method::POST, "/b?x=1", "k", "1")).await.status, 422);

    let off = App::numbered(&shared(spied()).with_fingerprint(Fingerprint::unchecked));
    off.send(send_to(Method::POST, "/a", "k", "1")).await;
    assert_eq!(off.send(send_to(Method::PATCH, "/b", "k", "2")).await.replayed(), Some("true"));
}

/// S23, 9530 2 and 6.1, own: a client's Content-Digest is never believed; the received bytes count.
#[tokio::test(start_paused = true)]
async fn s23_a_digest_that_the_client_sends_decides_nothing() {
    const DIGEST: &str = "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:";
    let app = App::numbered(&shared(spied()));
    app.send(with_field(post("k", "1"), "content-digest", DIGEST)).await;

    let same_digest_other_bytes = app.send(with_field(post("k", "2"), "content-digest", DIGEST)).await;
    let same_bytes_no_digest = app.send(post("k", "1")).await;

    assert_eq!(problem::kind(&same_digest_other_bytes), (422, "KeyReused".into()));
    assert_eq!(same_bytes_no_digest.replayed(), Some("true"));
}

/// S24, 9110 15.5.14, own: a body above the limit is 413 before any claim.
#[tokio::test(start_paused = true)]
async fn s24_a_body_above_the_limit_is_refused_before_any_claim() {
    let store = spied();
    let app = App::numbered(&shared(store.clone()).max_request_body(10));
    let answer = app.send(post("k", "12345678901")).await;
    assert_eq!(problem::kind(&answer), (413, "BodyTooLarge".into()));
    assert_eq!(problem::of(&answer)["max_bytes"], 10);
    assert_eq!((app.runs(), store.all_calls()), (0, 0));
}

/// S24: whether its length is announced or not.
#[tokio::test(start_paused = true)]
async fn s24_a_body_of_unknown_length_is_refused_where_it_goes_beyond_the_limit() {
    let (store, runs) = (spied(), Runs::default());
    let service = shared(store.clone()).max_request_body(10).layer(runs.counting(|_, _| async { Ok(created("")) }));
    let (parts, body) = streaming();
    for part in ["123456", "78901"] {
        parts.send(part.into()).unwrap();
    }
    let answer = send(&service, post("k", "").map(|_| body)).await;
    assert_eq!(problem::kind(&answer), (413, "BodyTooLarge".into()));
    assert_eq!((runs.count(), store.all_calls()), (0, 0));
}

/// S24: at the limit the inner service receives the identical bytes.
#[tokio::test(start_paused = true)]
async fn s24_a_body_at_the_limit_reaches_the_handler_byte_for_byte() {
    let bytes: Vec<u8> = (0..=255).collect();
    let app = App::new(&shared(spied()).max_request_body(256), |_, request| async { created(request.into_body()) });
    assert_eq!(app.send(post("k", bytes.clone())).await.body, bytes);
}
