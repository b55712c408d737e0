//! S21 and S22: JSON compared by meaning.

use bytes::Bytes;
use http::StatusCode;
use lab::{app::App, exchange::post};
use tower_idempotency::store::Fingerprint;

use crate::{of_type, shared, spied};

fn by_meaning() -> App {
    App::numbered(&shared(spied()).with_fingerprint(Fingerprint::json))
}

async fn assert_same(first: impl Into<Bytes>, second: impl Into<Bytes> + Clone) {
    let app = by_meaning();
    app.send(post("k", first)).await;
    let repeat = app.send(post("k", second.clone())).await;
    assert_eq!(repeat.replayed(), Some("true"), "{:?}", second.into());
}

async fn assert_different(first: impl Into<Bytes>, second: impl Into<Bytes> + Clone) {
    let app = by_meaning();
    app.send(post("k", first)).await;
    let repeat = app.send(post("k", second.clone())).await;
    assert_eq!((repeat.status, app.runs()), (StatusCode::UNPROCESSABLE_ENTITY, 1), "{:?}", second.into());
}

/// S21, 8785 3.2, own: order of members, whitespace and the spelling of a number do not count.
#[tokio::test(start_paused = true)]
async fn s21_what_means_the_same_is_a_replay() {
    for same in [
        r#"{ "b" : 2, "a" : 1 }"#,
        r#"{"a":1.0,"b":2}"#,
        r#"{"a":1e0,"b":2}"#,
        r#"{"b":2.00,"a":10e-1}"#,
        "\t{\"b\":2,\r\n\"\\u0061\":1}\n",
    ] {
        assert_same(r#"{"a":1,"b":2}"#, same).await;
    }
}

/// S21, own: the order of an array does, and so does `null` against nothing; and Unicode is not normalised (8785 3.1).
#[tokio::test(start_paused = true)]
async fn s21_what_means_something_else_is_422() {
    assert_different("[1,2]", "[2,1]").await;
    assert_different(r#"{"a":null}"#, "{}").await;
    assert_different(r#""\u00e9""#, r#""e\u0301""#).await;
    assert_different(r#"{"a":1}"#, r#"{"a":"1"}"#).await;
    assert_different("true", r#""true""#).await;
}

/// S21, 8785 3.2.3: members are ordered by UTF-16 code units, whichever way they were sent.
#[tokio::test(start_paused = true)]
async fn s21_members_beyond_the_basic_plane_are_put_in_order_too() {
    assert_same("{\"\u{1F600}\":1,\"\u{FB33}\":2}", "{\"\u{FB33}\":2,\"\u{1F600}\":1}").await;
}

/// S21: the content type says what JSON is; elsewhere the bytes count.
#[tokio::test(start_paused = true)]
async fn s21_only_json_is_compared_by_meaning() {
    for (content_type, replayed) in
        [("application/vnd.api+json; charset=utf-8", Some("true")), ("text/plain", None), ("application/x-json", None)]
    {
        let app = by_meaning();
        app.send(of_type(content_type, "k", "[1]")).await;
        assert_eq!(app.send(of_type(content_type, "k", "[ 1 ]")).await.replayed(), replayed, "{content_type}");
    }
}

/// S22, 8785 3.1 and 3.2.2, MUST: duplicate names, lone surrogates, numbers out of range and integers beyond 2^53 are
/// never made canonical; two of them are the same request only byte for byte.
#[tokio::test(start_paused = true)]
async fn s22_what_has_no_canonical_form_is_compared_by_its_bytes() {
    for (text, respelled) in [
        (r#"{"a":1,"a":2}"#, r#"{"a":1, "a":2}"#),
        (r#"["\ud800"]"#, r#"[ "\ud800"]"#),
        ("[1E400]", "[1e400]"),
        ("[9007199254740993]", "[ 9007199254740993]"),
        ("[-9007199254740993]", "[ -9007199254740993]"),
        ("[NaN]", "[ NaN]"),
    ] {
        assert_same(text, text).await;
        assert_different(text, respelled).await;
    }
}

/// S22, MUST: what a careless reader takes for one value is two.
#[tokio::test(start_paused = true)]
async fn s22_texts_that_a_careless_reader_confuses_are_different() {
    assert_different("[9007199254740993]", "[9007199254740992]").await;
    assert_different(r#"{"a":1,"a":2}"#, r#"{"a":2}"#).await;
    assert_different(r#"{"a":1,"a":2}"#, r#"{"a":1}"#).await;
    assert_different(r#"["\ud800"]"#, r#"["\ud801"]"#).await;
    assert_different("[1E400]", "[1E401]").await;
    assert_different("[0.1]", "[0.1000000000000000055]").await;
}
