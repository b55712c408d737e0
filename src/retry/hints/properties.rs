use proptest::prelude::*;

use super::{
    tests::{FORMS, at_least, wait},
    *,
};

const NAMES: [&str; 8] = [
    "grpc-retry-pushback-ms",
    "retry-after-ms",
    "retry-after",
    "ratelimit",
    "date",
    "age",
    "x-should-retry",
    "stripe-should-retry",
];

/// Any bytes that HTTP lets through, and values that can be read with one byte or none replaced.
fn any_value() -> impl Strategy<Value = HeaderValue> {
    let byte = || prop_oneof![Just(b'\t'), 0x20..=0x7e_u8, 0x80..=0xff_u8];
    let readable = prop::sample::select(vec![
        "0",
        "120",
        "1500.5",
        "-1",
        "99999999999999999999",
        FORMS[0],
        FORMS[1],
        FORMS[2],
        "Fri, 31 Dec 9999 23:59:59 GMT",
        "Friday, 31-Dec-99 23:59:59 GMT",
        "Thu, 01 Jan 1970 00:00:00 GMT",
        r#""a";r=0;t=30, "b";r=1"#,
        "true",
    ]);
    let replaced = (readable, any::<prop::sample::Index>(), prop::option::of(byte())).prop_map(|(value, at, byte)| {
        let mut value = value.as_bytes().to_vec();
        let at = at.index(value.len());
        value[at] = byte.unwrap_or(value[at]);
        value
    });
    prop_oneof![prop::collection::vec(byte(), 0..40), replaced]
        .prop_map(|bytes| HeaderValue::from_bytes(&bytes).expect("a value"))
}

proptest! {
    /// K4, K5.
    #[test]
    fn no_bytes_in_any_field_panic(lines in prop::collection::vec((prop::sample::select(&NAMES[..]), any_value()), 0..6)) {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(name, value);
        }
        prop_assert_ne!(Wait::of(&headers), Wait::AtLeast(Duration::ZERO));
        ShouldRetry::of(&headers);
    }

    /// C12: up to the year 2200.
    #[test]
    fn a_date_is_as_far_away_as_it_was_written(sent in 0..7_258_118_400_u64, ahead in 1..1_000_000_u64) {
        let [sent, at] = [sent, sent + ahead].map(|seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        let [sent, at] = [sent, at].map(httpdate::fmt_http_date);
        prop_assert_eq!(wait(&[("date", &sent), ("retry-after", &at)]), at_least(ahead));
    }

    /// C12: two digits mean what the four that they stand for mean.
    #[test]
    fn the_short_year_is_the_full_one(sent in 0..7_258_118_400_u64, ahead in 1..1_577_000_000_u64) {
        let [sent, at] = [sent, sent + ahead].map(|seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        let [sent, at] = [sent, at].map(httpdate::fmt_http_date);
        let weekday = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
            .into_iter()
            .find(|name| name.starts_with(&at[..3]))
            .expect("a weekday");
        let at = format!("{weekday}, {}-{}-{} {}", &at[5..7], &at[8..11], &at[14..16], &at[17..]);
        prop_assert_eq!(wait(&[("date", &sent), ("retry-after", &at)]), at_least(ahead), "{}", at);
    }
}
