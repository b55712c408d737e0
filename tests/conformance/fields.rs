//! S35 to S39 and S41: what of a response is stored, and what of it a repeat gets.

use std::convert::Infallible;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use http_body::Frame;
use http_body_util::StreamBody;
use lab::{
    app::{App, Payload, answer, created, payload},
    exchange::{Answer, post},
    wire::Server,
};
use tower_idempotency::{
    IdempotencyKey, MemoryStore, Store,
    store::{ClaimRequest, Fingerprint, Found, ScopedKey, StoredResponse},
};

use crate::shared;

type Line = (&'static str, &'static str);

fn with_lines(mut response: Response<Payload>, lines: &[Line]) -> Response<Payload> {
    for (name, value) in lines {
        response.headers_mut().append(*name, HeaderValue::from_static(value));
    }
    response
}

/// What the store holds for the usual request under `k`.
async fn stored(store: &MemoryStore) -> StoredResponse {
    let (parts, _) = post("k", "").into_parts();
    let request = ClaimRequest {
        key: ScopedKey::new("", &IdempotencyKey::parse("k").unwrap()),
        fingerprint: Fingerprint::exact(&parts, b"{}"),
        lease: std::time::Duration::from_secs(10),
        retention: std::time::Duration::from_secs(60),
    };
    match store.lookup(&request).await {
        Ok(Found::Done(stored)) => stored,
        other => panic!("{other:?}"),
    }
}

/// A first answer with these lines, what is stored of it, and the replay.
async fn exchange(lines: &'static [Line]) -> (Answer, StoredResponse, Answer) {
    let store = MemoryStore::new();
    let app = App::new(&shared(store.clone()), move |_, _| async move { with_lines(created("made"), lines) });
    let first = app.send(post("k", "{}")).await;
    (first, stored(&store).await, app.send(post("k", "{}")).await)
}

async fn assert_never_stored(lines: &'static [Line]) {
    let (first, stored, replay) = exchange(lines).await;
    for (name, value) in lines {
        assert!(first.headers.get_all(*name).iter().any(|sent| sent == value), "the first answer is untouched: {name}");
        assert!(!stored.headers.contains_key(*name), "stored: {name}");
        assert!(!replay.headers.contains_key(*name), "replayed: {name}");
    }
}

fn lines_of(headers: &HeaderMap, name: &str) -> Vec<Vec<u8>> {
    headers.get_all(name).iter().map(|value| value.as_bytes().to_vec()).collect()
}

/// S35, 9110 7.6.1, 9111 3.1 and 9113 8.2.2, MUST ≈: fields of the connection, and those that it names, are absent from
/// store and replay.
#[tokio::test(start_paused = true)]
async fn s35_fields_of_the_connection_are_not_stored() {
    assert_never_stored(&[
        ("connection", "close, X-Hop"),
        ("connection", "x-other-hop,, x-third"),
        ("x-hop", "1"),
        ("x-other-hop", "2"),
        ("x-third", "3"),
        ("proxy-connection", "close"),
        ("keep-alive", "timeout=5"),
        ("te", "trailers"),
        ("transfer-encoding", "chunked"),
        ("upgrade", "h2c"),
    ])
    .await;
}

/// S36, 9111 3.1, MUST ≈.
#[tokio::test(start_paused = true)]
async fn s36_fields_of_a_proxy_are_not_stored() {
    assert_never_stored(&[
        ("proxy-authenticate", "Basic"),
        ("proxy-authentication-info", "nextnonce=1"),
        ("proxy-authorization", "Basic eA=="),
    ])
    .await;
}

/// S37, 9110 6.6.1 and 9111 5.1, SHOULD ≈: Date and Age belong to that message.
#[tokio::test(start_paused = true)]
async fn s37_date_and_age_are_not_stored() {
    assert_never_stored(&[("date", "Tue, 20 Oct 2026 09:00:00 GMT"), ("age", "12")]).await;
}

/// S37: the server that sends a replay dates it anew, and adds no Age.
#[tokio::test]
async fn s37_a_replay_is_dated_by_its_own_server() {
    const OLD: &str = "Tue, 15 Nov 1994 08:12:31 GMT";
    let app = App::new(&shared(MemoryStore::new()), |_, _| async { with_lines(created(""), &[("date", OLD)]) });
    let server = Server::of_app(app.service()).await;
    assert_eq!(server.send(post("k", "{}")).await.header("date"), Some(OLD));

    let replay = server.send(post("k", "{}")).await;

    assert!(replay.header("date").is_some_and(|date| date != OLD));
    assert_eq!(replay.header("age"), None);
}

/// S38, 9110 8.6, MUST: on a replay Content-Length equals the bytes sent, whatever the handler said.
#[tokio::test(start_paused = true)]
async fn s38_a_wrong_content_length_is_not_replayed() {
    let (_, _, right) = exchange(&[("content-length", "4")]).await;
    assert_eq!(right.header("content-length"), Some("4"));

    const WRONG: [&[Line]; 4] = [
        &[("content-length", "5")],
        &[("content-length", "4"), ("content-length", "5")],
        &[("content-length", "+4")],
        &[("content-length", "4, 4")],
    ];
    for wrong in WRONG {
        let (_, stored, _) = exchange(wrong).await;
        assert!(!stored.headers.contains_key("content-length"), "{wrong:?}");
    }
}

/// S38, MUST: none on a 204.
#[tokio::test(start_paused = true)]
async fn s38_a_204_is_replayed_without_content_length() {
    let lines: &[Line] = &[("content-length", "0")];
    let app = App::new(&shared(MemoryStore::new()), move |_, _| async move {
        with_lines(answer(StatusCode::NO_CONTENT, ""), lines)
    });
    app.send(post("k", "{}")).await;
    assert_eq!(app.send(post("k", "{}")).await.header("content-length"), None);
}

/// S38: what goes over the wire has the length that it says.
#[tokio::test]
async fn s38_a_replay_over_the_wire_has_the_length_that_it_says() {
    let app = App::numbered(&shared(MemoryStore::new()));
    let server = Server::of_app(app.service()).await;
    for replayed in ["false", "true"] {
        let answer = server.send(post("k", "{}")).await;
        assert_eq!((answer.header("content-length"), answer.text()), (Some("5"), "run 1"));
        assert_eq!(answer.replayed(), Some(replayed));
    }
}

/// S39, 9110 5.3, MUST ≈: repeated lines keep number and order.
#[tokio::test(start_paused = true)]
async fn s39_repeated_lines_keep_number_and_order() {
    let (first, _, replay) = exchange(&[
        ("link", "</a>; rel=a, </b>; rel=b"),
        ("vary", "accept"),
        ("link", "</c>; rel=c"),
        ("link", "</a>; rel=a, </b>; rel=b"),
    ])
    .await;
    assert_eq!(lines_of(&first.headers, "link").len(), 3);
    for name in ["link", "vary"] {
        assert_eq!(lines_of(&replay.headers, name), lines_of(&first.headers, name));
    }
}

/// S39, own: Set-Cookie is not stored.
#[tokio::test(start_paused = true)]
async fn s39_cookies_are_not_stored() {
    assert_never_stored(&[("set-cookie", "a=1"), ("set-cookie", "b=2")]).await;
}

/// S39: where they are opted in their lines are never joined.
#[tokio::test(start_paused = true)]
async fn s39_cookies_are_replayed_line_by_line_where_they_are_opted_in() {
    let lines: &[Line] = &[("set-cookie", "a=1"), ("set-cookie", "b=2")];
    let layer = shared(MemoryStore::new()).keep_set_cookie();
    let app = App::new(&layer, move |_, _| async move { with_lines(created(""), lines) });
    app.send(post("k", "{}")).await;
    let replay = app.send(post("k", "{}")).await;
    assert_eq!(lines_of(&replay.headers, "set-cookie"), [b"a=1", b"b=2"]);
}

/// S41, 9110 6.5.1 and 9111 3.1, MUST ≈: trailers are dropped, and so is their announcement; never are they headers.
#[tokio::test(start_paused = true)]
async fn s41_trailers_never_become_headers() {
    let store = MemoryStore::new();
    let app = App::new(&shared(store.clone()), |_, _| async {
        let mut trailers = HeaderMap::new();
        trailers.insert("x-checksum", HeaderValue::from_static("1"));
        let frames = [Frame::data(Bytes::from_static(b"made")), Frame::trailers(trailers)];
        let body = StreamBody::new(futures_util::stream::iter(frames.map(Ok::<_, Infallible>)));
        with_lines(Response::new(payload(body)), &[("trailer", "x-checksum")])
    });
    app.send(post("k", "{}")).await;

    let replay = app.send(post("k", "{}")).await;

    assert_eq!((replay.text(), replay.replayed()), ("made", Some("true")));
    for headers in [&replay.headers, &stored(&store).await.headers] {
        assert!(!headers.contains_key("x-checksum") && !headers.contains_key("trailer"));
    }
}
