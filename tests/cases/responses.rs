//! V23 to V26: what a repeat gets.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode};
use http_body_util::BodyExt;
use lab::{
    app::{App, Payload, Runs, answer, created, streaming},
    clock::until,
    exchange::{Answer, HeldRequest, post, send},
    gate::{Gate, Verb},
    problem,
};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::Instant;
use tower::{Layer, ServiceExt};
use tower_http::compression::CompressionLayer;
use tower_idempotency::MemoryStore;

use crate::{gated, shared};

fn assert_not_replayable(answer: &Answer, original: u16) {
    assert_eq!(problem::kind(answer), (410, "NotReplayable".into()));
    assert_eq!(answer.replayed(), Some("true"));
    assert_eq!(problem::of(answer)["original_status"], original);
}

/// V23: Location, ETag, two Link lines, two Set-Cookie lines, a value with commas and one with byte 0xE9: all but
/// Set-Cookie replay exactly, in order.
#[tokio::test(start_paused = true)]
async fn v23_the_header_lines_replay_exactly_and_in_order() {
    let app = App::new(&shared(MemoryStore::new()), |_, _| async {
        let mut response = created("");
        for (name, value) in [
            ("location", &b"/reports/1"[..]),
            ("etag", b"\"1\""),
            ("link", b"</b>; rel=b"),
            ("link", b"</a>; rel=a"),
            ("set-cookie", b"a=1"),
            ("set-cookie", b"b=2"),
            ("x-list", b"a, b,,c"),
            ("x-name", b"Andr\xE9"),
        ] {
            response.headers_mut().append(name, HeaderValue::from_bytes(value).unwrap());
        }
        response
    });
    let first = app.send(post("k", "{}")).await;
    let repeat = app.send(post("k", "{}")).await;

    let of_the_handler = |answer: &Answer| {
        let lines = answer.headers.iter().filter(|(name, _)| *name != "set-cookie" && *name != "idempotency-replayed");
        lines.map(|(name, value)| (name.clone(), value.clone())).collect::<Vec<_>>()
    };
    assert_eq!(of_the_handler(&repeat), of_the_handler(&first));
    assert_eq!((repeat.status, repeat.replayed(), repeat.headers.len()), (StatusCode::CREATED, Some("true"), 7));
}

/// V24: all 256 byte values, and no byte, under every status that is recorded: byte for byte, same status.
#[tokio::test(start_paused = true)]
async fn v24_bodies_replay_byte_for_byte_under_every_recorded_status() {
    let all = Bytes::from_iter(0..=255);
    let mut recorded = 0;
    for status in (200..=599).map(|code| StatusCode::from_u16(code).unwrap()) {
        for body in [all.clone(), Bytes::new()] {
            let body = if status == StatusCode::NO_CONTENT { Bytes::new() } else { body };
            let answered = body.clone();
            let app = App::new(&shared(MemoryStore::new()), move |_, _| {
                let body = answered.clone();
                async move { answer(status, body) }
            });
            app.send(post("k", "{}")).await;
            let repeat = app.send(post("k", "{}")).await;
            assert_eq!((repeat.status, &repeat.body), (status, &body));
            recorded += usize::from(repeat.replayed() == Some("true"));
        }
    }
    // 300 below 500 less the 19 that refuse a request before the work.
    assert_eq!(recorded, 2 * (300 - 19));
}

fn accepting(encoding: &'static str) -> HeldRequest {
    let mut request = post("k", "{}");
    request.headers_mut().insert("accept-encoding", HeaderValue::from_static(encoding));
    request
}

const LONG: &str = "a text that is worth compressing, as it is long and says the same; as it is long and says the same";

/// V25: a compression layer inside compresses nothing: the repeat that accepts no encoding can read the replay.
#[tokio::test(start_paused = true)]
async fn v25_a_compression_layer_inside_compresses_nothing() {
    let compressed = CompressionLayer::new().layer(Runs::default().counting(|_, _| async { Ok(created(LONG)) }));
    let service = shared(MemoryStore::new()).layer(compressed);
    for (encoding, replayed) in [("gzip", "false"), ("identity", "true")] {
        let answer = send(&service, accepting(encoding)).await;
        assert_eq!((answer.text(), answer.replayed()), (LONG, Some(replayed)));
        assert_eq!(answer.header("content-encoding"), None);
        assert!(answer.header("content-length").is_none_or(|length| length == LONG.len().to_string()));
    }
}

/// V25: where Accept-Encoding is kept, which is a setting, the stored response is what the first caller accepted.
#[tokio::test(start_paused = true)]
async fn v25_where_accept_encoding_is_kept_the_first_caller_decides() {
    let compressed = CompressionLayer::new().layer(Runs::default().counting(|_, _| async { Ok(created(LONG)) }));
    let service = shared(MemoryStore::new()).keep_accept_encoding().layer(compressed);
    let first = send(&service, accepting("gzip")).await;
    let repeat = send(&service, accepting("gzip")).await;
    assert_eq!((repeat.header("content-encoding"), repeat.replayed()), (Some("gzip"), Some("true")));
    assert_eq!(repeat.body, first.body);
}

/// V26: a response larger than the limit, of known length or not: the first caller gets all of it, a repeat gets 410 and
/// runs nothing.
#[tokio::test(start_paused = true)]
async fn v26_a_response_larger_than_the_limit_is_sent_and_not_kept() {
    for known in [true, false] {
        let app = App::new(&shared(MemoryStore::new()).max_recorded_body(10), move |_, _| async move {
            if known {
                return created("larger than ten bytes");
            }
            let (frames, body) = streaming();
            for part in ["larger ", "than ten ", "bytes"] {
                frames.send(part.into()).unwrap();
            }
            created("").map(|_| body)
        });
        let first = app.send(post("k", "{}")).await;
        assert_eq!((first.text(), first.replayed()), ("larger than ten bytes", Some("false")));
        assert_not_replayable(&app.send(post("k", "{}")).await, 201);
        assert_eq!(app.runs(), 1);
    }
}

/// V26: at the limit it is kept.
#[tokio::test(start_paused = true)]
async fn v26_a_response_at_the_limit_is_kept() {
    let app = App::new(&shared(MemoryStore::new()).max_recorded_body(10), |_, _| async { created("ten bytes!") });
    app.send(post("k", "{}")).await;
    assert_eq!(app.send(post("k", "{}")).await.text(), "ten bytes!");
}

/// A response whose body the test feeds.
fn fed(
    content_type: &'static str,
    frames: &mpsc::UnboundedSender<mpsc::UnboundedSender<Bytes>>,
) -> impl Future<Output = Response<Payload>> + Send + use<> {
    let (sender, body) = streaming();
    frames.send(sender).unwrap();
    let mut response = created("").map(|_| body);
    response.headers_mut().insert("content-type", HeaderValue::from_static(content_type));
    async move { response }
}

/// V26: server-sent events, which never end: the key is closed before the first of them, then each leaves at once.
#[tokio::test(start_paused = true)]
async fn v26_events_leave_one_by_one_once_the_key_is_closed() {
    let (store, door) = (gated(), Arc::new(Semaphore::new(0)));
    store.set(Verb::Complete, Gate::Permit(Arc::clone(&door)));
    let (bodies, mut fed_bodies) = mpsc::unbounded_channel();
    let app = App::new(&shared(store.clone()), move |_, _| fed("text/event-stream", &bodies));
    let began = Instant::now();
    let response = tokio::spawn(app.service().oneshot(post("k", "{}")));
    let events = fed_bodies.recv().await.unwrap();
    events.send("data: 1\n\n".into()).unwrap();
    until(|| store.calls(Verb::Complete) == 1).await;
    assert!(!response.is_finished(), "nothing leaves before the key is closed");

    door.add_permits(1);

    let mut response = response.await.unwrap().unwrap();
    for event in ["data: 1\n\n", "data: 2\n\n"] {
        assert_eq!(response.body_mut().frame().await.unwrap().unwrap().into_data().unwrap(), event);
        events.send("data: 2\n\n".into()).unwrap();
    }
    assert!(began.elapsed() < Duration::from_millis(100), "it is not waited for more");
    assert_not_replayable(&app.send(post("k", "{}")).await, 201);
    assert_eq!(app.runs(), 1);
}

/// V26: a response of unknown length that stalls for a second: the key is closed, then what there is leaves, and the
/// rest as it comes.
#[tokio::test(start_paused = true)]
async fn v26_a_response_that_stalls_is_streamed_after_a_second() {
    let (bodies, mut fed_bodies) = mpsc::unbounded_channel();
    let app = App::new(&shared(MemoryStore::new()), move |_, _| fed("text/plain", &bodies));
    let began = Instant::now();
    let response = tokio::spawn(app.service().oneshot(post("k", "{}")));
    let body = fed_bodies.recv().await.unwrap();
    body.send("one".into()).unwrap();

    let mut response = response.await.unwrap().unwrap();

    assert_eq!(began.elapsed(), Duration::from_secs(1));
    assert_not_replayable(&app.send(post("k", "{}")).await, 201);
    body.send("two".into()).unwrap();
    drop(body);
    for part in ["one", "two"] {
        assert_eq!(response.body_mut().frame().await.unwrap().unwrap().into_data().unwrap(), part);
    }
    assert!(response.body_mut().frame().await.is_none());
    assert_eq!(app.runs(), 1);
}

/// V26: one that ends in time is kept whole.
#[tokio::test(start_paused = true)]
async fn v26_a_response_of_unknown_length_that_ends_is_kept() {
    let (bodies, mut fed_bodies) = mpsc::unbounded_channel();
    let app = App::new(&shared(MemoryStore::new()), move |_, _| fed("text/plain", &bodies));
    let first = app.start(post("k", "{}"));
    let body = fed_bodies.recv().await.unwrap();
    for part in ["one", "two", "three"] {
        body.send(part.into()).unwrap();
        tokio::time::advance(Duration::from_millis(900)).await;
    }
    drop(body);
    assert_eq!(first.await.unwrap().text(), "onetwothree");
    let repeat = app.send(post("k", "{}")).await;
    assert_eq!((repeat.text(), repeat.replayed()), ("onetwothree", Some("true")));
}

/// V26: a kill between the close of the key and the first byte: a repeat gets 410 and never runs it again.
#[tokio::test(start_paused = true)]
async fn v26_a_kill_after_the_key_was_closed_is_410() {
    let (bodies, mut fed_bodies) = mpsc::unbounded_channel();
    let store = gated();
    store.set(Verb::Complete, Gate::SlowAnswer(Duration::from_secs(3)));
    let app = App::new(&shared(store.clone()), move |_, _| fed("text/event-stream", &bodies));
    let response = tokio::spawn(app.service().oneshot(post("k", "{}")));
    let _body = fed_bodies.recv().await.unwrap();
    until(|| store.calls(Verb::Complete) == 1).await;
    response.abort();
    assert!(response.await.is_err());
    assert_not_replayable(&app.send(post("k", "{}")).await, 201);
    assert_eq!(app.runs(), 1);
}
