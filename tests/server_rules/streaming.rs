//! Rule 15: nothing of a response leaves before its key is closed durably.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use http::{Response, StatusCode, header::CONTENT_TYPE};
use http_body::{Body, Frame};
use http_body_util::{BodyExt, Full, StreamBody};
use lab::{
    body::ScriptedBody,
    exchange::{Answer, post, send},
    gate::{Gate, Verb},
    handler::{Handler, response},
};
use tokio::{
    sync::mpsc,
    time::{Instant, timeout},
};
use tower::{Layer, ServiceExt, service_fn};
use tower_idempotency::IdempotencyLayer;

use crate::support::{Got, Guarded, TestStore, gate, layer, millis, next_data, respond, secs, store};

fn events(body: ScriptedBody) -> Response<ScriptedBody> {
    let mut response = response(200, body);
    response.headers_mut().insert(CONTENT_TYPE, "Text/Event-Stream; charset=utf-8".parse().expect("a value"));
    response
}

type MakeAnswer = fn() -> Response<ScriptedBody>;

/// One of each kind of body; the limit is 8 bytes.
fn each_kind() -> [(&'static str, MakeAnswer); 5] {
    [
        ("small", || response(200, "12345678")),
        ("large", || response(200, ScriptedBody::streaming().data("123456789").sized(9))),
        ("events", || events(ScriptedBody::streaming().data("data: 1\n\n").never_ends())),
        ("growing", || response(200, ScriptedBody::streaming().data("12345").data("6789").never_ends())),
        ("stalling", || response(200, ScriptedBody::streaming().data("1").never_ends())),
    ]
}

fn guarded(layer: IdempotencyLayer<TestStore>, answer: MakeAnswer) -> (Guarded, Handler) {
    let handler = Handler::answering(move |_| answer());
    (layer.max_recorded_body(8).layer(handler.clone()), handler)
}

/// Rule 15: whatever the body, the response waits for the answer of `complete`; then its first byte leaves at once.
#[tokio::test(start_paused = true)]
async fn no_kind_of_response_leaves_before_its_key_is_closed() {
    for (kind, answer) in each_kind() {
        let (store, closing) = (store(), gate());
        store.set(Verb::Complete, Gate::Permit(closing.clone()));
        let (service, _) = guarded(layer(&store), answer);
        let mut sent = Box::pin(service.oneshot(post("k", "{}")));

        assert!(timeout(secs(4), &mut sent).await.is_err(), "{kind}");
        closing.add_permits(1);
        let closed = Instant::now();
        let mut body = sent.await.unwrap().into_body();

        assert!(next_data(&mut body).await.is_some(), "{kind}");
        assert_eq!(closed.elapsed(), secs(0), "{kind}");
    }
}

/// Rule 15: unless closing failed: then the caller gets its answer all the same.
#[tokio::test(start_paused = true)]
async fn a_response_leaves_when_closing_has_failed() {
    for (kind, answer) in each_kind() {
        let store = store();
        store.set(Verb::Complete, Gate::FailForGood);
        let (service, _) = guarded(layer(&store), answer);

        let response = respond(&service, post("k", "{}")).await;

        assert_eq!(response.headers()["idempotency-replayed"], "false", "{kind}");
        assert!(next_data(&mut response.into_body()).await.is_some(), "{kind}");
    }
}

/// Rule 15: a repeat of what was too large, or streams, gets 410 with the mark and the original status, and never runs.
#[tokio::test(start_paused = true)]
async fn a_repeat_of_what_was_not_kept_is_410_and_never_runs() {
    for (kind, answer) in &each_kind()[1..] {
        let (service, handler) = guarded(layer(&store()), *answer);
        drop(respond(&service, post("k", "{}")).await);

        for _ in 0..2 {
            let repeat = send(&service, post("k", "{}")).await;

            let problem: serde_json::Value = serde_json::from_slice(&repeat.body).unwrap();
            assert_eq!((repeat.status, repeat.replayed()), (StatusCode::GONE, Some("true")), "{kind}");
            assert_eq!((problem["original_status"].as_u64(), handler.runs()), (Some(200), 1), "{kind}");
        }
    }
}

/// Rule 15: a known size within the limit is collected, however long it takes.
#[tokio::test(start_paused = true)]
async fn a_small_body_of_known_size_is_collected_however_slow() {
    let slow = || response(200, ScriptedBody::streaming().data("1").pause(secs(60)).data("2").sized(2));
    let (service, _) = guarded(layer(&store()), slow);

    let first = send(&service, post("k", "{}")).await;
    let repeat = send(&service, post("k", "{}")).await;

    assert_eq!((first.text(), repeat.text(), repeat.replayed()), ("12", "12", Some("true")));
}

/// Rule 15: an unknown size that ends within the limit and does not stall is collected.
#[tokio::test(start_paused = true)]
async fn a_small_body_of_unknown_size_is_collected_while_it_flows() {
    let flows = || {
        let pause = millis(990);
        response(200, ScriptedBody::streaming().pause(pause).data("1234").pause(pause).data("5678").pause(pause))
    };
    let (service, _) = guarded(layer(&store()), flows);

    let first = send(&service, post("k", "{}")).await;
    let repeat = send(&service, post("k", "{}")).await;

    assert_eq!((first.text(), repeat.text(), repeat.replayed()), ("12345678", "12345678", Some("true")));
}

/// When the head of the answer came, and the whole of it.
async fn head_and_whole(service: &Guarded) -> (Duration, Answer) {
    let sent = Instant::now();
    let response = respond(service, post("k", "{}")).await;
    (sent.elapsed(), Answer::of(response).await)
}

/// Rule 15: a known size over the limit streams at once, and whole.
#[tokio::test(start_paused = true)]
async fn a_large_body_streams_whole() {
    let large = || response(200, ScriptedBody::streaming().data("12345").pause(secs(60)).data("6789").sized(9));
    let (service, _) = guarded(layer(&store()), large);

    let (head, first) = head_and_whole(&service).await;

    assert_eq!((head, first.text(), first.replayed()), (secs(0), "123456789", Some("false")));
}

/// Rule 15: an unknown size is collected until the limit; what was read is sent first.
#[tokio::test(start_paused = true)]
async fn a_body_that_grows_too_large_streams_whole() {
    let grows = || response(200, ScriptedBody::streaming().data("12345").data("6789").pause(secs(60)).data("0"));
    let (service, _) = guarded(layer(&store()), grows);

    let (head, first) = head_and_whole(&service).await;

    assert_eq!((head, first.text()), (secs(0), "1234567890"));
}

/// Rule 15: or until it stalls for one second.
#[tokio::test(start_paused = true)]
async fn a_body_that_stalls_streams_whole_after_a_second() {
    let stalls = || response(200, ScriptedBody::streaming().data("12").pause(secs(60)).data("34"));
    let (service, _) = guarded(layer(&store()), stalls);

    let (head, first) = head_and_whole(&service).await;

    assert_eq!((head, first.text()), (secs(1), "1234"));
}

/// Rule 15: the stall is a setting.
#[tokio::test(start_paused = true)]
async fn how_long_a_body_may_stall_is_a_setting() {
    let stalls = || response(200, ScriptedBody::streaming().data("12").pause(secs(60)).data("34"));
    let (service, _) = guarded(layer(&store()).max_stall(secs(61)), stalls);

    head_and_whole(&service).await;

    assert_eq!(send(&service, post("k", "{}")).await.text(), "1234");
}

/// Rule 15: server-sent events stream at once, one by one (V26).
#[tokio::test(start_paused = true)]
async fn events_stream_as_they_come() {
    let stream = || events(ScriptedBody::streaming().pause(secs(5)).data("1").pause(secs(5)).data("2").never_ends());
    let (service, _) = guarded(layer(&store()), stream);
    let sent = Instant::now();

    let mut body = respond(&service, post("k", "{}")).await.into_body();

    assert_eq!(sent.elapsed(), secs(0));
    assert_eq!((next_data(&mut body).await, sent.elapsed()), (Some(Bytes::from("1")), secs(5)));
    assert_eq!((next_data(&mut body).await, sent.elapsed()), (Some(Bytes::from("2")), secs(10)));
}

/// Rules 7 and 15: what is known of a body's size stays known.
#[tokio::test(start_paused = true)]
async fn a_streaming_body_is_as_long_as_it_was() {
    let sizes: [(MakeAnswer, Option<u64>); 3] = [
        (|| response(200, ScriptedBody::streaming().data("123456789").sized(9)), Some(9)),
        (|| response(200, ScriptedBody::streaming().data("1").never_ends().sized(2)), Some(2)),
        (|| response(200, ScriptedBody::streaming().data("1").never_ends()), None),
    ];
    for (answer, size) in sizes {
        let (service, _) = guarded(layer(&store()).max_run(secs(60)), answer);

        let response = respond(&service, post("k", "{}")).await;

        assert_eq!((response.body().size_hint().exact(), response.body().is_end_stream()), (size, false));
    }
}

/// Rule 15: once streaming, the body ends with its caller.
#[tokio::test(start_paused = true)]
async fn a_streaming_body_ends_with_its_caller() {
    let (sender, receiver) = mpsc::channel::<Result<Frame<Bytes>, Infallible>>(1);
    let receiver = Arc::new(Mutex::new(Some(receiver)));
    let layer = layer(&store());
    let service = layer.layer(service_fn(move |_: Got<Full<Bytes>>| {
        let mut frames = receiver.lock().unwrap().take().expect("one run");
        let body = StreamBody::new(futures_util::stream::poll_fn(move |cx| frames.poll_recv(cx)));
        async move { Ok::<_, Infallible>(Response::new(body)) }
    }));

    let response = respond(&service, post("k", "{}")).await;
    assert!(!sender.is_closed());
    drop(response);

    assert!(sender.is_closed());
    layer.drained().await;
}

/// Rule 15: 1 MiB is recorded by default, and one byte more is not.
#[tokio::test(start_paused = true)]
async fn a_mebibyte_is_recorded_and_one_byte_more_is_not() {
    for (size, expected) in [(1 << 20, StatusCode::OK), ((1 << 20) + 1, StatusCode::GONE)] {
        let service = layer(&store()).layer(Handler::answering(move |_| response(200, vec![7; size])));
        assert_eq!(send(&service, post("k", "{}")).await.body.len(), size);

        assert_eq!(send(&service, post("k", "{}")).await.status, expected);
    }
}

/// Rule 15: a body that fails half way fails for its caller just there; the work was done, so it does not run again
/// (V14).
#[tokio::test(start_paused = true)]
async fn a_body_that_fails_half_way_fails_for_its_caller_and_never_runs_again() {
    let (service, handler) = guarded(layer(&store()), || response(200, ScriptedBody::streaming().data("half").fails()));

    let mut body = respond(&service, post("k", "{}")).await.into_body();
    let repeat = send(&service, post("k", "{}")).await;

    assert_eq!(next_data(&mut body).await, Some(Bytes::from("half")));
    assert!(body.frame().await.expect("a frame").is_err());
    assert_eq!((repeat.status, handler.runs()), (StatusCode::GONE, 1));
}

/// Rules 11 and 15: a small body that never ends is closed at `max_run`, and goes on as a stream.
#[tokio::test(start_paused = true)]
async fn a_small_body_that_never_ends_is_closed_at_max_run() {
    let never = || response(200, ScriptedBody::streaming().data("1").never_ends().sized(2));
    let (service, handler) = guarded(layer(&store()).max_run(secs(60)), never);
    let sent = Instant::now();

    let mut body = respond(&service, post("k", "{}")).await.into_body();

    assert_eq!((sent.elapsed(), next_data(&mut body).await), (secs(60), Some(Bytes::from("1"))));
    assert_eq!((send(&service, post("k", "{}")).await.status, handler.runs()), (StatusCode::GONE, 1));
}
