//! Rule 4: the body of a request.

use std::convert::Infallible;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header::ACCEPT_ENCODING};
use http_body_util::{Full, Limited};
use lab::{
    body::ScriptedBody,
    exchange::{post, post_without_key, send},
    gate::Verb,
    handler::Handler,
};
use tower::{Layer, service_fn};
use tower_idempotency::idempotency::RejectionKind;

use crate::support::{Got, layer, next_data, post_body, refusal, respond, secs, store};

/// Rule 4: over the limit, 413 before any claim; a length that is known is judged without a read.
#[tokio::test(start_paused = true)]
async fn a_body_that_announces_too_much_is_refused_unread_and_unclaimed() {
    let (store, handler) = (store(), Handler::numbered());
    let service = layer(&store).max_request_body(8).layer(handler.clone());

    let response = respond(&service, post_body("k", ScriptedBody::streaming().sized(9).panics())).await;

    assert!(matches!(refusal(&response), RejectionKind::BodyTooLarge { limit: Some(8) }));
    assert_eq!(response.status(), StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!((handler.runs(), store.all_calls()), (0, 0));
}

/// Rule 4: a body of unknown length is read up to the limit, not to its end.
#[tokio::test(start_paused = true)]
async fn a_body_that_grows_too_large_is_refused_before_any_claim() {
    let (store, handler) = (store(), Handler::numbered());
    let service = layer(&store).max_request_body(8).layer(handler.clone());
    let body = ScriptedBody::streaming().data("12345").data("6789").never_ends();

    let answer = send(&service, post_body("k", body)).await;

    assert_eq!((answer.status, handler.runs(), store.all_calls()), (StatusCode::PAYLOAD_TOO_LARGE, 0, 0));
}

/// Rule 4: 2 MiB by default, and that much is let through.
#[tokio::test(start_paused = true)]
async fn a_body_of_two_mebibytes_is_taken_and_one_byte_more_is_not() {
    let handler = Handler::numbered();
    let service = layer(&store()).layer(handler.clone());

    let most = send(&service, post("a", vec![7; 2 << 20])).await;
    let more = send(&service, post("b", vec![7; (2 << 20) + 1])).await;

    assert_eq!((most.status, more.status), (StatusCode::CREATED, StatusCode::PAYLOAD_TOO_LARGE));
    assert_eq!(handler.call_number(1).body.len(), 2 << 20);
}

/// Rule 4: only a keyed request has a limit here.
#[tokio::test(start_paused = true)]
async fn a_body_without_a_key_is_not_limited() {
    let service = layer(&store()).max_request_body(8).layer(Handler::numbered());

    assert_eq!(send(&service, post_without_key("123456789")).await.status, StatusCode::CREATED);
}

/// Rule 4: the handler gets the identical bytes, in however many frames they came, and the trailers (V15).
#[tokio::test(start_paused = true)]
async fn the_handler_gets_the_identical_bytes_and_trailers() {
    let handler = Handler::numbered();
    let service = layer(&store()).layer(handler.clone());
    let all: Vec<u8> = (0..=255).collect();
    let trailers = HeaderMap::from_iter([("x-sum".parse().unwrap(), HeaderValue::from_static("7"))]);
    let one_by_one =
        all.iter().fold(ScriptedBody::streaming(), |body, byte| body.data(Bytes::copy_from_slice(&[*byte])));

    send(&service, post_body("k", one_by_one.trailers(trailers.clone()))).await;

    let call = handler.call_number(1);
    assert_eq!((&call.body[..], call.trailers), (&all[..], Some(trailers)));
}

/// Rule 4: a frame costs memory however small it is, and its sender chooses: what is held is joined.
#[tokio::test(start_paused = true)]
async fn a_body_in_many_frames_is_held_as_one() {
    let service = layer(&store()).layer(service_fn(async |request: Got<ScriptedBody>| {
        let mut body = request.into_body();
        let data = next_data(&mut body).await.expect("a frame");
        assert_eq!(next_data(&mut body).await, None);
        Ok::<_, Infallible>(Response::new(Full::new(data)))
    }));
    let many = (0..1_000).fold(ScriptedBody::streaming(), |body, _| body.data("").data("a"));

    assert_eq!(send(&service, post_body("k", many)).await.body.len(), 1_000);
}

/// Rule 4: frames are not part of a request (V15).
#[tokio::test(start_paused = true)]
async fn a_repeat_may_come_in_other_frames() {
    let handler = Handler::numbered();
    let service = layer(&store()).layer(handler.clone());

    send(&service, post_body("k", ScriptedBody::whole("{\"a\":1}"))).await;
    let repeat = send(&service, post_body("k", ScriptedBody::streaming().data("{\"a\"").data("").data(":1}"))).await;

    assert_eq!((handler.runs(), repeat.replayed()), (1, Some("true")));
}

/// Rule 4: a body that fails is refused before any claim.
#[tokio::test(start_paused = true)]
async fn a_body_that_fails_is_refused_before_any_claim() {
    let (store, handler) = (store(), Handler::numbered());
    let service = layer(&store).layer(handler.clone());

    let response = respond(&service, post_body("k", ScriptedBody::streaming().data("{").fails())).await;

    assert!(matches!(refusal(&response), RejectionKind::UnreadableBody));
    assert_eq!((response.status(), handler.runs(), store.all_calls()), (StatusCode::BAD_REQUEST, 0, 0));
}

/// Rule 4: the lower limit of a layer outside is a limit too.
#[tokio::test(start_paused = true)]
async fn a_body_over_the_limit_of_a_layer_outside_is_413() {
    let (store, handler) = (store(), Handler::numbered());
    let service = layer(&store).layer(handler.clone());

    let answer = send(&service, post_body("k", Limited::new(Full::from("123456789"), 4))).await;

    assert_eq!((answer.status, handler.runs(), store.calls(Verb::Claim)), (StatusCode::PAYLOAD_TOO_LARGE, 0, 0));
}

fn accepting_gzip(mut request: lab::exchange::HeldRequest) -> lab::exchange::HeldRequest {
    request.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
    request
}

/// Rule 4: Accept-Encoding is taken off guarded requests.
#[tokio::test(start_paused = true)]
async fn a_guarded_handler_sees_no_accept_encoding() {
    let handler = Handler::numbered();
    let service = layer(&store()).layer(handler.clone());

    send(&service, accepting_gzip(post("k", "{}"))).await;

    assert!(!handler.call_number(1).parts.headers.contains_key(ACCEPT_ENCODING));
}

/// Rule 4: only off guarded ones.
#[tokio::test(start_paused = true)]
async fn a_request_without_a_key_keeps_its_accept_encoding() {
    let handler = Handler::numbered();
    let service = layer(&store()).layer(handler.clone());

    send(&service, accepting_gzip(post_without_key("{}"))).await;

    assert!(handler.call_number(1).parts.headers.contains_key(ACCEPT_ENCODING));
}

/// Rule 4: which is a setting.
#[tokio::test(start_paused = true)]
async fn accept_encoding_can_be_kept() {
    let handler = Handler::numbered();
    let service = layer(&store()).keep_accept_encoding().layer(handler.clone());

    send(&service, accepting_gzip(post("k", "{}"))).await;

    assert!(handler.call_number(1).parts.headers.contains_key(ACCEPT_ENCODING));
}

/// Rule 4: a body that trickles in is cut off before any claim, and holds no place inside the layer for ever.
#[tokio::test(start_paused = true)]
async fn a_body_that_takes_too_long_is_refused_unclaimed() {
    let (store, handler) = (store(), Handler::numbered());
    let service = layer(&store).max_read(secs(30)).layer(handler.clone());
    let trickle = || ScriptedBody::streaming().data("{").pause(secs(20)).data("}");
    let asked = tokio::time::Instant::now();

    let in_time = respond(&service, post_body("k", trickle())).await;
    let too_slow = respond(&service, post_body("l", trickle().pause(secs(20)).data(" "))).await;

    assert_eq!((in_time.status(), too_slow.status()), (StatusCode::CREATED, StatusCode::REQUEST_TIMEOUT));
    assert!(matches!(refusal(&too_slow), RejectionKind::BodyTooSlow));
    assert_eq!((handler.runs(), store.calls(Verb::Claim), asked.elapsed()), (1, 1, secs(50)));
}
