//! V15 to V22 and V38: which requests are the same, and whose.

use std::convert::Infallible;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, StatusCode, request::Parts};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody, combinators::UnsyncBoxBody};
use lab::{
    app::{App, Runs, answer, created},
    exchange::{Answer, HeldRequest, post, send},
    problem,
    wire::Server,
};
use tower::Layer;
use tower_idempotency::{IdempotencyLayer, MemoryStore, idempotency::Scope, store::Fingerprint};

use crate::shared;

fn with_field(mut request: HeldRequest, name: &'static str, value: impl AsRef<[u8]>) -> HeldRequest {
    let value = HeaderValue::from_bytes(value.as_ref()).expect("a field value");
    request.headers_mut().append(HeaderName::from_static(name), value);
    request
}

fn to(target: &str) -> HeldRequest {
    let mut request = post("k", "{}");
    *request.uri_mut() = target.parse().expect("a target");
    request
}

fn assert_reused(answer: &Answer, differs: &str) {
    assert_eq!(problem::kind(answer), (422, "KeyReused".into()));
    assert_eq!(problem::of(answer)["differs"], serde_json::json!([differs]));
}

/// V15: a body in many small frames, empty ones among them, and as one: the same fingerprint, and the handler gets
/// identical bytes.
#[tokio::test(start_paused = true)]
async fn v15_a_body_is_the_same_however_it_is_framed() {
    let bytes = Bytes::from_iter((0..=255).cycle().take(10_000));
    let (runs, expected) = (Runs::default(), bytes.clone());
    let handler = runs.counting(move |_, request| {
        let same = request.into_body() == expected;
        async move { Ok(created(same.to_string())) }
    });
    let service = shared(MemoryStore::new()).layer(handler);
    let framed = |size: usize| -> UnsyncBoxBody<Bytes, Infallible> {
        let frames: Vec<_> = bytes.chunks(size).flat_map(|chunk| [chunk, b""]).map(Bytes::copy_from_slice).collect();
        let frames = frames.into_iter().map(|chunk| Ok(Frame::data(chunk)));
        StreamBody::new(futures_util::stream::iter(frames)).boxed_unsync()
    };
    for key in ["by the byte", "by seven", "whole"] {
        for size in [1, 7, 10_000] {
            let answer = send(&service, post(key, "").map(|_| framed(size))).await;
            assert_eq!((answer.status, answer.text()), (StatusCode::CREATED, "true"), "{key}, then {size}");
        }
        let known = send(&service, post(key, bytes.clone()).map(BodyExt::boxed_unsync)).await;
        assert_eq!(known.replayed(), Some("true"));
    }
    assert_eq!(runs.count(), 3);
}

/// V15: with and without Content-Length on the wire.
#[tokio::test]
async fn v15_a_chunked_body_is_the_same_as_one_of_known_length() {
    let app = App::numbered(&shared(MemoryStore::new()));
    let server = Server::of_app(app.service()).await;
    let mut wire = server.connect().await;
    wire.write(
        "POST /reports HTTP/1.1\r\nhost: lab\r\ncontent-type: application/json\r\nidempotency-key: k\r\n\
         transfer-encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n",
    )
    .await;
    assert!(wire.read_until("run 1").await.contains("idempotency-replayed: false"));
    assert_eq!(server.send(post("k", "{}")).await.replayed(), Some("true"));
}

/// V16: the same key with another query or path is 422, never the other's response.
#[tokio::test(start_paused = true)]
async fn v16_another_query_or_path_is_422() {
    for (first, second) in [("/orders?a=1", "/orders?a=2"), ("/orders/1", "/orders/2")] {
        let app = App::numbered(&shared(MemoryStore::new()));
        app.send(to(first)).await;
        assert_reused(&app.send(to(second)).await, "target");
    }
}

/// V16: two nested routers with the same inner path do not collide.
#[cfg(feature = "axum")]
#[tokio::test(start_paused = true)]
async fn v16_two_nested_routers_with_the_same_inner_path_do_not_collide() {
    use axum::{Router, routing::post as on_post};
    let layer = shared(MemoryStore::new());
    let nested = |answer: &'static str| Router::new().route("/orders", on_post(answer)).layer(layer.clone());
    let app = Router::new().nest("/a", nested("of a")).nest("/b", nested("of b"));
    let request = |target: &str| to(target).map(axum::body::Body::new);

    assert_eq!(send(&app, request("/a/orders")).await.text(), "of a");
    assert_reused(&send(&app, request("/b/orders")).await, "target");
    assert_eq!(send(&app, request("/a/orders")).await.replayed(), Some("true"));
}

/// V17: the same bytes with another Content-Type are another request; so are no Content-Type, and two of them.
#[tokio::test(start_paused = true)]
async fn v17_another_content_type_is_422() {
    let app = App::numbered(&shared(MemoryStore::new()));
    app.send(post("k", "{}")).await;
    let mut other = post("k", "{}");
    other.headers_mut().insert("content-type", HeaderValue::from_static("application/xml"));
    let mut none = post("k", "{}");
    none.headers_mut().remove("content-type");
    let two = with_field(post("k", "{}"), "content-type", "application/json");
    for request in [other, none, two] {
        assert_reused(&app.send(request).await, "content_type");
    }
}

/// V18: JSON texts that a careless reader takes for the same are different, in JSON mode too.
#[tokio::test(start_paused = true)]
async fn v18_json_that_differs_is_never_taken_for_the_same() {
    for (first, second) in [
        (r#"{"amount":1,"amount":2}"#, r#"{"amount":2}"#),
        ("0.1", "0.1000000000000000055"),
        ("9007199254740992", "9007199254740993"),
    ] {
        for layer in [shared(MemoryStore::new()), shared(MemoryStore::new()).with_fingerprint(Fingerprint::json)] {
            let app = App::numbered(&layer);
            app.send(post("k", first)).await;
            assert_reused(&app.send(post("k", second)).await, "body");
        }
    }
}

/// V19: two principals, same key, same body: both run, and neither sees anything of the other; not even where one
/// name and key joined look like the other's.
#[tokio::test(start_paused = true)]
async fn v19_two_principals_never_meet() {
    #[derive(Clone)]
    struct Principal(&'static str);
    let by_principal = Scope::by(|parts: &Parts| {
        parts.extensions.get::<Principal>().map(|principal| principal.0).ok_or(StatusCode::UNAUTHORIZED)
    });
    let app = App::numbered(&IdempotencyLayer::new(MemoryStore::new(), by_principal));
    for (n, (principal, key)) in [("a", "b:c"), ("a:b", "c"), ("a", "c"), ("ab", "c"), ("b", "c")].iter().enumerate() {
        let mut request = post(key, "{}");
        request.extensions_mut().insert(Principal(principal));
        let answer = app.send(request).await;
        assert_eq!((answer.text(), answer.replayed()), (format!("run {}", n + 1).as_str(), Some("false")));
    }
}

/// V20: odd keys are stored safely or answered 400.
#[tokio::test(start_paused = true)]
async fn v20_odd_keys_are_keys_or_400() {
    let printable = |from: u8, len| (b' '..=b'~').cycle().skip(from.into()).take(len).collect::<Vec<_>>();
    let app = App::numbered(&shared(MemoryStore::new()));
    // From the fourth printable character on: the first is the space, the third the quote.
    let keys = [b"user".to_vec(), b"../x".to_vec(), b"a:b".to_vec(), b"'; DROP TABLE keys; --".to_vec()];
    for (n, key) in keys.into_iter().chain((3..20).map(|from| printable(from, 255))).enumerate() {
        for replayed in ["false", "true"] {
            let answer = app.send(with_field(post_unkeyed(), "idempotency-key", &key)).await;
            assert_eq!(answer.replayed(), Some(replayed), "{:?}", String::from_utf8_lossy(&key));
            assert_eq!(answer.text(), format!("run {}", n + 1));
        }
    }
    for key in [printable(3, 256), b"".to_vec(), b"  ".to_vec(), "é".into(), b"a\tb".to_vec()] {
        let answer = app.send(with_field(post_unkeyed(), "idempotency-key", &key)).await;
        assert_eq!(problem::kind(&answer), (400, "InvalidKey".into()), "{:?}", String::from_utf8_lossy(&key));
    }
}

/// V20: a NUL cannot be part of a field value, whoever refuses it.
#[tokio::test]
async fn v20_a_nul_in_a_key_is_400() {
    let app = App::numbered(&shared(MemoryStore::new()));
    let server = Server::of_app(app.service()).await;
    let mut wire = server.connect().await;
    wire.post("a\0b", "{}").await;
    assert!(wire.read_head().await.starts_with("HTTP/1.1 400"));
    assert_eq!(app.runs(), 0);
}

fn post_unkeyed() -> HeldRequest {
    let mut request = post("k", "{}");
    request.headers_mut().remove("idempotency-key");
    request
}

/// V21: the key header twice, with different keys and with the same one, is 400.
#[tokio::test(start_paused = true)]
async fn v21_two_key_headers_are_400() {
    let app = App::numbered(&shared(MemoryStore::new()));
    for second in ["other", "k", "\"k\""] {
        let answer = app.send(with_field(post("k", "{}"), "idempotency-key", second)).await;
        assert_eq!(problem::kind(&answer), (400, "InvalidKey".into()));
    }
    assert_eq!(app.runs(), 0);
}

/// V22: the replay marker on a request is ignored, and a handler's own is replaced.
#[tokio::test(start_paused = true)]
async fn v22_nobody_but_the_layer_sets_the_marker() {
    let app = App::new(&shared(MemoryStore::new()), |_, _| async {
        let mut response = created("");
        response.headers_mut().insert("idempotency-replayed", HeaderValue::from_static("true"));
        response
    });
    for replayed in ["false", "true"] {
        let answer = app.send(with_field(post("k", "{}"), "idempotency-replayed", "true")).await;
        assert_eq!(answer.replayed(), Some(replayed));
    }
    assert_eq!(app.runs(), 1);
}

/// V38: 400 for a missing field, then the corrected body under the same key: it runs.
#[tokio::test(start_paused = true)]
async fn v38_a_corrected_request_runs_under_the_same_key() {
    let app = App::new(&shared(MemoryStore::new()), |_, request| async move {
        match request.into_body().is_empty() {
            true => answer(StatusCode::BAD_REQUEST, "a field is missing"),
            false => created("made"),
        }
    });
    assert_eq!(app.send(post("k", "")).await.status, StatusCode::BAD_REQUEST);
    let corrected = app.send(post("k", "{}")).await;
    assert_eq!((corrected.text(), corrected.replayed()), ("made", Some("false")));
    assert_eq!(app.send(post("k", "{}")).await.replayed(), Some("true"));
}
