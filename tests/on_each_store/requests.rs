//! Which requests are the same, and under which keys: V15 to V17, V20, V35, V38.

use std::convert::Infallible;

use bytes::Bytes;
use http::{HeaderValue, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody, combinators::UnsyncBoxBody};
use lab::{
    app::{App, Runs, answer, created},
    exchange::{post, send},
    problem,
};
use tower::Layer;
use tower_idempotency::Store;

use crate::{places::Place, shared};

on_each_store![
    v15_a_body_is_the_same_however_it_is_framed,
    v16_v17_another_query_path_or_content_type_is_422,
    v20_odd_keys_are_filed_each_for_itself,
    v35_a_layer_on_the_router_and_again_on_the_route_runs_once,
    v38_a_corrected_request_runs_under_the_same_key,
];

/// V15: in many frames, empty ones among them, and as one; the handler gets identical bytes.
async fn v15_a_body_is_the_same_however_it_is_framed<S: Store>(place: &impl Place<Store = S>) {
    let bytes = Bytes::from_iter((0..=255).cycle().take(4_000));
    let (runs, expected) = (Runs::default(), bytes.clone());
    let service = shared(place.store()).layer(runs.counting(move |_, request| {
        let same = request.into_body() == expected;
        async move { Ok(created(same.to_string())) }
    }));
    let framed = |size: usize| -> UnsyncBoxBody<Bytes, Infallible> {
        let frames: Vec<_> = bytes.chunks(size).flat_map(|chunk| [chunk, b""]).map(Bytes::copy_from_slice).collect();
        let frames = frames.into_iter().map(|chunk| Ok::<_, Infallible>(Frame::data(chunk)));
        StreamBody::new(futures_util::stream::iter(frames)).boxed_unsync()
    };

    for (size, replayed) in [(1, "false"), (7, "true"), (4_000, "true")] {
        let answer = send(&service, post("k", "").map(|_| framed(size))).await;
        assert_eq!((answer.text(), answer.replayed()), ("true", Some(replayed)), "by {size}");
    }
    assert_eq!(send(&service, post("k", bytes.clone()).map(BodyExt::boxed_unsync)).await.replayed(), Some("true"));
    assert_eq!(runs.count(), 1);
}

pub(crate) async fn v16_v17_another_query_path_or_content_type_is_422<S: Store>(place: &impl Place<Store = S>) {
    let app = App::numbered(&shared(place.store()));
    let to = |target: &str, content_type: &'static str| {
        let mut request = post("k", "{}");
        *request.uri_mut() = target.parse().expect("a target");
        request.headers_mut().insert("content-type", HeaderValue::from_static(content_type));
        request
    };
    let first = || to("/orders/1?a=1", "application/json");
    assert_eq!(app.send(first()).await.text(), "run 1");

    for (other, differs) in [
        (to("/orders/1?a=2", "application/json"), "target"),
        (to("/orders/1", "application/json"), "target"),
        (to("/orders/2?a=1", "application/json"), "target"),
        (to("/orders/1?a=1", "application/xml"), "content_type"),
    ] {
        let reused = app.send(other).await;
        assert_eq!(problem::kind(&reused), (422, "KeyReused".into()));
        assert_eq!(problem::of(&reused)["differs"], serde_json::json!([differs]));
    }

    assert_eq!(app.send(first()).await.replayed(), Some("true"));
    assert_eq!(app.runs(), 1);
}

/// V20: whatever a store makes of keys, none is an error and none is another one: not by its case, by a pattern, by
/// where its parts are cut, nor by its last character.
pub(crate) async fn v20_odd_keys_are_filed_each_for_itself<S: Store>(place: &impl Place<Store = S>) {
    let app = App::numbered(&shared(place.store()));
    let long = "~".repeat(254);
    let mut keys: Vec<String> = vec![format!("{long}a"), format!("{long}b")];
    let odd =
        ["user", "USER", "../x", "a:b", "a::b", "a*", "a%", "a_", "a?", "{a}", "{b}a", "%00", "\\0", "$1", "it's"];
    keys.extend(odd.map(String::from));
    keys.extend(["a\"b", r#""quoted \" and \\""#, "'; DROP TABLE records; --", "NULL", "0", "00"].map(String::from));
    // From the fourth printable character on: the first is the space, the third the quote.
    keys.extend((3..6).map(|from| (' '..='~').cycle().skip(from).take(255).collect()));

    for replayed in ["false", "true"] {
        for (n, key) in keys.iter().enumerate() {
            let answer = app.send(post(key, "{}")).await;
            assert_eq!((answer.text(), answer.replayed()), (&*format!("run {}", n + 1), Some(replayed)), "{key}");
        }
    }
}

/// V35: no 409 to itself.
async fn v35_a_layer_on_the_router_and_again_on_the_route_runs_once<S: Store>(place: &impl Place<Store = S>) {
    use axum::{Router, body::Body, routing::post as on_post};

    let (layer, runs) = (shared(place.store()), Runs::default());
    let counted = runs.clone();
    let handler = async move || format!("run {}", counted.begin());
    let app = Router::new().route("/reports", on_post(handler).layer(layer.clone())).layer(layer);
    let request = || post("k", "{}").map(Body::new);

    let first = send(&app, request()).await;
    let repeat = send(&app, request()).await;

    assert_eq!((first.status, first.text(), first.replayed()), (StatusCode::OK, "run 1", Some("false")));
    assert_eq!((repeat.status, repeat.text(), repeat.replayed()), (StatusCode::OK, "run 1", Some("true")));
    assert_eq!(runs.count(), 1);
}

async fn v38_a_corrected_request_runs_under_the_same_key<S: Store>(place: &impl Place<Store = S>) {
    let app = App::new(&shared(place.store()), |_, request| async move {
        match request.into_body().is_empty() {
            true => answer(StatusCode::BAD_REQUEST, "a field is missing"),
            false => created("made"),
        }
    });

    let refused = app.send(post("k", "")).await;
    let corrected = app.send(post("k", "{}")).await;

    assert_eq!((refused.status, refused.replayed()), (StatusCode::BAD_REQUEST, Some("false")));
    assert_eq!((corrected.text(), corrected.replayed()), ("made", Some("false")));
    assert_eq!(app.send(post("k", "{}")).await.replayed(), Some("true"));
    assert_eq!(app.send(post("k", "")).await.status, StatusCode::UNPROCESSABLE_ENTITY);
}
