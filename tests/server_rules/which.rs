//! Rules 1 to 3: which requests, and which key.

use http::{HeaderName, HeaderValue, Method, Request, StatusCode};
use lab::{
    exchange::{post, post_without_key, send},
    gate::Verb,
    handler::Handler,
    untouched::UntouchedBody,
};
use tower::Layer;
use tower_idempotency::{
    IdempotencyLayer, MemoryStore,
    idempotency::{RejectionKind, Scope},
    key::KeySyntax,
};

use crate::support::{layer, post_body, refusal, respond, store};

fn with_method(method: Method) -> lab::exchange::HeldRequest {
    let mut request = post("k", "{}");
    *request.method_mut() = method;
    request
}

/// Rule 1: POST and PATCH.
#[tokio::test(start_paused = true)]
async fn posts_and_patches_are_guarded() {
    for method in [Method::POST, Method::PATCH] {
        let (store, handler) = (store(), Handler::numbered());
        let service = layer(&store).layer(handler.clone());

        send(&service, with_method(method.clone())).await;
        let repeat = send(&service, with_method(method)).await;

        assert_eq!((handler.runs(), repeat.replayed()), (1, Some("true")));
    }
}

/// Rule 1: every other method passes through untouched, key or not.
#[tokio::test(start_paused = true)]
async fn every_other_method_passes_through() {
    for method in [Method::GET, Method::HEAD, Method::PUT, Method::DELETE, Method::OPTIONS] {
        let (store, handler) = (store(), Handler::numbered());
        let service = layer(&store).layer(handler.clone());

        send(&service, with_method(method.clone())).await;
        let repeat = send(&service, with_method(method)).await;

        assert_eq!((repeat.text(), repeat.replayed(), store.all_calls()), ("run 2", None, 0));
    }
}

/// Rule 1: the methods are a setting.
#[tokio::test(start_paused = true)]
async fn the_guarded_methods_are_a_setting() {
    let (store, handler) = (store(), Handler::numbered());
    let service = layer(&store).methods([Method::PUT]).layer(handler.clone());

    for method in [Method::PUT, Method::PUT, Method::POST, Method::POST] {
        send(&service, with_method(method)).await;
    }

    assert_eq!((handler.runs(), store.calls(Verb::Claim)), (3, 2));
}

/// Rule 1: a request that carries a claim of the same store passes through an inner layer (V35).
#[tokio::test(start_paused = true)]
async fn a_layer_inside_another_one_of_the_same_store_does_not_meet_its_own_lease() {
    let (store, handler) = (store(), Handler::numbered());
    let service = layer(&store).layer(layer(&store).layer(handler.clone()));

    let first = send(&service, post("k", "{}")).await;
    let repeat = send(&service, post("k", "{}")).await;

    assert_eq!((first.status, first.replayed()), (StatusCode::CREATED, Some("false")));
    assert_eq!((repeat.text(), repeat.replayed()), ("run 1", Some("true")));
    assert_eq!((handler.runs(), store.calls(Verb::Claim)), (1, 2));
}

/// Rule 1: a claim of another store's type is none of this layer's.
#[tokio::test(start_paused = true)]
async fn a_layer_inside_one_of_another_store_guards_too() {
    let (inner, outer) = (store(), MemoryStore::new());
    let service = IdempotencyLayer::new(outer.clone(), Scope::shared()).layer(layer(&inner).layer(Handler::numbered()));

    send(&service, post("k", "{}")).await;

    assert_eq!((inner.inner().len(), outer.len()), (1, 1));
}

/// Rule 2: no key passes through untouched.
#[tokio::test(start_paused = true)]
async fn a_request_without_a_key_passes_through() {
    let (store, handler) = (store(), Handler::numbered());
    let service = layer(&store).layer(handler.clone());

    send(&service, post_without_key("{}")).await;
    let repeat = send(&service, post_without_key("{}")).await;

    assert_eq!((repeat.text(), repeat.replayed(), store.all_calls()), ("run 2", None, 0));
}

/// Rule 2: or it is 400.
#[tokio::test(start_paused = true)]
async fn a_layer_that_requires_a_key_refuses_a_request_without_one() {
    let (store, handler) = (store(), Handler::numbered());
    let service = layer(&store).require_key().layer(handler.clone());

    let response = respond(&service, post_without_key("{}")).await;

    assert!(matches!(refusal(&response), RejectionKind::MissingKey));
    assert_eq!((response.status(), handler.runs(), store.all_calls()), (StatusCode::BAD_REQUEST, 0, 0));
}

/// Rule 3: a malformed key is 400 before anything else: body, scope and store are not touched (V20).
#[tokio::test(start_paused = true)]
async fn a_malformed_key_is_refused_before_anything_else() {
    let (store, handler) = (store(), Handler::numbered());
    let never = Scope::by(|_| -> Result<String, StatusCode> { panic!("the scope was asked") });
    let service = IdempotencyLayer::new(store.clone(), never).layer(handler.clone());
    let too_long = "a".repeat(256);
    let malformed: [&[u8]; 10] =
        [b"", b" ", b"\t ", b"\"\"", b"\" \"", b"\"abc", b"\"a\"b\"", b"caf\xE9", b"a\tb", too_long.as_bytes()];

    for value in malformed {
        let mut request = post_body("k", UntouchedBody::of("{}"));
        request.headers_mut().insert("idempotency-key", HeaderValue::from_bytes(value).unwrap());
        let response = respond(&service, request).await;

        let shown = String::from_utf8_lossy(value);
        assert!(matches!(refusal(&response), RejectionKind::InvalidKey(_)), "{shown}");
        assert_eq!(response.status(), StatusCode::BAD_REQUEST, "{shown}");
    }
    assert_eq!((handler.runs(), store.all_calls()), (0, 0));
}

/// Rule 3: more than one field line is malformed, alike or not (V21).
#[tokio::test(start_paused = true)]
async fn two_lines_of_the_key_are_refused() {
    for second in ["k", "other"] {
        let (store, handler) = (store(), Handler::numbered());
        let service = layer(&store).layer(handler.clone());
        let mut request = post("k", "{}");
        request.headers_mut().append("idempotency-key", second.parse().unwrap());

        let response = respond(&service, request).await;

        assert_eq!((response.status(), handler.runs(), store.all_calls()), (StatusCode::BAD_REQUEST, 0, 0));
    }
}

/// Sends both values of the key; whether they were one key, or the status that refused the second.
async fn same_key(syntax: KeySyntax, first: &str, second: &str) -> Result<bool, StatusCode> {
    let handler = Handler::numbered();
    let service = layer(&store()).key_syntax(syntax).layer(handler.clone());
    send(&service, post(first, "{}")).await;
    let answer = send(&service, post(second, "{}")).await;
    if answer.status.is_success() { Ok(handler.runs() == 1) } else { Err(answer.status) }
}

/// Rule 3: `Lenient` is the default.
#[tokio::test(start_paused = true)]
async fn quoted_and_bare_are_the_same_key_by_default() {
    assert_eq!(same_key(KeySyntax::default(), "abc", "\"abc\"").await, Ok(true));
}

/// Rule 3: the trimmed value is the key; case counts.
#[tokio::test(start_paused = true)]
async fn whitespace_around_a_key_does_not_count_and_case_does() {
    assert_eq!(same_key(KeySyntax::Lenient, "abc", " abc\t").await, Ok(true));
    assert_eq!(same_key(KeySyntax::Lenient, "abc", "ABC").await, Ok(false));
}

/// Rule 3: parameters are ignored.
#[tokio::test(start_paused = true)]
async fn parameters_of_a_quoted_key_are_ignored() {
    assert_eq!(same_key(KeySyntax::Lenient, "\"abc\"", "\"abc\";attempt=2").await, Ok(true));
}

/// Rule 3: `Strict` takes a String only.
#[tokio::test(start_paused = true)]
async fn a_strict_layer_refuses_a_bare_key() {
    assert_eq!(same_key(KeySyntax::Strict, "\"abc\"", "abc").await, Err(StatusCode::BAD_REQUEST));
}

/// Rule 3: `Raw` takes the value as it stands.
#[tokio::test(start_paused = true)]
async fn a_raw_layer_takes_quotes_for_a_part_of_the_key() {
    assert_eq!(same_key(KeySyntax::Raw, "abc", "\"abc\"").await, Ok(false));
}

/// Rule 3: 255 characters at most; whatever is printable is stored safely (V20).
#[tokio::test(start_paused = true)]
async fn odd_keys_of_up_to_255_characters_are_keys() {
    let printable: String = (0x20..=0x7Eu8).map(char::from).collect();
    for key in ["user", "../x", "a:b", "'; DROP TABLE keys; --", printable.trim(), &"a".repeat(255)] {
        let handler = Handler::numbered();
        let service = layer(&store()).layer(handler.clone());

        send(&service, post(key, "{}")).await;
        let repeat = send(&service, post(key, "{}")).await;

        assert_eq!((handler.runs(), repeat.replayed()), (1, Some("true")), "{key}");
    }
}

/// Rule 3: the maximum is a setting.
#[tokio::test(start_paused = true)]
async fn the_longest_key_is_a_setting() {
    let service = layer(&store()).max_key_length(4).layer(Handler::numbered());

    assert_eq!(send(&service, post("\"abcd\"", "{}")).await.status, StatusCode::CREATED);
    assert_eq!(send(&service, post("abcde", "{}")).await.status, StatusCode::BAD_REQUEST);
}

/// Rule 2: the header is a setting; under another name it is no key.
#[tokio::test(start_paused = true)]
async fn the_key_header_is_a_setting() {
    let handler = Handler::numbered();
    let service = layer(&store()).key_header(HeaderName::from_static("x-request-key")).layer(handler.clone());
    let keyed = || {
        let mut request: Request<_> = post_without_key("{}");
        request.headers_mut().insert("x-request-key", HeaderValue::from_static("k"));
        request
    };

    assert_eq!(send(&service, keyed()).await.replayed(), Some("false"));
    assert_eq!(send(&service, keyed()).await.replayed(), Some("true"));
    assert_eq!(send(&service, post("k", "{}")).await.replayed(), None);
}
