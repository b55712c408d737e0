//! Rules 7, 8 and 16: the first answer, its repeats, and what is never stored.

use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, Response, StatusCode,
    header::{CONTENT_LENGTH, SET_COOKIE},
};
use lab::{
    body::ScriptedBody,
    exchange::{Answer, post, send},
    handler::{Handler, response},
};
use tower::Layer;

use crate::support::{layer, store};

/// A response with these header lines, in this order.
fn with_lines(lines: &'static [(&'static str, &'static [u8])]) -> Response<ScriptedBody> {
    let mut response = response(201, "made");
    for (name, value) in lines {
        response.headers_mut().append(*name, HeaderValue::from_bytes(value).expect("a value"));
    }
    response
}

/// The first answer and that of a repeat.
async fn twice(handler: Handler) -> (Answer, Answer) {
    let service = layer(&store()).layer(handler.clone());
    let answers = (send(&service, post("k", "{}")).await, send(&service, post("k", "{}")).await);
    assert_eq!(handler.runs(), 1);
    answers
}

fn unmarked(mut headers: HeaderMap) -> HeaderMap {
    headers.remove("idempotency-replayed");
    headers
}

/// Rule 7: the first runs, and says that it is no replay.
#[tokio::test(start_paused = true)]
async fn the_first_request_runs_and_is_marked_false() {
    let (first, _) = twice(Handler::numbered()).await;

    assert_eq!((first.status, first.text(), first.replayed()), (StatusCode::CREATED, "run 1", Some("false")));
}

/// Rule 7: its answer is otherwise untouched, what is never stored included.
#[tokio::test(start_paused = true)]
async fn the_first_answer_is_otherwise_untouched() {
    let lines: &[(&str, &[u8])] =
        &[("date", b"today"), ("set-cookie", b"a=1"), ("connection", b"x-hop"), ("x-hop", b"1"), ("x-more", b"2")];
    let (first, _) = twice(Handler::answering(move |_| with_lines(lines))).await;

    assert_eq!(unmarked(first.headers), *with_lines(lines).headers());
}

/// Rule 8: same status, headers and body; the handler is not called (V23).
#[tokio::test(start_paused = true)]
async fn a_repeat_gets_the_same_status_headers_and_body() {
    let lines: &[(&str, &[u8])] = &[
        ("location", b"/reports/1"),
        ("etag", b"\"1\""),
        ("link", b"</a>; rel=next"),
        ("link", b"</b>; rel=prev"),
        ("x-list", b"a, b, c"),
        ("x-latin", b"caf\xE9"),
    ];
    let (first, repeat) = twice(Handler::answering(move |_| with_lines(lines))).await;

    assert_eq!((repeat.status, &repeat.body), (first.status, &first.body));
    assert_eq!(unmarked(repeat.headers), unmarked(first.headers));
}

/// Rule 8: marked `true`; each time.
#[tokio::test(start_paused = true)]
async fn each_repeat_is_marked_true() {
    let handler = Handler::numbered();
    let service = layer(&store()).layer(handler.clone());
    send(&service, post("k", "{}")).await;

    for _ in 0..3 {
        assert_eq!(send(&service, post("k", "{}")).await.replayed(), Some("true"));
    }
}

/// Rule 8: byte for byte, every status that is recorded (V24).
#[tokio::test(start_paused = true)]
async fn every_recorded_status_replays_byte_for_byte() {
    let refused = [400, 401, 403, 405, 406, 408, 409, 411, 413, 414, 415, 417, 421, 422, 425, 426, 428, 429, 431];
    let all: Bytes = (0..=255).collect::<Vec<u8>>().into();
    for status in (200..500).filter(|status| !refused.contains(status)) {
        let body = if matches!(status, 204 | 205 | 304) { Bytes::new() } else { all.clone() };
        let (first, repeat) = twice(Handler::answering(move |_| response(status, body.clone()))).await;

        assert_eq!((repeat.status.as_u16(), &repeat.body), (status, &first.body));
        assert_eq!(repeat.replayed(), Some("true"));
    }
}

/// Rule 8: an empty body is a body (V24).
#[tokio::test(start_paused = true)]
async fn an_empty_answer_replays_empty() {
    for status in [200, 202, 204] {
        let (_, repeat) = twice(Handler::answering(move |_| response(status, ""))).await;

        assert_eq!((repeat.status.as_u16(), repeat.text(), repeat.replayed()), (status, "", Some("true")));
    }
}

/// Rule 8: the name of the mark is a setting.
#[tokio::test(start_paused = true)]
async fn the_mark_has_the_name_that_the_layer_is_set_to() {
    let marker = HeaderName::from_static("x-replay");
    let service = layer(&store()).replay_marker(marker).layer(Handler::numbered());

    let (first, repeat) = (send(&service, post("k", "{}")).await, send(&service, post("k", "{}")).await);

    assert_eq!((first.header("x-replay"), repeat.header("x-replay")), (Some("false"), Some("true")));
    assert_eq!(repeat.replayed(), None);
}

/// Rule 8: or there is none.
#[tokio::test(start_paused = true)]
async fn a_layer_without_a_mark_sets_none() {
    let service = layer(&store()).without_replay_marker().layer(Handler::numbered());

    let (first, repeat) = (send(&service, post("k", "{}")).await, send(&service, post("k", "{}")).await);

    assert_eq!((first.replayed(), repeat.replayed(), repeat.text()), (None, None, "run 1"));
}

/// Rule 8: the mark is the layer's alone: a client's is ignored, a handler's replaced (V22).
#[tokio::test(start_paused = true)]
async fn nobody_else_can_set_the_mark() {
    let service = layer(&store()).layer(Handler::answering(|_| {
        with_lines(&[("idempotency-replayed", b"true"), ("idempotency-replayed", b"perhaps")])
    }));
    let mut request = post("k", "{}");
    request.headers_mut().insert("idempotency-replayed", HeaderValue::from_static("true"));

    let first = send(&service, request).await;
    let repeat = send(&service, post("k", "{}")).await;

    let marks = |answer: &Answer| answer.headers.get_all("idempotency-replayed").iter().cloned().collect::<Vec<_>>();
    assert_eq!((marks(&first), marks(&repeat)), (vec!["false".parse().unwrap()], vec!["true".parse().unwrap()]));
}

/// Rule 8: the mark is no part of what is stored: a layer that sets none finds none.
#[tokio::test(start_paused = true)]
async fn the_mark_is_not_stored() {
    let store = store();
    let handler = Handler::answering(|_| with_lines(&[("idempotency-replayed", b"false")]));
    send(&layer(&store).layer(handler.clone()), post("k", "{}")).await;

    let repeat = send(&layer(&store).without_replay_marker().layer(handler), post("k", "{}")).await;

    assert_eq!((repeat.text(), repeat.replayed()), ("made", None));
}

/// Rule 16: fields of one connection or one message are never stored.
#[tokio::test(start_paused = true)]
async fn fields_of_that_connection_and_that_message_are_never_stored() {
    let lines: &[(&str, &[u8])] = &[
        ("connection", b"close, X-Hop"),
        ("connection", b"x-other"),
        ("x-hop", b"1"),
        ("x-other", b"1"),
        ("keep-alive", b"timeout=5"),
        ("proxy-authenticate", b"Basic"),
        ("proxy-authentication-info", b"x"),
        ("proxy-authorization", b"x"),
        ("proxy-connection", b"keep-alive"),
        ("te", b"trailers"),
        ("trailer", b"x-sum"),
        ("transfer-encoding", b"chunked"),
        ("upgrade", b"h2c"),
        ("date", b"Sun, 06 Nov 1994 08:49:37 GMT"),
        ("age", b"3"),
        ("set-cookie", b"a=1"),
        ("x-kept", b"1"),
    ];
    let (_, repeat) = twice(Handler::answering(move |_| with_lines(lines))).await;

    assert_eq!(unmarked(repeat.headers), *with_lines(&[("x-kept", b"1")]).headers());
}

/// Rule 16: cookies are stored on request.
#[tokio::test(start_paused = true)]
async fn cookies_are_stored_on_request() {
    let service = layer(&store())
        .keep_set_cookie()
        .layer(Handler::answering(|_| with_lines(&[("set-cookie", b"a=1"), ("set-cookie", b"b=2")])));

    send(&service, post("k", "{}")).await;
    let repeat = send(&service, post("k", "{}")).await;

    let cookies: Vec<_> = repeat.headers.get_all(SET_COOKIE).iter().collect();
    assert_eq!(cookies, ["a=1", "b=2"]);
}

/// Rule 16: Content-Length always matches: a false one is not repeated.
#[tokio::test(start_paused = true)]
async fn a_stored_content_length_is_that_of_the_stored_body() {
    let (_, honest) = twice(Handler::answering(|_| with_lines(&[("content-length", b"4")]))).await;
    let (_, false_one) = twice(Handler::answering(|_| with_lines(&[("content-length", b"5")]))).await;

    assert_eq!(honest.headers.get(CONTENT_LENGTH), Some(&HeaderValue::from_static("4")));
    assert_eq!(false_one.headers.get(CONTENT_LENGTH), None);
}

/// Rule 16: trailers are not merged into headers; the first caller gets them as they were.
#[tokio::test(start_paused = true)]
async fn trailers_are_not_stored() {
    use http_body_util::BodyExt;
    let trailers = || HeaderMap::from_iter([("x-sum".parse().unwrap(), HeaderValue::from_static("7"))]);
    let service = layer(&store())
        .layer(Handler::answering(move |_| response(201, ScriptedBody::streaming().data("made").trailers(trailers()))));

    let first = crate::support::respond(&service, post("k", "{}")).await.into_body().collect().await.unwrap();
    let repeat = crate::support::respond(&service, post("k", "{}")).await;

    assert_eq!(first.trailers(), Some(&trailers()));
    assert!(!repeat.headers().contains_key("x-sum"));
    let repeat = repeat.into_body().collect().await.unwrap();
    assert_eq!((repeat.trailers().cloned(), repeat.to_bytes()), (None, Bytes::from("made")));
}

/// Rule 16: an interim status is never the answer; its key is closed.
#[tokio::test(start_paused = true)]
async fn an_interim_status_is_not_stored_and_its_key_does_not_run_again() {
    let handler = Handler::answering(|_| response(101, ""));
    let service = layer(&store()).layer(handler.clone());

    send(&service, post("k", "{}")).await;
    let repeat = send(&service, post("k", "{}")).await;

    assert_eq!((repeat.status, handler.runs()), (StatusCode::GONE, 1));
}
