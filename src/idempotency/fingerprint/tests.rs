use http::{HeaderValue, Request, request::Builder};
use proptest::prelude::*;

use super::*;
use crate::store::Differs;

fn parts(request: Builder) -> Parts {
    request.body(()).expect("a request").into_parts().0
}

fn post(uri: &str, content_type: &str) -> Parts {
    parts(Request::post(uri).header(CONTENT_TYPE, content_type))
}

fn json(body: &str) -> Fingerprint {
    Fingerprint::json(&post("/", "application/json"), body.as_bytes())
}

fn differs(one: Fingerprint, other: Fingerprint) -> Vec<&'static str> {
    one.differs_from(&other).iter().flat_map(Differs::names).collect()
}

/// S20.
#[test]
fn the_same_request_has_the_same_fingerprint() {
    let again = || Fingerprint::exact(&post("/orders?a=1", "text/plain"), b"body");
    assert_eq!(again(), again());
}

/// V15: how the body was sent is not part of it, nor is any header but the content type.
#[test]
fn other_headers_do_not_count() {
    let plain = parts(Request::post("/"));
    let with = parts(Request::post("/").header("content-length", "4").header("traceparent", "00-1"));
    assert_eq!(Fingerprint::exact(&plain, b"body"), Fingerprint::exact(&with, b"body"));
}

/// S16, V16.
#[test]
fn another_method_path_or_query_is_another_target() {
    let target = |request| Fingerprint::exact(&parts(request), b"");
    let first = target(Request::post("/orders/1?a=1"));
    for other in [
        Request::patch("/orders/1?a=1"),
        Request::post("/orders/2?a=1"),
        Request::post("/orders/1?a=2"),
        Request::post("/orders/1"),
        Request::post("/orders/1/?a=1"),
    ] {
        assert_eq!(differs(first, target(other)), ["target"]);
    }
    assert_eq!(first, target(Request::post("https://example.com/orders/1?a=1")), "the host is not part of it");
    assert_eq!(target(Request::post("/")), target(Request::post("example.com:443")), "without a path it is /");
}

/// V16: axum cuts the prefix off the path that an inner router sees.
#[cfg(feature = "axum")]
#[tokio::test]
async fn two_nested_routers_do_not_collide() {
    use axum::{Router, extract::Request, routing::post};
    use tower::ServiceExt;

    async fn fingerprint(request: Request) -> Vec<u8> {
        let (parts, _) = request.into_parts();
        assert_eq!(parts.uri, "/submit");
        Fingerprint::exact(&parts, b"").to_bytes().to_vec()
    }

    let inner = Router::new().route("/submit", post(fingerprint));
    let app = Router::new().nest("/a", inner.clone()).nest("/b", inner);
    let ask = async |uri: &str| {
        let response = app.clone().oneshot(Request::post(uri).body(axum::body::Body::empty()).unwrap()).await.unwrap();
        let bytes = axum::body::to_bytes(response.into_body(), 1024).await.unwrap();
        Fingerprint::from_bytes(&bytes).expect("a fingerprint")
    };
    assert_eq!(differs(ask("/a/submit").await, ask("/b/submit").await), ["target"]);
    assert_eq!(ask("/a/submit").await, Fingerprint::exact(&parts(http::Request::post("/a/submit")), b""));
}

/// V17.
#[test]
fn the_same_bytes_as_another_content_type_are_another_request() {
    for of in [Fingerprint::exact, Fingerprint::json] {
        let none = of(&parts(Request::post("/")), b"{}");
        let empty = of(&post("/", ""), b"{}");
        let text = of(&post("/", "text/plain"), b"{}");
        let html = of(&post("/", "text/html"), b"{}");
        let both = parts(Request::post("/").header(CONTENT_TYPE, "text/plain").header(CONTENT_TYPE, "text/html"));
        let both = of(&both, b"{}");
        let all = [none, empty, text, html, both, of(&post("/", "text/plaintext/html"), b"{}")];
        for (at, one) in all.iter().enumerate() {
            for other in &all[at + 1..] {
                assert_eq!(differs(*one, *other), ["content_type"]);
            }
        }
    }
}

/// S17.
#[test]
fn another_body_is_another_request() {
    let post = post("/", "application/json");
    let exact = |body: &[u8]| Fingerprint::exact(&post, body);
    assert_eq!(differs(exact(b"{}"), exact(b"{} ")), ["body"]);
    assert_eq!(differs(exact(b""), exact(b"\0")), ["body"]);
}

/// S21: which bodies are JSON.
#[test]
fn json_is_known_by_its_content_type() {
    let equal = |content_type: &str| {
        let post = post("/", content_type);
        Fingerprint::json(&post, b"{\"a\":1}") == Fingerprint::json(&post, b"{ \"a\": 1.0 }")
    };
    for json in [
        "application/json",
        "Application/JSON",
        "application/json; charset=utf-8",
        "application/json ;x",
        "application/problem+json",
        "application/vnd.api+JSON;v=1",
    ] {
        assert!(equal(json), "{json}");
    }
    for other in
        ["", "text/plain", "application/jsonp", "application/x-json", "text/plain; a=application/json", "+json"]
    {
        assert!(!equal(other), "{other}");
    }
}

#[test]
fn a_request_of_two_content_types_is_compared_by_bytes() {
    let two =
        parts(Request::post("/").header(CONTENT_TYPE, "application/json").header(CONTENT_TYPE, "application/json"));
    assert_eq!(differs(Fingerprint::json(&two, b"1"), Fingerprint::json(&two, b"1.0")), ["body"]);
    let unreadable = HeaderValue::from_bytes(b"application/json;\xFF").expect("a value");
    let unreadable = parts(Request::post("/").header(CONTENT_TYPE, unreadable));
    assert_eq!(differs(Fingerprint::json(&unreadable, b"1"), Fingerprint::json(&unreadable, b"1.0")), ["body"]);
}

/// S21: the content type itself is compared byte by byte.
#[test]
fn one_json_text_under_two_content_types_is_two_requests() {
    let one = Fingerprint::json(&post("/", "application/json"), b"{}");
    let other = Fingerprint::json(&post("/", "application/json; charset=utf-8"), b"{}");
    assert_eq!(differs(one, other), ["content_type"]);
}

/// S22, V18.
#[test]
fn json_of_another_meaning_differs_where_a_reader_might_not_see_it() {
    for (one, other) in [
        (r#"{"amount":1,"amount":2}"#, r#"{"amount":2}"#),
        (r#"{"amount":1,"amount":2}"#, r#"{"amount":2,"amount":1}"#),
        ("0.1", "0.1000000000000000055"),
        ("9007199254740992", "9007199254740993"),
        ("9007199254740993", "9007199254740994"),
        ("1E400", "1E401"),
        (r#""\ud800""#, r#""\ud801""#),
        ("1", "1 1"),
        ("{}", ""),
    ] {
        assert_eq!(differs(json(one), json(other)), ["body"], "{one} {other}");
        assert_eq!(json(one), json(one));
    }
}

/// A fallback's bytes may be some canonical form; the digests still differ.
#[test]
fn raw_and_canonical_bodies_never_meet() {
    let post = post("/", "application/json");
    assert_eq!(differs(Fingerprint::json(&post, b"{}"), Fingerprint::exact(&post, b"{}")), ["body"]);
}

#[test]
fn own_forms_are_compared_one_by_one() {
    let first = Fingerprint::of(b"a", b"b", b"c");
    assert_eq!(first, Fingerprint::of(b"a", b"b", b"c"));
    assert_eq!(differs(first, Fingerprint::of(b"x", b"b", b"c")), ["target"]);
    assert_eq!(differs(first, Fingerprint::of(b"a", b"x", b"c")), ["content_type"]);
    assert_eq!(differs(first, Fingerprint::of(b"a", b"b", b"x")), ["body"]);
    assert_eq!(differs(first, Fingerprint::of(b"", b"ab", b"c")), ["target", "content_type"]);
}

#[test]
fn unchecked_is_the_same_for_every_request() {
    let one = Fingerprint::unchecked(&post("/a", "text/plain"), b"a");
    assert_eq!(one, Fingerprint::unchecked(&parts(Request::patch("/b")), b"b"));
}

/// The digests here were computed apart from this code: records outlive a release, so they may not change unless their
/// version does.
#[test]
fn fingerprints_stay_what_they_are() {
    let post = post("/orders?a=1", "application/json");
    let hex = |digest: [u8; 32]| digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let exact = Fingerprint::exact(&post, b"{}");
    assert_eq!(hex(exact.target), "9828f431b036a340d2ad504bc4823b4cd4c99d28ff77e964c830eedbad473e4a");
    assert_eq!(hex(exact.content_type), "4982488adb9eee8281b85f73e8f76f49006eda098af955a6599f28398bb58aaf");
    assert_eq!(hex(exact.body), "64dee72ff444648a6a87318497e8c0191dd158aa146bb58dd5fe4e7e1d9b6f91");
    assert_eq!(
        hex(Fingerprint::json(&post, b"{ }").body),
        "5dbc50330da685326bff3e4459221ca4c207683a11e19c0cdc1f07ddd847cc9c"
    );
    assert_eq!(
        hex(Fingerprint::of(b"", b"", b"{}").body),
        "b86b98e13e9de87e4079cde2f59edb69a577a3a2d843e6295d17234e9c3b77e5"
    );
}

fn any_parts() -> impl Strategy<Value = (&'static str, String, Vec<String>)> {
    let method = prop::sample::select(vec!["POST", "PATCH"]);
    (method, "/[ab/]{0,3}(\\?[ab=]{0,2})?", prop::collection::vec("[ab/]{0,2}", 0..3))
}

proptest! {
    /// S20: no choice of one field imitates another.
    #[test]
    fn requests_meet_only_if_all_fields_are_the_same(
        one in any_parts(),
        other in any_parts(),
        bodies in ("[ab]{0,2}", "[ab]{0,2}"),
    ) {
        let make = |(method, uri, content_types): &(&'static str, String, Vec<String>), body: &str| {
            let request = Request::builder().method(*method).uri(uri);
            let request = content_types.iter().fold(request, |request, line| request.header(CONTENT_TYPE, line));
            Fingerprint::exact(&parts(request), body.as_bytes())
        };
        let met = make(&one, &bodies.0) == make(&other, &bodies.1);
        prop_assert_eq!(met, one == other && bodies.0 == bodies.1);
    }
}
