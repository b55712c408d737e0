//! S01 to S06: structured fields, by the vectors of the table.

use http::Request;
use lab::{app::App, app::created, exchange::Answer, gate::GatedStore, problem, wire::Server};
use tower_idempotency::{
    IdempotencyKey, IdempotencyLayer, MemoryStore,
    idempotency::Claim,
    key::{InvalidKeyKind, KeySyntax},
};

use crate::{keyed, shared, spied, with_field};

type Spied = GatedStore<MemoryStore>;

/// A handler that answers the key which it was given.
pub(crate) fn key_reader(layer: &IdempotencyLayer<Spied>) -> App {
    App::new(layer, |_, request: Request<_>| async move {
        let claim = request.extensions().get::<Claim<Spied>>().expect("a claim");
        created(claim.key().as_str().to_owned())
    })
}

async fn read(syntax: KeySyntax, value: impl AsRef<[u8]>) -> Answer {
    key_reader(&shared(spied()).key_syntax(syntax).max_key_length(2_000)).send(keyed(value)).await
}

async fn assert_key(value: &str, key: &str) {
    for syntax in [KeySyntax::Strict, KeySyntax::Lenient] {
        let answer = read(syntax, value).await;
        assert_eq!((answer.status.as_u16(), answer.text()), (201, key), "{value} {syntax:?}");
    }
}

async fn assert_refused(syntax: KeySyntax, value: impl AsRef<[u8]>) {
    let answer = read(syntax, &value).await;
    assert_eq!(problem::kind(&answer), (400, "InvalidKey".into()), "{:?}", String::from_utf8_lossy(value.as_ref()));
}

/// S01, IK 2.1 and 9651 4.2.5, MUST: `"abc"` yields key `abc`.
#[tokio::test(start_paused = true)]
async fn s01_a_quoted_string_yields_the_key_between_its_quotes() {
    assert_key(r#""abc""#, "abc").await;
    assert_key(r#""8e03978e-40d5-43e8-bc93-6894a57f9324""#, "8e03978e-40d5-43e8-bc93-6894a57f9324").await;
    assert_key(r#""%""#, "%").await;
    assert_key(r#""foo, bar""#, "foo, bar").await;
}

/// S01, IK 2.1, MUST: the field name is matched case-insensitively.
#[tokio::test]
async fn s01_the_field_is_found_whatever_the_case_of_its_name() {
    let app = App::numbered(&shared(spied()));
    let server = Server::of_app(app.service()).await;
    for name in ["Idempotency-Key", "IDEMPOTENCY-KEY", "idempotency-key"] {
        let mut wire = server.connect().await;
        wire.write(format!("POST / HTTP/1.1\r\nhost: lab\r\n{name}: \"abc\"\r\ncontent-length: 0\r\n\r\n")).await;
        wire.read_until("run 1").await;
    }
    assert_eq!(app.runs(), 1);
}

/// S02, 9651 3.3.3, MUST: `\"` and `\\` decode.
#[tokio::test(start_paused = true)]
async fn s02_the_two_escapes_decode() {
    assert_key(r#""a\"b""#, r#"a"b"#).await;
    assert_key(r#""a\\b""#, r"a\b").await;
}

/// S02, 9651 3.3.3, MUST: any other backslash escape fails.
#[tokio::test(start_paused = true)]
async fn s02_any_other_escape_is_refused() {
    for value in [r#""a\nb""#, r#""a\b""#, r#""\u0041""#, r#""a\""#] {
        assert_refused(KeySyntax::Strict, value).await;
        assert_refused(KeySyntax::Lenient, value).await;
    }
}

/// S03, 9651 4.2.5, MUST: TAB, DEL, other CTL or a byte from 0x80 inside the String fails.
#[tokio::test(start_paused = true)]
async fn s03_a_tab_or_a_byte_from_0x80_inside_is_refused() {
    for value in [&b"\"a\tb\""[..], b"\"a\x80b\"", b"\"\xc3\xa9\"", b"a\tb", b"\xc3\xa9", b"a\xff"] {
        assert_refused(KeySyntax::Strict, value).await;
        assert_refused(KeySyntax::Lenient, value).await;
        assert_refused(KeySyntax::Raw, value).await;
    }
}

/// S03, 9651 4.2.5, MUST: the characters that no field value of the `http` crate can hold fail in the parser too.
#[test]
fn s03_no_control_character_is_part_of_a_key() {
    for control in ('\0'..' ').chain(['\x7f']) {
        let refused = IdempotencyKey::parse(&format!("\"a{control}b\"")).expect_err("a control character");
        assert_eq!(refused.kind(), InvalidKeyKind::NotPrintableAscii, "{control:?}");
    }
}

/// S03, 9651 4.2.5, MUST: on the wire they are refused as well, by whoever meets them first.
#[tokio::test]
async fn s03_a_control_character_on_the_wire_is_400() {
    let app = App::numbered(&shared(spied()));
    let server = Server::of_app(app.service()).await;
    for control in ['\0', '\x01', '\x7f'] {
        let mut wire = server.connect().await;
        wire.post(format_args!("\"a{control}b\""), "{}").await;
        assert!(wire.read_head().await.starts_with("HTTP/1.1 400"), "{control:?}");
    }
    assert_eq!(app.runs(), 0);
}

/// S04, IK 2.1 and 9651 2.2, MUST: in strict mode Token, number, bytes, boolean, date, display string and inner list
/// are failures.
#[tokio::test(start_paused = true)]
async fn s04_strict_mode_refuses_every_other_type() {
    for value in [
        "abc",
        "d2adcbab-4e4e-430b-9181-ac9346be723a",
        "550e8400-e29b-41d4-a716-446655440000",
        "8e03978e-40d5-43e8-bc93-6894a57f9324",
        "123",
        "1.5",
        ":aGVsbG8=:",
        "?1",
        "@1659578233",
        r#"%"a""#,
        r#"("a")"#,
    ] {
        assert_refused(KeySyntax::Strict, value).await;
    }
}

/// S04, 9651 4.2, MUST: what is no Item at all is a failure, in lenient mode too where a quote comes first.
#[tokio::test(start_paused = true)]
async fn s04_a_broken_string_is_refused() {
    for value in [r#""a" ;x=1"#, r#""a";X=1"#, r#""a"#, r#""a" b"#, r#""a","b""#] {
        assert_refused(KeySyntax::Strict, value).await;
        assert_refused(KeySyntax::Lenient, value).await;
    }
    for value in [r#"a""#, "'a'", "", " "] {
        assert_refused(KeySyntax::Strict, value).await;
    }
}

/// S05, 9651 4.2, MUST (one of two): a failing field is never partly used. Own: it is answered 400 and the inner service
/// is not called, since an unprotected run is worse than a refusal.
#[tokio::test(start_paused = true)]
async fn s05_a_failing_field_is_neither_partly_used_nor_ignored() {
    let app = App::numbered(&shared(spied()));
    app.send(keyed(r#""a""#)).await;

    let failing = app.send(keyed(r#""a" b"#)).await;

    assert_eq!(problem::kind(&failing), (400, "InvalidKey".into()));
    assert_eq!(app.runs(), 1);
}

/// S06, 9651 4.2, MUST: two field lines are joined before parsing, so `"a"` and `"b"` are 400; never the first or the
/// last of them.
#[tokio::test(start_paused = true)]
async fn s06_two_field_lines_are_refused() {
    let app = App::numbered(&shared(spied()));
    for (first, second) in [(r#""a""#, r#""b""#), (r#""a""#, r#""a""#), ("a", "b"), (r#""foo"#, r#"bar""#)] {
        let answer = app.send(with_field(keyed(first), "idempotency-key", second)).await;
        assert_eq!(problem::kind(&answer), (400, "InvalidKey".into()), "{first} {second}");
    }
    assert_eq!(app.runs(), 0);
}
