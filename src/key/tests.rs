use std::error::Error as _;

use super::*;

const UUID: &str = "8e03978e-40d5-43e8-bc93-6894a57f9324";

fn read(value: impl AsRef<[u8]>, syntax: KeySyntax) -> Result<String, InvalidKeyKind> {
    read_lines([value.as_ref()], syntax, IdempotencyKey::DEFAULT_MAX_LEN).map(|key| key.expect("a field"))
}

fn read_lines<'a>(
    lines: impl IntoIterator<Item = &'a [u8]>,
    syntax: KeySyntax,
    max_len: usize,
) -> Result<Option<String>, InvalidKeyKind> {
    let mut headers = HeaderMap::new();
    for line in lines {
        headers.append(IDEMPOTENCY_KEY, HeaderValue::from_bytes(line).expect("bytes that HTTP lets through"));
    }
    match IdempotencyKey::from_headers(&headers, &IDEMPOTENCY_KEY, syntax, max_len) {
        Ok(key) => Ok(key.map(|key| key.to_string())),
        Err(error) => Err(error.kind()),
    }
}

/// S01, S02, S07: the vectors of CONFORMANCE.md, section 2, that parse.
#[test]
fn a_quoted_string_is_the_key_in_strict_and_lenient_mode() {
    let quoted_uuid = format!("\"{UUID}\"");
    let vectors = [
        (quoted_uuid.as_str(), UUID),
        (r#""a""#, "a"),
        (r#""a";x=1"#, "a"),
        (r#""a";x"#, "a"),
        (r#""a"; x=1"#, "a"),
        (r#""a";a=1;a=2"#, "a"),
        (r#""a";x="1;2""#, "a"),
        (r#""a\"b""#, r#"a"b"#),
        (r#""a\\b""#, r"a\b"),
        (r#""%""#, "%"),
        (r#""foo, bar""#, "foo, bar"),
        ("\t \"a\" \t", "a"),
    ];
    for (value, key) in vectors {
        assert_eq!(read(value, KeySyntax::Strict).as_deref(), Ok(key), "{value}");
        assert_eq!(read(value, KeySyntax::Lenient).as_deref(), Ok(key), "{value}");
    }
}

/// S01: the name of a field has no case.
#[test]
fn the_field_is_found_whatever_the_case_of_its_name() {
    let headers = HeaderMap::from_iter([(
        HeaderName::from_bytes(b"IDEMPOTENCY-Key").expect("a name"),
        HeaderValue::from_static(r#""abc""#),
    )]);
    let key = IdempotencyKey::from_headers(&headers, &IDEMPOTENCY_KEY, KeySyntax::Strict, 255);
    assert_eq!(key.unwrap().unwrap().as_str(), "abc");
}

#[test]
fn no_field_is_no_key() {
    assert_eq!(read_lines([], KeySyntax::Lenient, 255), Ok(None));
}

/// S02, S04, S05: the vectors of CONFORMANCE.md, section 2, that do not parse.
#[test]
fn strict_mode_takes_a_string_and_nothing_else() {
    let broken =
        [r#""a" ;x=1"#, r#""a";X=1"#, r#""a\nb""#, r#""a"#, r#"a""#, "'a'", r#""a" b"#, r#"("a")"#, r#""a","b""#];
    let others = ["abc", "d2adcbab-4e4e-430b-9181-ac9346be723a", "550e8400-e29b-41d4-a716-446655440000", UUID];
    let types = ["123", "1.5", ":aGVsbG8=:", "?1", "@1659578233", r#"%"a""#];
    for value in broken.into_iter().chain(others).chain(types) {
        assert_eq!(read(value, KeySyntax::Strict), Err(InvalidKeyKind::BadSyntax), "{value}");
    }
    assert_eq!(read("", KeySyntax::Strict), Err(InvalidKeyKind::Empty));
}

/// S05: what begins with a quote is never taken as it stands.
#[test]
fn lenient_mode_refuses_a_broken_string() {
    for value in [r#""a" ;x=1"#, r#""a";X=1"#, r#""a\nb""#, r#""a"#, r#"""#, r#""a" b"#, r#""a","b""#] {
        assert_eq!(read(value, KeySyntax::Lenient), Err(InvalidKeyKind::BadSyntax), "{value}");
    }
}

/// S03, V20.
#[test]
fn other_than_printable_ascii_is_refused_quoted_and_bare() {
    // NUL, DEL and the other controls never get into a `HeaderValue`; a tab and the upper half do.
    for inside in ["\t", "é", "\u{80}", "\u{1F600}"] {
        for value in [format!("\"a{inside}b\""), format!("a{inside}b"), format!("\"a\";x=\"{inside}\"")] {
            for syntax in [KeySyntax::Lenient, KeySyntax::Strict, KeySyntax::Raw] {
                assert_eq!(read(&value, syntax), Err(InvalidKeyKind::NotPrintableAscii), "{value:?} {syntax:?}");
            }
        }
    }
    for byte in (0x00..0x20).chain([0x7F]) {
        let value = format!("a{}b", char::from(byte));
        assert_eq!(IdempotencyKey::parse(&value).unwrap_err().kind(), InvalidKeyKind::NotPrintableAscii, "{byte:#x}");
    }
    assert_eq!(read(b"a\xFFb", KeySyntax::Lenient), Err(InvalidKeyKind::NotPrintableAscii));
}

/// S06, V21: the first or the last of several lines is never taken, even if they are alike or would join to a String.
#[test]
fn several_field_lines_are_refused() {
    let pairs: [[&[u8]; 2]; 4] = [[b"\"a\"", b"\"b\""], [b"\"a\"", b"\"a\""], [b"\"foo", b"bar\""], [b"a", b"a"]];
    for lines in pairs {
        for syntax in [KeySyntax::Lenient, KeySyntax::Strict, KeySyntax::Raw] {
            assert_eq!(read_lines(lines, syntax, 255), Err(InvalidKeyKind::SeveralLines));
        }
    }
}

/// S08, V20.
#[test]
fn length_counts_the_key_without_quotes_and_escapes_and_nothing_is_cut() {
    let escaped = |len: usize| format!("\"{}\"", r"\\".repeat(len));
    for (value, syntax) in
        [("x".repeat(255), KeySyntax::Lenient), ("x".repeat(255), KeySyntax::Raw), (escaped(255), KeySyntax::Strict)]
    {
        assert_eq!(read(value, syntax).map(|key| key.len()), Ok(255));
    }
    let refused = Err(InvalidKeyKind::TooLong { max_len: 255 });
    for (value, syntax) in
        [("x".repeat(256), KeySyntax::Lenient), ("x".repeat(256), KeySyntax::Raw), (escaped(256), KeySyntax::Strict)]
    {
        assert_eq!(read(value, syntax), refused);
    }
}

/// S08: RFC 9651 §3.3.3, a parser supports Strings of 1,024 characters.
#[test]
fn a_layer_may_take_longer_keys() {
    let value = format!("\"{}\"", "x".repeat(1024));
    assert_eq!(read_lines([value.as_bytes()], KeySyntax::Strict, 1024), Ok(Some("x".repeat(1024))));
    let refused = Err(InvalidKeyKind::TooLong { max_len: 1023 });
    assert_eq!(read_lines([value.as_bytes()], KeySyntax::Strict, 1023), refused);
}

/// S09, V20.
#[test]
fn an_empty_or_blank_key_is_refused() {
    for value in ["", " ", " \t ", r#""""#, r#""   ""#] {
        assert_eq!(read(value, KeySyntax::Lenient), Err(InvalidKeyKind::Empty), "{value:?}");
        assert_eq!(read(value, KeySyntax::Strict), Err(InvalidKeyKind::Empty), "{value:?}");
    }
    assert_eq!(read(" \t ", KeySyntax::Raw), Err(InvalidKeyKind::Empty));
}

/// S11.
#[test]
fn quoted_and_bare_are_the_same_key_in_lenient_mode() {
    for key in ["550e8400-e29b-41d4-a716-446655440000", "d2adcbab-4e4e-430b-9181-ac9346be723a", "abc", "(a)", "?1"] {
        assert_eq!(read(key, KeySyntax::Lenient).as_deref(), Ok(key));
        assert_eq!(read(format!("\"{key}\""), KeySyntax::Lenient).as_deref(), Ok(key));
    }
    assert_ne!(read("ABC", KeySyntax::Lenient), read("abc", KeySyntax::Lenient));
}

/// S11, V20: what a structured field would read as something else is opaque when it is bare.
#[test]
fn a_bare_value_is_the_whole_key() {
    for key in ["user", "../x", "a:b", "a;x=1", "a, b", r#"a"b"#, r"a\b", "a b"] {
        assert_eq!(read(format!(" {key}\t"), KeySyntax::Lenient).as_deref(), Ok(key));
    }
}

#[test]
fn raw_mode_keeps_quotes_and_parameters() {
    for key in [r#""abc""#, r#""a";x=1"#, r#""a"#, r#""""#, "abc"] {
        assert_eq!(read(format!("\t{key} "), KeySyntax::Raw).as_deref(), Ok(key));
    }
}

#[test]
fn an_invalid_key_says_why_keeps_its_source_and_never_shows_the_value() {
    let error = IdempotencyKey::parse(r#""secret"#).unwrap_err();
    assert_eq!(error.to_string(), "the idempotency key is not a structured field string");
    assert!(error.source().is_some());
    assert!(!format!("{error:?}").contains("secret"));
    let long = IdempotencyKey::parse(&"x".repeat(256)).unwrap_err();
    assert_eq!(long.to_string(), "the idempotency key is longer than 255 characters");
}

/// C05: UUIDv4.
#[test]
fn a_random_key_is_a_version_4_uuid() {
    let key = IdempotencyKey::random();
    assert_eq!(uuid::Uuid::parse_str(key.as_str()).unwrap().get_version_num(), 4);
    assert_ne!(key, IdempotencyKey::random());
}

#[test]
fn the_key_of_a_tool_call_joins_plain_ids() {
    assert_eq!(IdempotencyKey::for_tool_call("run-042", "toolu_01").as_str(), "run-042:toolu_01");
    assert_eq!(IdempotencyKey::for_tool_call("run-042", "a:b").as_str(), "run-042:a:b");
}

/// The digests here were computed apart from this code: records outlive a release, so the forms may not change.
#[test]
fn derived_keys_stay_what_they_are() {
    assert_eq!(
        IdempotencyKey::for_tool_call("a:b", "c").as_str(),
        "tool-call-v1-ca86a544294a6e02caf80dd29a4049c48d4ff35e45a0924b4beea53d6b70273d"
    );
    assert_eq!(
        IdempotencyKey::from_content(["run-042", "billing", &normalize_title(" Totals  are WRONG")]).as_str(),
        "content-v1-e7a27b41d3265083086e7bbc215aef6f675742bb656443a87d0784c7b6ff2687"
    );
    assert_eq!(
        IdempotencyKey::parse("abc").unwrap().child("charge").as_str(),
        "child-v1-42f6150c15330816826bef3338c1910b9d5db55d8ac7f6dd218666ae06cec776"
    );
}

#[test]
fn ids_that_make_no_plain_key_still_make_one() {
    let long = "x".repeat(255);
    let pairs =
        [("a:b", "c"), ("a", "é"), ("a", "\n"), (&long, "c"), (" a", "b"), ("a", "b "), ("\"a", "b"), ("", "\u{0}")];
    for (run, call) in pairs {
        let key = IdempotencyKey::for_tool_call(run, call);
        assert!(key.as_str().starts_with("tool-call-v1-"), "{run:?} {call:?}");
        assert_eq!(IdempotencyKey::parse(key.as_str()).unwrap(), key);
    }
}

#[test]
fn no_plain_pair_imitates_a_hashed_one() {
    let hashed = IdempotencyKey::for_tool_call("a:b", "c");
    let (prefix, digest) = hashed.as_str().rsplit_once('-').unwrap();
    assert_ne!(IdempotencyKey::for_tool_call(prefix, digest), hashed);
    assert_ne!(IdempotencyKey::for_tool_call(hashed.as_str(), ""), hashed);
}

#[test]
fn content_that_is_cut_elsewhere_is_another_key() {
    let keys = [
        IdempotencyKey::from_content(["ab", "c"]),
        IdempotencyKey::from_content(["a", "bc"]),
        IdempotencyKey::from_content(["abc"]),
        IdempotencyKey::from_content(["abc", ""]),
        IdempotencyKey::parse("ab").unwrap().child("c"),
        IdempotencyKey::parse("a").unwrap().child("bc"),
        IdempotencyKey::for_tool_call("ab", "c"),
    ];
    assert_eq!(std::collections::BTreeSet::from(keys).len(), 7);
}

#[test]
fn a_title_keeps_its_words_only() {
    for title in ["totals are wrong", "Totals  Are\tWrong", "\n TOTALS are\u{A0}wrong\u{3000}"] {
        assert_eq!(normalize_title(title), "totals are wrong");
    }
    assert_eq!(normalize_title("ÄRGER 标题"), "ärger 标题");
}

#[test]
fn a_key_that_would_be_misread_has_no_bare_form() {
    for quoted in [r#""\"abc\"""#, r#""\"a""#, r#"" a""#, r#""a ""#] {
        let key = IdempotencyKey::parse(quoted).unwrap();
        assert!(key.to_bare_header_value().is_err(), "{quoted}");
        assert_eq!(key.to_header_value(), quoted);
    }
}
