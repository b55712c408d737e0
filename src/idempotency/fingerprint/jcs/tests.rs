use proptest::prelude::*;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::*;

fn canon(json: &str) -> Option<String> {
    canonical(json.as_bytes()).map(|text| String::from_utf8(text).expect("made of strings"))
}

/// S21 and the vectors of CONFORMANCE.md, section 4.4.
#[test]
fn texts_of_one_meaning_have_one_canonical_form() {
    for json in [
        r#"{"a":1,"b":2}"#,
        r#"{ "b" : 2, "a" : 1 }"#,
        r#"{"a":1.0,"b":2}"#,
        r#"{"a":1e0,"b":2}"#,
        "\r\n\t{\"\\u0062\":20E-1,\n\"a\":0.01e+2} ",
    ] {
        let digest = Sha256::digest(canonical(json.as_bytes()).unwrap());
        assert_eq!(digest[..8], [0x43, 0x25, 0x8c, 0xff, 0x78, 0x3f, 0xe7, 0x03], "{json}");
    }
}

/// S21: CONFORMANCE.md, section 4.4.
#[test]
fn texts_of_two_meanings_have_two_canonical_forms() {
    for (one, other) in [
        (r#"{"a":null}"#, "{}"),
        ("[1,2]", "[2,1]"),
        (r#""\u00e9""#, r#""e\u0301""#),
        ("1", r#""1""#),
        ("[[1],2]", "[1,[2]]"),
        ("[]", "{}"),
        ("-1", "1"),
        ("1", "10"),
        ("0.1", "0.01"),
    ] {
        assert_ne!(canon(one).unwrap(), canon(other).unwrap(), "{one} {other}");
    }
}

/// S22, V18: what must not be canonicalised silently.
#[test]
fn what_would_lose_something_has_no_canonical_form() {
    let two_meanings = [r#"{"a":1,"a":2}"#, r#"{"a":1,"b":0,"a":1}"#, r#"{"a":1,"\u0061":1}"#, r#"[{"":1,"":1}]"#];
    let surrogates = [r#""\ud800""#, r#""\udc00""#, r#""\ud800\ud800""#, r#""\udc00\ud800""#, r#"{"\ud83d":1}"#];
    let numbers = [
        "0.1000000000000000055",
        "9007199254740993",
        "-9007199254740993",
        "9007199254740993.0",
        "18014398509481984",
        "1e16",
        "1E400",
        "-1E400",
        "1e-400",
        "4e-324",
        "0.30000000000000000000000000000001",
        "1e99999999999999999999",
    ];
    let no_json = ["", " ", "nul", "NaN", "01", "+1", "1.", ".1", "-", "1e", "[1,]", "{\"a\":1,}", "[1 2]", "{a:1}"];
    let broken =
        ["[", "]", "{\"a\"", "{\"a\":}", "1 2", "{} {}", "\"a", "'a'", "\"\t\"", r#""\x""#, "\u{FEFF}1", "//\n1"];
    for json in two_meanings.into_iter().chain(surrogates).chain(numbers).chain(no_json).chain(broken) {
        assert_eq!(canon(json), None, "{json}");
    }
    assert_eq!(canonical(b"\"\xFF\""), None);
    assert_eq!(canonical(b"\"\xED\xA0\x80\""), None, "a surrogate in UTF-8");
}

/// RFC 8785 §3.2.2.3 and appendix B, as far as 2^53.
#[test]
fn numbers_are_written_as_ecmascript_writes_them() {
    for (literal, number) in [
        ("0", "0"),
        ("-0", "0"),
        ("0.0e99999999999999999999", "0"),
        ("4.50", "4.5"),
        ("2e-3", "0.002"),
        ("0.000000000000000000000000001", "1e-27"),
        ("1.0E-6", "0.000001"),
        ("0.0000001", "1e-7"),
        ("9.999999999999997e-7", "9.999999999999997e-7"),
        ("5e-324", "5e-324"),
        ("-5E-324", "-5e-324"),
        ("33333333333333340e-8", "333333333.3333334"),
        ("333333333.33333325", "333333333.33333325"),
        ("-0.0000033333333333333333", "-0.0000033333333333333333"),
        ("1424953923781206.2", "1424953923781206.2"),
        ("9007199254740992", "9007199254740992"),
        ("-9007199254740992", "-9007199254740992"),
        ("100e-2", "1"),
        ("0.00001e5", "1"),
    ] {
        assert_eq!(canon(literal).as_deref(), Some(number), "{literal}");
    }
}

/// RFC 8785 §3.2.2.2 and §3.2.4; guards the use of `serde_json`'s escapes.
#[test]
fn strings_escape_as_little_as_they_can() {
    let json =
        r#"["\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/", "\b\f\n\r\t\u0000\u001F\u007f\u2028\ud83d\ude00\uffff"]"#;
    let expected =
        "[\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\",\"\\b\\f\\n\\r\\t\\u0000\\u001f\u{7f}\u{2028}\u{1F600}\u{FFFF}\"]";
    assert_eq!(canon(json).as_deref(), Some(expected));
}

/// RFC 8785 §3.2.3: its own example. U+1F600 comes before U+FB33.
#[test]
fn members_are_sorted_by_utf_16_code_units() {
    let json = r#"{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}"#;
    let expected = "{\"\\r\":2,\"1\":4,\"\u{80}\":6,\"ö\":7,\"€\":1,\"\u{1F600}\":5,\"\u{FB33}\":3}";
    assert_eq!(canon(json).as_deref(), Some(expected));
}

#[test]
fn objects_are_sorted_at_every_depth() {
    let json = r#"{"z":[{"b":{"d":1,"c":[]},"a":{}},[]],"y":"","aa":1,"a":2}"#;
    assert_eq!(canon(json).as_deref(), Some(r#"{"a":2,"aa":1,"y":"","z":[{"a":{},"b":{"c":[],"d":1}},[]]}"#));
}

/// The limit's reason: no body that `serde_json` reads is too deep for us.
#[test]
fn depth_is_bounded_beyond_what_serde_json_reads() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(canon(&nested(MAX_DEPTH)), Some(nested(MAX_DEPTH)));
    assert_eq!(canon(&nested(MAX_DEPTH + 1)), None);
    assert_eq!(canon(&"[".repeat(2 << 20)), None);
    assert!(serde_json::from_str::<Value>(&nested(MAX_DEPTH)).is_err());
}

/// Values whose numbers have a canonical form.
fn any_value() -> impl Strategy<Value = Value> {
    let number = prop_oneof![
        (-(1_i64 << 53)..=1 << 53).prop_map(Value::from),
        (-100..100).prop_map(Value::from),
        // No more digits than `serde_json` reads without an error in the last one.
        (-1_000_000..1_000_000).prop_map(|eighths| Value::from(f64::from(eighths) / 8.0)),
    ];
    let leaf =
        prop_oneof![Just(Value::Null), any::<bool>().prop_map(Value::from), number, ".{0,6}".prop_map(Value::from)];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map("[a-c\u{E000}-\u{10FFFF}\\\\\"]{0,3}", inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Writes a value as `style` says, eight bits at a time: order of members, whitespace, escapes.
fn write(value: &Value, style: &mut impl Iterator<Item = u8>) -> String {
    let mut pick = || style.next().unwrap_or(0);
    let space = ["", " ", "\n", "\t "][usize::from(pick() % 4)];
    let text = match value {
        Value::String(string) => write_with_escapes(string, pick() % 2 == 0),
        Value::Number(number) if pick() % 2 == 0 => format!("{number}").replace('e', "E"),
        Value::Array(values) => {
            let values: Vec<_> = values.iter().map(|value| write(value, style)).collect();
            format!("[{space}{}]", values.join(","))
        }
        Value::Object(members) => {
            let rotation = usize::from(pick()) % members.len().max(1);
            let mut members: Vec<_> = members.iter().collect();
            members.rotate_left(rotation);
            let members: Vec<_> = members
                .into_iter()
                .map(|(name, value)| {
                    format!("{}{space}:{}", write_with_escapes(name, rotation > 1), write(value, style))
                })
                .collect();
            format!("{{{space}{}}}", members.join(","))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    };
    format!("{space}{text}{space}")
}

fn write_with_escapes(string: &str, all: bool) -> String {
    if all {
        format!("\"{}\"", string.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect::<String>())
    } else {
        Value::from(string).to_string()
    }
}

fn mean_the_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| mean_the_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(name, one)| other.get(name).is_some_and(|other| mean_the_same(one, other)))
        }
        _ => one == other,
    }
}

proptest! {
    /// S21.
    #[test]
    fn order_of_members_whitespace_and_escapes_do_not_count(
        value in any_value(),
        one in prop::collection::vec(any::<u8>(), 0..100),
        other in prop::collection::vec(any::<u8>(), 0..100),
    ) {
        let one = canon(&write(&value, &mut one.into_iter()));
        prop_assert!(one.is_some());
        prop_assert_eq!(one, canon(&write(&value, &mut other.into_iter())));
    }

    #[test]
    fn the_canonical_form_means_the_same_and_is_its_own(value in any_value()) {
        let text = canon(&value.to_string()).unwrap();
        prop_assert!(mean_the_same(&serde_json::from_str(&text).unwrap(), &value), "{}", text);
        prop_assert_eq!(canon(&text), Some(text));
    }

    #[test]
    fn every_double_up_to_2_to_the_53_has_one_form(bits in 0..=MAX_EXACT.to_bits(), negative in any::<bool>()) {
        let double = if negative { -f64::from_bits(bits) } else { f64::from_bits(bits) };
        let text = ryu_js::Buffer::new().format_finite(double).to_owned();
        prop_assert_eq!(text.parse::<f64>().unwrap(), double);
        if !text.contains('e') {
            prop_assert_eq!(canon(&format!("{text}E+00")), Some(text.clone()));
        }
        prop_assert_eq!(canon(&text), Some(text));
    }

    #[test]
    fn literals_meet_only_if_they_are_the_same_number(
        one in (1_u64..20, 0_u32..4, 0_u32..8),
        other in (1_u64..20, 0_u32..4, 0_u32..8),
    ) {
        let [one, other] = [one, other].map(|(digits, zeros, power)| {
            let literal = format!("{}e{}", digits * 10_u64.pow(zeros), i64::from(power) - 4);
            (digits * 10_u64.pow(zeros + power), canon(&literal).unwrap())
        });
        prop_assert_eq!(one.1 == other.1, one.0 == other.0);
    }

    /// S22.
    #[test]
    fn neighbours_never_meet(digits in 1_u64..1 << 60, power in -20_i32..3, step in 1_u64..4) {
        let one = canon(&format!("{digits}e{power}"));
        let other = canon(&format!("{}e{power}", digits + step));
        prop_assert!(one.is_none() || one != other);
    }

    #[test]
    fn no_input_panics(json in "[\\[\\]{}:,\"\\\\u0d8c1e.\\-+ tnf\u{FEFF}]{0,40}") {
        canon(&json);
    }

    /// What `serde_json` refuses has no canonical form.
    #[test]
    fn only_json_has_a_canonical_form(json in "[\\[\\]{}:,\"a\\\\u0d8c1e.\\-+ ]{0,12}") {
        if canon(&json).is_some() {
            prop_assert!(serde_json::from_str::<Value>(&json).is_ok());
        }
    }
}
