//! S07 to S11: which keys are one key, and which are none.

use lab::{app::App, problem};
use tower_idempotency::key::KeySyntax;

use crate::{keyed, shared, spied, vectors::key_reader, with_field};

/// S07, 9651 2.3 (which discourages failing), own: `"a"` and then `"a";x=1` is a replay.
#[tokio::test(start_paused = true)]
async fn s07_parameters_neither_fail_nor_alter_the_identity() {
    for syntax in [KeySyntax::Strict, KeySyntax::Lenient] {
        let app = App::numbered(&shared(spied()).key_syntax(syntax));
        app.send(keyed(r#""a""#)).await;
        for value in [r#""a";x=1"#, r#""a";x"#, r#""a"; x=1"#, r#""a";a=1;a=2"#, r#""a";x="1;2""#] {
            assert_eq!(app.send(keyed(value)).await.replayed(), Some("true"), "{value}");
        }
        assert_eq!(app.runs(), 1);
    }
}

/// S07, 9651 3.1.2, MUST: 256 parameters at least are supported.
#[tokio::test(start_paused = true)]
async fn s07_two_hundred_and_fifty_six_parameters_are_read() {
    let app = App::numbered(&shared(spied()));
    app.send(keyed(r#""a""#)).await;
    let parameters: String = (0..256).map(|n| format!(";p{n}={n}")).collect();
    assert_eq!(app.send(keyed(format!("\"a\"{parameters}"))).await.replayed(), Some("true"));
}

/// S08, 9651 3.3.3, MUST: a String of 1024 characters parses, where the layer allows it.
#[tokio::test(start_paused = true)]
async fn s08_a_key_of_1024_characters_is_read_where_it_is_allowed() {
    let long = "x".repeat(1024);
    let app = key_reader(&shared(spied()).max_key_length(1024).key_syntax(KeySyntax::Strict));
    assert_eq!(app.send(keyed(format!("\"{long}\""))).await.text(), long);
}

/// S08, 9110 5.4, MUST: above the maximum (own: 255) a key is answered 400, never cut.
#[tokio::test(start_paused = true)]
async fn s08_a_key_above_the_maximum_is_refused_and_never_cut() {
    let app = App::numbered(&shared(spied()));
    let longest = "x".repeat(255);
    app.send(keyed(&longest)).await;

    for value in [format!("{longest}x"), format!("\"{longest}x\"")] {
        assert_eq!(problem::kind(&app.send(keyed(value)).await), (400, "InvalidKey".into()));
    }
    assert_eq!(app.send(keyed(format!("\"{longest}\""))).await.replayed(), Some("true"));
    assert_eq!(app.runs(), 1);
}

/// S09, own, as IK 5 wants keys validated: `""` is valid syntax and no key; nor is a blank.
#[tokio::test(start_paused = true)]
async fn s09_an_empty_or_blank_key_is_refused() {
    for syntax in [KeySyntax::Strict, KeySyntax::Lenient] {
        let app = App::numbered(&shared(spied()).key_syntax(syntax));
        for value in ["", " ", "\t", r#""""#, r#"" ""#] {
            assert_eq!(problem::kind(&app.send(keyed(value)).await), (400, "InvalidKey".into()), "{value:?}");
        }
        assert_eq!(app.runs(), 0);
    }
}

/// S10, IK 5, recommended: the key is validated before any call of the store.
#[tokio::test(start_paused = true)]
async fn s10_the_store_is_not_asked_about_an_invalid_key() {
    let store = spied();
    let app = App::numbered(&shared(store.clone()));
    for value in ["", r#""a"#, "é", &"x".repeat(256)] {
        assert_eq!(app.send(keyed(value)).await.status, 400);
    }
    app.send(with_field(keyed("a"), "idempotency-key", "b")).await;
    assert_eq!(store.all_calls(), 0);
}

/// S11, own, after deployed practice: a bare key, whatever it begins with, and its quoted form are the same key.
#[tokio::test(start_paused = true)]
async fn s11_bare_and_quoted_are_the_same_key() {
    for key in ["550e8400-e29b-41d4-a716-446655440000", "d2adcbab-4e4e-430b-9181-ac9346be723a"] {
        let app = App::numbered(&shared(spied()));
        assert_eq!(app.send(keyed(key)).await.replayed(), Some("false"));
        assert_eq!(app.send(keyed(format!("\"{key}\""))).await.replayed(), Some("true"));
        assert_eq!(app.runs(), 1);
    }
}

/// S11, own: keys compare octet by octet.
#[tokio::test(start_paused = true)]
async fn s11_case_matters() {
    let app = App::numbered(&shared(spied()));
    for key in ["d2adcbab", "D2ADCBAB", "d2adcbab-"] {
        assert_eq!(app.send(keyed(key)).await.replayed(), Some("false"), "{key}");
    }
    assert_eq!(app.runs(), 3);
}

/// S11, own: in raw mode quotes are part of the key, as at the APIs that take it literally.
#[tokio::test(start_paused = true)]
async fn s11_raw_mode_takes_quotes_for_a_part_of_the_key() {
    let app = key_reader(&shared(spied()).key_syntax(KeySyntax::Raw));
    for value in [r#""a""#, "a", r#""a";x=1"#, r#""a"#] {
        assert_eq!(app.send(keyed(value)).await.text(), value);
    }
    assert_eq!(app.runs(), 4);
}
