//! S40, S42 and S48: a replay is what the first answer was, for whoever repeats the request.

use std::sync::{Arc, Mutex};

use http::{HeaderName, StatusCode};
use lab::{
    app::{App, answer, created},
    exchange::{post, send},
};
use tower::Layer;
use tower_http::compression::CompressionLayer;

use crate::{shared, spied, with_field};

const LONG: &str = "a text that is worth compressing, as it is long and says the same; as it is long and says the same";

/// S40, 9110 12.5.3 and 12.5.5, own: with the layer inside compression the first call gets gzip, and a retry that
/// accepts no encoding a readable body.
#[tokio::test(start_paused = true)]
async fn s40_a_repeat_that_accepts_no_compression_can_read_the_replay() {
    let app = App::new(&shared(spied()), |_, _| async { created(LONG) });
    let service = CompressionLayer::new().layer(app.service());

    let first = send(&service, with_field(post("k", "{}"), "accept-encoding", "gzip")).await;
    let repeat = send(&service, with_field(post("k", "{}"), "accept-encoding", "identity")).await;
    let compressed_again = send(&service, with_field(post("k", "{}"), "accept-encoding", "gzip")).await;

    assert_eq!((first.header("content-encoding"), first.replayed()), (Some("gzip"), Some("false")));
    assert_eq!((repeat.header("content-encoding"), repeat.text()), (None, LONG));
    assert_eq!(
        (compressed_again.header("content-encoding"), compressed_again.replayed()),
        (Some("gzip"), Some("true"))
    );
    assert_eq!(compressed_again.body, first.body);
    assert_eq!(app.runs(), 1);
}

/// S42, ACP 6.3, own. The row's name is `Idempotent-Replayed`; the layer's default is the second article's,
/// `Idempotency-Replayed`, sent as `false` on a first response.
#[tokio::test(start_paused = true)]
async fn s42_a_replay_says_so() {
    let app = App::numbered(&shared(spied()));
    assert_eq!(app.send(post("k", "{}")).await.replayed(), Some("false"));
    assert_eq!(app.send(post("k", "{}")).await.replayed(), Some("true"));
}

/// S42: the name is a setting, so that Stripe's can be had.
#[tokio::test(start_paused = true)]
async fn s42_the_name_of_the_marker_is_a_setting() {
    let app = App::numbered(&shared(spied()).replay_marker(HeaderName::from_static("idempotent-replayed")));
    for replayed in ["false", "true"] {
        let answer = app.send(post("k", "{}")).await;
        assert_eq!((answer.header("idempotent-replayed"), answer.replayed()), (Some(replayed), None));
    }
}

/// S42: it can be off.
#[tokio::test(start_paused = true)]
async fn s42_the_marker_can_be_off() {
    let app = App::numbered(&shared(spied()).without_replay_marker());
    for _ in 0..2 {
        let answer = app.send(post("k", "{}")).await;
        assert_eq!((answer.status, answer.headers.len()), (StatusCode::CREATED, 0));
    }
    assert_eq!(app.runs(), 1);
}

/// S42: copies that the inner service supplies are removed, each of them.
#[tokio::test(start_paused = true)]
async fn s42_a_marker_of_the_handler_is_replaced() {
    let app = App::new(&shared(spied()), |_, _| async {
        let mut response = created("");
        for lie in ["true", "maybe"] {
            response.headers_mut().append("idempotency-replayed", lie.parse().unwrap());
        }
        response
    });
    for replayed in ["false", "true"] {
        let answer = app.send(post("k", "{}")).await;
        let markers: Vec<_> = answer.headers.get_all("idempotency-replayed").iter().collect();
        assert_eq!(markers, [replayed]);
    }
}

/// S48, 9110 13.2.1, own: a keyed request with If-Match, repeated after it succeeded, replays the success and not 412:
/// the key is met before the precondition.
#[tokio::test(start_paused = true)]
async fn s48_a_repeat_with_if_match_replays_the_success() {
    let etag = Arc::new(Mutex::new("\"1\""));
    let app = App::new(&shared(spied()), move |_, request| {
        let etag = Arc::clone(&etag);
        async move {
            let mut etag = etag.lock().unwrap();
            if request.headers()["if-match"] != *etag {
                return answer(StatusCode::PRECONDITION_FAILED, "");
            }
            *etag = "\"2\"";
            let mut response = answer(StatusCode::OK, "changed");
            response.headers_mut().insert("etag", etag.parse().unwrap());
            response
        }
    });
    let update = |key| with_field(post(key, "{}"), "if-match", "\"1\"");
    app.send(update("k")).await;

    let repeat = app.send(update("k")).await;
    let another_update = app.send(update("another")).await;

    assert_eq!((repeat.status, repeat.text(), repeat.replayed()), (StatusCode::OK, "changed", Some("true")));
    assert_eq!(repeat.header("etag"), Some("\"2\""));
    assert_eq!(another_update.status, StatusCode::PRECONDITION_FAILED);
}
