//! What a server asks of a client that may send a request again.
//!
//! | field | form | what it asks for | source |
//! |---|---|---|---|
//! | `grpc-retry-pushback-ms` | digits, up to 2³¹ - 1 | exactly so many milliseconds, 0 too | gRPC A6 |
//! | | anything else, and several lines | no retry | gRPC A6; several lines as in grpc-go |
//! | `retry-after-ms` | digits, with or without a decimal point | at least so many milliseconds | the SDKs of OpenAI and Anthropic read a float, Azure's an integer |
//! | `Retry-After` | digits | at least so many seconds | RFC 9110 §10.2.3 |
//! | | an IMF-fixdate, RFC 850 or asctime date | at least the time from the response's `Date` to it | RFC 9110 §5.6.7 |
//! | `RateLimit` | a List of Strings, each with `r` and perhaps `t` | at least the longest `t` seconds among the quotas with `r=0` | draft-ietf-httpapi-ratelimit-headers-10 §4 |
//! | `x-should-retry`, `Stripe-Should-Retry` | `true` or `false` | a retry, or none, whatever the status | the SDKs of OpenAI, Anthropic and Stripe |
//!
//! The first field from the top that can be read decides how long to wait (C26). One that cannot is passed over: a sign,
//! a unit, an exponent, `NaN`, a fraction of a second in `Retry-After`. Spaces and tabs around a value do not count.
//! Digits too large for a number are a very long wait, not an error.
//!
//! * **A wait of zero asks for nothing**: it hides the fields below it, as any value that can be read, and the ordinary
//!   backoff follows. Of the pushback alone it means at once.
//! * **A date counts from `Date`**, never from the client's clock, so that neither clock needs to be right. An origin
//!   server that has a clock sends `Date` (RFC 9110 §6.6.1). Without one, or with several, or if `Date` cannot be read,
//!   the date is passed over; so is one in the past. Two digits are a year at most 50 ahead of `Date`, or a past one; in
//!   `Date` itself they are 1970 to 2069.
//! * **Several lines** of `Retry-After` or `retry-after-ms` break RFC 9110 §5.3, but each is a minimum and a proxy may
//!   have added its own. The longest that can be read satisfies all. Two in one line cannot be read.
//! * **A quota with something left asks for nothing**: the request was not refused for its sake. A `RateLimit` that is
//!   malformed in any place is passed over as a whole, and so is one from a cache, that is with an `Age` above 0.

use std::time::{Duration, SystemTime};

use http::{
    HeaderMap, HeaderValue,
    header::{AGE, AsHeaderName, DATE, RETRY_AFTER},
};
use sfv::{BareItem, List, ListEntry, Parser};

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

const RETRY_AFTER_MS: &str = "retry-after-ms";
const GRPC_RETRY_PUSHBACK_MS: &str = "grpc-retry-pushback-ms";
const RATE_LIMIT: &str = "ratelimit";
const SHOULD_RETRY: [&str; 2] = ["x-should-retry", "stripe-should-retry"];

/// How long the server wants the client to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// Nothing that can be used, or a wait of zero: the ordinary backoff.
    Unspecified,
    /// At least so long, more than zero, counted from the receipt of the head: jitter is added above it.
    ///
    /// It may be longer than any clock can count; add it to an instant with `checked_add`.
    AtLeast(Duration),
    /// Exactly so long, then the backoff starts again.
    Exactly(Duration),
    /// No retry: the response is returned.
    Never,
}

impl Wait {
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let mut pushbacks = headers.get_all(GRPC_RETRY_PUSHBACK_MS).iter();
        match (pushbacks.next(), pushbacks.next()) {
            (None, _) => {}
            (Some(pushback), None) => return Self::pushed_back(pushback),
            (Some(_), Some(_)) => return Self::Never,
        }
        let wait = longest(headers, RETRY_AFTER_MS, milliseconds)
            .or_else(|| longest(headers, RETRY_AFTER, |text| seconds(text).or_else(|| until(text, date(headers)?))))
            .or_else(|| used_up(headers));
        match wait {
            None | Some(Duration::ZERO) => Self::Unspecified,
            Some(wait) => Self::AtLeast(wait),
        }
    }

    /// gRPC A6: a signed 32-bit integer, and what is negative or no such integer ends the retries.
    fn pushed_back(pushback: &HeaderValue) -> Self {
        match text(pushback).and_then(digits) {
            Some(ms) if ms <= i32::MAX as u64 => Self::Exactly(Duration::from_millis(ms)),
            _ => Self::Never,
        }
    }
}

/// Whether the server wants the request again, whatever the status says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ShouldRetry {
    /// Nothing that can be read: the status decides.
    Unspecified,
    /// Retry, as far as gate, attempts, budget and deadline allow.
    Yes,
    /// Return the response. Where two fields contradict each other this one holds: a retry too few can be made good.
    No,
}

impl ShouldRetry {
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let lines = SHOULD_RETRY.into_iter().flat_map(|name| headers.get_all(name)).filter_map(text);
        lines.fold(Self::Unspecified, |before, line| match (before, line) {
            (_, "false") => Self::No,
            (Self::Unspecified, "true") => Self::Yes,
            _ => before,
        })
    }
}

fn longest(headers: &HeaderMap, name: impl AsHeaderName, read: impl Fn(&str) -> Option<Duration>) -> Option<Duration> {
    headers.get_all(name).iter().filter_map(text).filter_map(read).max()
}

fn milliseconds(text: &str) -> Option<Duration> {
    // `f64` would read `inf`, `1e3` and `-0` too.
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let ms: f64 = text.parse().ok().filter(|_| plain)?;
    Some(Duration::try_from_secs_f64(ms / 1000.0).unwrap_or(Duration::MAX))
}

fn seconds(text: &str) -> Option<Duration> {
    digits(text).map(Duration::from_secs)
}

/// How long after `sent` the date is; `None` if it is earlier, or no date.
fn until(text: &str, sent: SystemTime) -> Option<Duration> {
    // Of the three forms only that of RFC 850 has a hyphen.
    let at = if text.contains('-') { rfc850(text, sent)? } else { httpdate::parse_http_date(text).ok()? };
    at.duration_since(sent).ok()
}

/// Reads `Sunday, 06-Nov-94 08:49:37 GMT` as `Sun, 06 Nov 1994 08:49:37 GMT`; `None` if it is past, or no such date.
///
/// RFC 9110 §5.6.7: what appears to be more than 50 years ahead is in the past. httpdate reads the years 1970 to 2069
/// whatever the time, and so takes the weekday of any other for an error.
fn rfc850(text: &str, sent: SystemTime) -> Option<SystemTime> {
    const WEEKDAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
    // Of the Gregorian calendar's mean length, 365.2425 days.
    const FIFTY_YEARS: Duration = Duration::from_secs(50 * 31_556_952);

    let (weekday, rest) = text.split_once(", ")?;
    let weekday = WEEKDAYS.into_iter().find(|name| *name == weekday)?;
    let (day, rest) = rest.split_once('-')?;
    let (month, rest) = rest.split_once('-')?;
    let (year, time) = rest.split_once(' ').filter(|(year, _)| year.len() == 2)?;
    let this_year = digits(&httpdate::fmt_http_date(sent)[12..16])?;
    let year = this_year + (digits(year)? + 100 - this_year % 100) % 100;
    let at = httpdate::parse_http_date(&format!("{}, {day} {month} {year} {time}", &weekday[..3])).ok()?;
    (at <= sent + FIFTY_YEARS).then_some(at)
}

fn date(headers: &HeaderMap) -> Option<SystemTime> {
    let mut lines = headers.get_all(DATE).iter();
    let only = lines.next().filter(|_| lines.next().is_none())?;
    httpdate::parse_http_date(text(only)?).ok()
}

/// How long until every quota that is used up has more; `None` if the field says nothing of it, or is malformed.
fn used_up(headers: &HeaderMap) -> Option<Duration> {
    if headers.get_all(AGE).iter().filter_map(text).filter_map(digits).any(|age| age > 0) {
        return None;
    }
    // RFC 9651 §4.2: the lines are one List.
    let lines = headers.get_all(RATE_LIMIT).iter().map(text).collect::<Option<Vec<_>>>()?;
    let list: List = Parser::new(&lines.join(",")).parse().ok()?;
    let quotas = list.iter().map(Quota::parse).collect::<Option<Vec<_>>>()?;
    quotas.into_iter().filter(|quota| quota.remaining == 0).filter_map(|quota| quota.more_in).max()
}

/// An item of a `RateLimit` field.
struct Quota {
    remaining: u64,
    more_in: Option<Duration>,
}

impl Quota {
    fn parse(entry: &ListEntry) -> Option<Self> {
        let ListEntry::Item(item) = entry else { return None };
        item.bare_item.as_string()?;
        let remaining = non_negative(item.params.get(sfv::key_ref("r"))?)?;
        let more_in = match item.params.get(sfv::key_ref("t")) {
            Some(seconds) => Some(Duration::from_secs(non_negative(seconds)?)),
            None => None,
        };
        Some(Self { remaining, more_in })
    }
}

fn non_negative(value: &BareItem) -> Option<u64> {
    u64::try_from(value.as_integer()?).ok()
}

/// RFC 9110 §5.5: whitespace around a value is not part of it.
fn text(value: &HeaderValue) -> Option<&str> {
    Some(value.to_str().ok()?.trim_matches([' ', '\t']))
}

/// `1*DIGIT`, without the sign that `parse` would let through; `u64::MAX` for more than that.
fn digits(text: &str) -> Option<u64> {
    let all_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    all_digits.then(|| text.parse().unwrap_or(u64::MAX))
}
