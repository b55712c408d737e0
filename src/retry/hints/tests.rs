use super::*;

mod rate_limit;

const SENT: &str = "Sun, 06 Nov 1994 08:47:37 GMT";
/// Two minutes after [`SENT`], in the three forms of RFC 9110 §5.6.7.
pub(super) const FORMS: [&str; 3] =
    ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"];

fn headers(lines: &[(&'static str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        headers.append(*name, HeaderValue::from_bytes(value.as_bytes()).expect("a value"));
    }
    headers
}

pub(super) fn wait(lines: &[(&'static str, &str)]) -> Wait {
    Wait::of(&headers(lines))
}

fn should_retry(lines: &[(&'static str, &str)]) -> ShouldRetry {
    ShouldRetry::of(&headers(lines))
}

pub(super) fn at_least(seconds: u64) -> Wait {
    Wait::AtLeast(Duration::from_secs(seconds))
}

/// C14.
#[test]
fn without_a_field_the_server_has_said_nothing() {
    assert_eq!(wait(&[]), Wait::Unspecified);
    assert_eq!(wait(&[("date", SENT), ("age", "3")]), Wait::Unspecified);
    assert_eq!(should_retry(&[]), ShouldRetry::Unspecified);
}

/// K4, C11, C14.
#[test]
fn seconds_are_a_floor() {
    for value in ["120", " 120 ", "\t120 \t", "0120"] {
        assert_eq!(wait(&[("retry-after", value)]), at_least(120), "{value:?}");
    }
}

/// K4, C11.
#[test]
fn what_is_no_number_of_seconds_is_ignored() {
    for value in ["+120", "1.5", "-1", "", " ", "NaN", "+5", "1e3", "0x10", "120s", "1 2", "inf", "120, 120", "１２"]
    {
        assert_eq!(wait(&[("retry-after", value)]), Wait::Unspecified, "{value:?}");
    }
}

/// K4: beyond any maximum, so that the response is returned now.
#[test]
fn a_huge_number_of_seconds_is_a_very_long_wait() {
    assert_eq!(wait(&[("retry-after", "9223372037")]), at_least(9_223_372_037));
    assert_eq!(wait(&[("retry-after", "99999999999999999999")]), at_least(u64::MAX));
    assert_eq!(wait(&[("retry-after-ms", &"9".repeat(400))]), Wait::AtLeast(Duration::MAX));
}

#[test]
fn a_wait_of_zero_asks_for_nothing_and_hides_the_fields_below() {
    let rest = [("retry-after", "30"), ("ratelimit", r#""a";r=0;t=30"#)];
    for value in ["0", "0.0", "000"] {
        assert_eq!(wait(&[("retry-after-ms", value), rest[0], rest[1]]), Wait::Unspecified, "{value}");
    }
    assert_eq!(wait(&[("retry-after", "0"), rest[1]]), Wait::Unspecified);
}

/// K5, C12.
#[test]
fn a_date_of_each_form_counts_from_the_date_of_the_response() {
    for at in FORMS {
        for sent in [SENT, "Sunday, 06-Nov-94 08:47:37 GMT", "Sun Nov  6 08:47:37 1994"] {
            assert_eq!(wait(&[("date", sent), ("retry-after", at)]), at_least(120), "{at} after {sent}");
        }
    }
}

/// K5: the server's clock is ten minutes behind that of another, and both want the same wait.
#[test]
fn a_clock_that_is_ten_minutes_off_changes_nothing() {
    for (sent, at) in
        [(SENT, "Sun, 06 Nov 1994 08:48:37 GMT"), ("Sun, 06 Nov 1994 08:37:37 GMT", "Sun, 06 Nov 1994 08:38:37 GMT")]
    {
        assert_eq!(wait(&[("date", sent), ("retry-after", at)]), at_least(60), "{sent}");
    }
}

/// K5, C12.
#[test]
fn a_date_in_the_past_is_ordinary_backoff() {
    let sent = "Sun, 06 Nov 1994 08:49:38 GMT";
    for at in FORMS {
        assert_eq!(wait(&[("date", sent), ("retry-after", at)]), Wait::Unspecified, "{at}");
        assert_eq!(wait(&[("date", at), ("retry-after", at)]), Wait::Unspecified, "{at}");
    }
}

/// C12.
#[test]
fn two_digits_are_a_year_up_to_fifty_ahead() {
    let days = |days: u64| at_least(days * 86_400);
    let cases = [
        ("Thu, 01 Jan 2026 00:00:00 GMT", "Friday, 01-Jan-27 00:00:00 GMT", days(365)),
        ("Thu, 01 Jan 2026 00:00:00 GMT", "Wednesday, 01-Jan-70 00:00:00 GMT", days(16_071)),
        ("Thu, 01 Jan 2026 00:00:00 GMT", "Tuesday, 31-Dec-75 00:00:00 GMT", days(18_261)),
        ("Thu, 01 Jan 2099 00:00:00 GMT", "Thursday, 01-Jan-05 00:00:00 GMT", days(2_191)),
    ];
    for (sent, at, expected) in cases {
        assert_eq!(wait(&[("date", sent), ("retry-after", at)]), expected, "{at} after {sent}");
    }
}

/// C12: with the weekday of either century.
#[test]
fn two_digits_more_than_fifty_years_ahead_are_the_past() {
    let past = [
        "Friday, 03-Jan-76 00:00:00 GMT",
        "Saturday, 03-Jan-76 00:00:00 GMT",
        "Friday, 01-Jan-77 00:00:00 GMT",
        "Saturday, 01-Jan-77 00:00:00 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
    ];
    for at in past {
        let lines = [("date", "Thu, 01 Jan 2026 00:00:00 GMT"), ("retry-after", at)];
        assert_eq!(wait(&lines), Wait::Unspecified, "{at}");
    }
}

/// C12: why `rfc850` completes the year itself.
#[test]
fn httpdate_reads_two_digits_as_1970_to_2069() {
    assert!(httpdate::parse_http_date("Wednesday, 01-Jan-70 00:00:00 GMT").is_err());
    assert_eq!(httpdate::parse_http_date("Thursday, 01-Jan-70 00:00:00 GMT").ok(), Some(SystemTime::UNIX_EPOCH));
    assert!(httpdate::parse_http_date("Tuesday, 01-Jan-69 00:00:00 GMT").is_ok());
}

/// K5, C12.
#[test]
fn a_date_without_a_usable_date_field_is_ignored() {
    for at in FORMS {
        assert_eq!(wait(&[("retry-after", at)]), Wait::Unspecified, "{at}");
        for sent in ["", "yesterday", "Mon, 06 Nov 1994 08:47:37 GMT"] {
            assert_eq!(wait(&[("date", sent), ("retry-after", at)]), Wait::Unspecified, "{at} after {sent:?}");
        }
        assert_eq!(wait(&[("date", SENT), ("date", SENT), ("retry-after", at)]), Wait::Unspecified, "{at}");
    }
    assert_eq!(wait(&[("date", "yesterday"), ("retry-after", "120")]), at_least(120));
}

/// C12: RFC 9110 §5.6.7 has three forms, and no more.
#[test]
fn a_date_in_another_form_is_ignored() {
    let others = [
        "1994-11-06T08:49:37Z",
        "Sun, 06-Nov-1994 08:49:37 GMT",
        "Sun, 06-Nov-94 08:49:37 GMT",
        "Sunny, 06-Nov-94 08:49:37 GMT",
        "Sunday, 6-Nov-94 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 UTC",
        "Sunday, 06 Nov-94 08:49:37 GMT",
        "Monday, 06-Nov-94 08:49:37 GMT",
        "Sunday, 06-Nov-194 08:49:37 GMT",
        "Sunday, 06-Nov-99999999999999999999 08:49:37 GMT",
        "Sunday, 06-Nov-94",
        "Sun, 06 Nov 1994 08:49:37 +0000",
        "Sun, 31 Nov 1994 08:49:37 GMT",
    ];
    for at in others {
        assert_eq!(wait(&[("date", SENT), ("retry-after", at)]), Wait::Unspecified, "{at}");
    }
}

#[test]
fn of_several_lines_the_longest_that_can_be_read_counts() {
    let retry_after = |values: [&str; 3]| wait(&values.map(|value| ("retry-after", value)));
    assert_eq!(retry_after(["10", "120", "60"]), at_least(120));
    assert_eq!(retry_after(["10", "-1", "soon"]), at_least(10));
    assert_eq!(wait(&[("date", SENT), ("retry-after", FORMS[0]), ("retry-after", "60")]), at_least(120));
    assert_eq!(wait(&[("retry-after-ms", "1000"), ("retry-after-ms", "2000")]), at_least(2));
}

/// C26: as the SDKs of OpenAI and Anthropic read it, which take a fraction.
#[test]
fn milliseconds_may_have_a_fraction() {
    let cases = [("1500", 1_500_000), ("1500.5", 1_500_500), (" 20 ", 20_000), (".5", 500), ("5.", 5_000)];
    for (value, micros) in cases {
        assert_eq!(wait(&[("retry-after-ms", value)]), Wait::AtLeast(Duration::from_micros(micros)), "{value}");
    }
}

/// C26.
#[test]
fn what_is_no_number_of_milliseconds_is_ignored() {
    for value in ["-1", "-0", "+5", "NaN", "inf", "infinity", "1e3", "1_000", "1.5.0", ".", "", "5ms", "1,5"] {
        assert_eq!(wait(&[("retry-after-ms", value)]), Wait::Unspecified, "{value:?}");
    }
}

/// C26, C27.
#[test]
fn the_first_field_that_can_be_read_decides() {
    let lines = [
        ("grpc-retry-pushback-ms", "1000"),
        ("retry-after-ms", "2000"),
        ("retry-after", "3"),
        ("ratelimit", r#""a";r=0;t=4"#),
    ];
    assert_eq!(wait(&lines), Wait::Exactly(Duration::from_secs(1)));
    assert_eq!(wait(&lines[1..]), at_least(2));
    assert_eq!(wait(&lines[2..]), at_least(3));
    assert_eq!(wait(&lines[3..]), at_least(4));
}

/// C26: longer or shorter, no field below changes it.
#[test]
fn a_longer_wait_further_down_does_not_count() {
    assert_eq!(wait(&[("ratelimit", r#""a";r=0;t=99"#), ("retry-after", "3")]), at_least(3));
    assert_eq!(wait(&[("retry-after", "99"), ("retry-after-ms", "2000")]), at_least(2));
}

/// C26.
#[test]
fn a_field_that_cannot_be_read_is_passed_over() {
    let quota = ("ratelimit", r#""a";r=0;t=4"#);
    assert_eq!(wait(&[("retry-after-ms", "NaN"), ("retry-after", "3"), quota]), at_least(3));
    assert_eq!(wait(&[("retry-after-ms", "-1"), ("retry-after", "1.5"), quota]), at_least(4));
    assert_eq!(wait(&[("retry-after", FORMS[0]), quota]), at_least(4));
    assert_eq!(wait(&[("date", FORMS[0]), ("retry-after", SENT), quota]), at_least(4));
}

/// C24.
#[test]
fn a_pushback_is_an_exact_wait() {
    for (value, ms) in [("0", 0), ("1500", 1500), (" 7 ", 7), ("2147483647", 2_147_483_647)] {
        let expected = Wait::Exactly(Duration::from_millis(ms));
        assert_eq!(wait(&[("grpc-retry-pushback-ms", value)]), expected, "{value}");
    }
}

/// C24.
#[test]
fn any_other_pushback_ends_the_retries() {
    for value in ["-1", "-2147483648", "+5", "1.5", "NaN", "", "soon", "2147483648", "99999999999999999999", "é"] {
        let lines = [("grpc-retry-pushback-ms", value), ("retry-after", "1")];
        assert_eq!(wait(&lines), Wait::Never, "{value:?}");
    }
    assert_eq!(wait(&[("grpc-retry-pushback-ms", "5"), ("grpc-retry-pushback-ms", "5")]), Wait::Never);
}

/// C25.
#[test]
fn either_field_says_whether_to_retry() {
    for name in SHOULD_RETRY {
        assert_eq!(should_retry(&[(name, "true")]), ShouldRetry::Yes, "{name}");
        assert_eq!(should_retry(&[(name, " false\t")]), ShouldRetry::No, "{name}");
    }
}

/// C25.
#[test]
fn any_other_word_leaves_it_to_the_status() {
    let [x, stripe] = SHOULD_RETRY;
    for value in ["", "True", "FALSE", "1", "0", "yes", "no", "?1", "\"true\"", "true, false", "é"] {
        assert_eq!(should_retry(&[(x, value)]), ShouldRetry::Unspecified, "{value:?}");
        assert_eq!(should_retry(&[(x, value), (stripe, "true")]), ShouldRetry::Yes, "{value:?}");
        assert_eq!(should_retry(&[(x, "false"), (stripe, value)]), ShouldRetry::No, "{value:?}");
    }
}

/// C25.
#[test]
fn a_contradiction_means_no_retry() {
    let [x, stripe] = SHOULD_RETRY;
    for names in [[x, stripe], [stripe, x], [x, x], [stripe, stripe]] {
        for [first, second] in [["true", "false"], ["false", "true"]] {
            assert_eq!(should_retry(&[(names[0], first), (names[1], second)]), ShouldRetry::No, "{names:?} {first}");
        }
    }
}
