use proptest::prelude::*;

use super::*;

fn any_key() -> impl Strategy<Value = IdempotencyKey> {
    "[ -~]{1,255}".prop_filter("blank", |text| !text.trim().is_empty()).prop_map(|text| {
        let quoted = format!("\"{}\"", text.replace('\\', r"\\").replace('"', r#"\""#));
        IdempotencyKey::parse(&quoted).expect("a key")
    })
}

fn parse_back(value: &HeaderValue, syntax: KeySyntax) -> Option<IdempotencyKey> {
    IdempotencyKey::parse_as(value.as_bytes(), syntax, IdempotencyKey::DEFAULT_MAX_LEN).ok()
}

/// Ids that often meet: few letters, colons, and what forces the hashed form.
fn any_id() -> impl Strategy<Value = String> {
    prop_oneof!["[a:]{0,4}", "[a:\" é]{0,4}", "tool-call-v1-[a:]{0,2}", "[ -~]{120,140}"]
}

proptest! {
    /// C06.
    #[test]
    fn the_quoted_form_reads_back_as_the_key(key in any_key()) {
        let written = key.to_header_value();
        prop_assert_eq!(parse_back(&written, KeySyntax::Strict), Some(key.clone()));
        prop_assert_eq!(parse_back(&written, KeySyntax::Lenient), Some(key));
    }

    #[test]
    fn the_bare_form_reads_back_as_the_key_or_does_not_exist(key in any_key()) {
        if let Ok(written) = key.to_bare_header_value() {
            prop_assert_eq!(parse_back(&written, KeySyntax::Lenient), Some(key.clone()));
            prop_assert_eq!(parse_back(&written, KeySyntax::Raw), Some(key));
        }
    }

    #[test]
    fn whatever_is_accepted_is_a_valid_key(value in prop::collection::vec(any::<u8>(), 0..300)) {
        for syntax in [KeySyntax::Lenient, KeySyntax::Strict, KeySyntax::Raw] {
            if let Ok(key) = IdempotencyKey::parse_as(&value, syntax, IdempotencyKey::DEFAULT_MAX_LEN) {
                prop_assert!(!key.as_str().trim().is_empty() && key.as_str().len() <= 255);
                prop_assert!(key.as_str().bytes().all(is_printable));
            }
        }
    }

    #[test]
    fn two_pairs_of_ids_never_share_a_key(a in (any_id(), any_id()), b in (any_id(), any_id())) {
        let [one, other] = [&a, &b].map(|(run, call)| IdempotencyKey::for_tool_call(run, call));
        prop_assert_eq!(one == other, a == b);
    }

    #[test]
    fn derived_keys_are_valid_in_both_forms(run in any::<String>(), call in any::<String>(), parent in any_key()) {
        let derived = [
            IdempotencyKey::for_tool_call(&run, &call),
            IdempotencyKey::from_content([&run, &call]),
            parent.child(&run),
        ];
        for key in derived {
            prop_assert_eq!(parse_back(&key.to_header_value(), KeySyntax::Strict), Some(key.clone()));
            prop_assert_eq!(parse_back(&key.to_bare_header_value().unwrap(), KeySyntax::Lenient), Some(key));
        }
    }

    #[test]
    fn parts_never_run_together(
        a in prop::collection::vec("[ab]{0,2}", 0..4),
        b in prop::collection::vec("[ab]{0,2}", 0..4),
    ) {
        prop_assert_eq!(IdempotencyKey::from_content(&a) == IdempotencyKey::from_content(&b), a == b);
    }

    #[test]
    fn a_normal_title_is_left_alone(title in any::<String>()) {
        let normal = normalize_title(&title);
        prop_assert_eq!(normalize_title(&normal), normal);
    }
}
