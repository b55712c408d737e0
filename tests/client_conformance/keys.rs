//! C04 to C07 and C29: one key for each logical request, and for how long.

use std::{collections::HashSet, sync::Arc};

use http::{HeaderName, HeaderValue};
use lab::scripted::{Scripted, Step};
use tokio::sync::Semaphore;
use tower::{Layer, ServiceExt, limit::ConcurrencyLimit};
use tower_idempotency::{
    IdempotencyKey,
    retry::{Backoff, Failure, Outcome, Stopped},
};

use crate::{bare, keyed, millis, secs, seeded, told, with_field};

/// C04, IK 2.2 and 2.5.1.
#[test]
fn c04_of_a_million_keys_none_is_there_twice() {
    let keys: HashSet<_> = (0..1_000_000).map(|_| IdempotencyKey::random()).collect();
    assert_eq!(keys.len(), 1_000_000);
}

/// C04: each logical request of a layer has its own.
#[tokio::test(start_paused = true)]
async fn c04_each_request_has_a_key_of_its_own() {
    let script = Scripted::new([Step::status(201)]);
    for _ in 0..1000 {
        script.send(&seeded().with_idempotency_keys(), bare("POST")).await.unwrap();
    }
    let keys: HashSet<_> = script.header("idempotency-key").into_iter().map(Option::unwrap).collect();
    assert_eq!(keys.len(), 1000);
}

/// C04: equal on each of its attempts.
#[tokio::test(start_paused = true)]
async fn c04_each_attempt_carries_the_same_key() {
    let script = Scripted::new([Step::status(503), Step::reset(), Step::status(201)]);
    script.send(&seeded().with_idempotency_keys(), bare("POST")).await.unwrap();
    let keys = script.header("idempotency-key");
    assert_eq!(keys.len(), 3);
    assert!(keys[0].is_some() && keys.iter().all(|key| *key == keys[0]), "{keys:?}");
}

/// C05, IK 2.2: version 4 and the variant of RFC 9562, in lower case.
#[tokio::test(start_paused = true)]
async fn c05_a_key_is_a_uuid_of_version_4() {
    let script = Scripted::new([Step::status(201)]);
    for _ in 0..100 {
        script.send(&seeded().with_idempotency_keys(), bare("POST")).await.unwrap();
    }
    for field in script.header("idempotency-key") {
        let key = IdempotencyKey::parse(&field.unwrap()).unwrap();
        assert!(is_uuid_v4(key.as_str()), "{key:?}");
    }
}

/// C05: the layer's seed makes its waits repeatable, and not its keys: they come from a generator that nobody can guess.
#[tokio::test(start_paused = true)]
async fn c05_the_same_seed_makes_other_keys() {
    let script = Scripted::new([Step::status(201)]);
    for _ in 0..2 {
        script.send(&seeded().with_idempotency_keys(), bare("POST")).await.unwrap();
    }
    let keys = script.header("idempotency-key");
    assert_ne!(keys[0], keys[1]);
}

/// C05: the generator is a setting.
#[tokio::test(start_paused = true)]
async fn c05_the_generator_is_a_setting() {
    let script = Scripted::new([Step::status(201)]);
    let layer = seeded().with_idempotency_keys().with_key_generator(|| key("order-17"));
    script.send(&layer, bare("POST")).await.unwrap();
    assert_eq!(script.header("idempotency-key"), [Some("\"order-17\"".into())]);
}

/// C05: and so is the length that a key may have, which for Amazon Pay is 32.
#[tokio::test(start_paused = true)]
async fn c05_a_key_longer_than_the_maximum_fails_before_it_is_sent() {
    let script = Scripted::new([Step::status(201)]);
    let layer = seeded().with_idempotency_keys().max_key_length(32);
    let error = script.send(&layer, bare("POST")).await.unwrap_err();
    assert_eq!((error.info().stopped(), error.outcome()), (Stopped::Key, Outcome::NotApplied));
    assert_eq!((script.attempts(), error.info().attempts()), (0, 0));
}

/// C05: a key of just that length is sent.
#[tokio::test(start_paused = true)]
async fn c05_a_key_of_the_maximum_length_is_sent() {
    let script = Scripted::new([Step::status(201)]);
    let layer = seeded().with_idempotency_keys().with_key_generator(|| key(&"x".repeat(32))).max_key_length(32);
    script.send(&layer, bare("POST")).await.unwrap();
    assert_eq!(script.attempts(), 1);
}

/// C06, IK 2.1, 9651 4.1.6: a String in quotes, with `"` and `\` escaped.
#[tokio::test(start_paused = true)]
async fn c06_a_key_is_sent_as_a_string() {
    let script = Scripted::new([Step::status(201)]);
    let layer = seeded().with_idempotency_keys().with_key_generator(|| key(r#"a"b\c"#));
    script.send(&layer, bare("POST")).await.unwrap();
    assert_eq!(script.header("idempotency-key"), [Some(r#""a\"b\\c""#.into())]);
}

/// C06: bare, for servers that would take the quotes for a part of it.
#[tokio::test(start_paused = true)]
async fn c06_a_key_can_be_sent_bare() {
    let script = Scripted::new([Step::status(201)]);
    let layer = seeded().with_idempotency_keys().with_key_generator(|| key("order-17")).bare_keys();
    script.send(&layer, bare("POST")).await.unwrap();
    assert_eq!(script.header("idempotency-key"), [Some("order-17".into())]);
}

/// C06: an `IdempotencyKey` always has a quoted form; what has no bare one fails before anything is sent.
#[tokio::test(start_paused = true)]
async fn c06_a_key_that_cannot_be_sent_bare_fails_before_it_is_sent() {
    for unsendable in [r#""quoted"#, " before"] {
        let script = Scripted::new([Step::status(201)]);
        let layer = seeded().with_idempotency_keys().with_key_generator(move || key(unsendable)).bare_keys();
        let error = script.send(&layer, bare("POST")).await.unwrap_err();
        assert_eq!((error.info().stopped(), error.outcome()), (Stopped::Key, Outcome::NotApplied), "{unsendable:?}");
        assert_eq!(script.attempts(), 0, "{unsendable:?}");
    }
}

/// C07, Smithy and Azure: not even one that no server would take.
#[tokio::test(start_paused = true)]
async fn c07_a_key_that_the_caller_set_is_never_replaced() {
    for set in ["\"order-17\"", "order-17", "", "\"", "\"a\",\"b\"", "'a'"] {
        let script = Scripted::new([Step::refused(), Step::status(201)]);
        let request = with_field(bare("POST"), "idempotency-key", set);
        script.send(&seeded().with_idempotency_keys(), request).await.unwrap();
        assert_eq!(script.header("idempotency-key"), [Some(set.to_owned()), Some(set.to_owned())]);
    }
}

/// C07: nor joined with ours, however many lines there are.
#[tokio::test(start_paused = true)]
async fn c07_two_lines_of_the_caller_stay_two_lines() {
    let script = Scripted::new([Step::status(201)]);
    let request = with_field(keyed("POST"), "idempotency-key", "\"other\"");
    script.send(&seeded().with_idempotency_keys(), request).await.unwrap();
    let seen = script.seen();
    let lines: Vec<_> = seen[0].request.headers().get_all("idempotency-key").iter().collect();
    assert_eq!(lines, ["\"k\"", "\"other\""]);
}

/// C07: under the header's name that the layer is set to.
#[tokio::test(start_paused = true)]
async fn c07_a_key_in_the_header_of_another_api_is_never_replaced() {
    let script = Scripted::new([Step::status(503), Step::status(201)]);
    let layer = seeded().with_idempotency_keys().key_header(HeaderName::from_static("paypal-request-id"));
    script.send(&layer, with_field(bare("POST"), "paypal-request-id", "order-17")).await.unwrap();
    assert_eq!(script.header("paypal-request-id"), [Some("order-17".into()), Some("order-17".into())]);
    assert_eq!(script.header("idempotency-key"), [None, None]);
}

/// C29, IK 2.3, Iceberg: the attempt that would be the third comes when the server may have forgotten the first.
#[tokio::test(start_paused = true)]
async fn c29_no_attempt_is_made_with_a_key_older_than_its_lifetime() {
    let script = Scripted::new([Step::reset()]);
    let layer = seeded().backoff(Backoff::exponential(secs(6), secs(6))).key_lifetime(secs(10));
    let error = script.send(&layer, keyed("POST")).await.unwrap_err();
    assert_eq!((script.attempts(), error.info().stopped()), (2, Stopped::KeyExpired));
    assert_eq!((error.info().elapsed(), error.outcome()), (secs(6), Outcome::Unknown));
}

/// C29: at the very end of the lifetime the server may have forgotten the key already.
#[tokio::test(start_paused = true)]
async fn c29_an_attempt_just_before_the_end_of_the_lifetime_is_made_and_one_at_its_end_is_not() {
    for (wait, attempts) in [(millis(9_999), 2), (secs(10), 1)] {
        let script = Scripted::new([Step::reset(), Step::status(201)]);
        let layer = seeded().backoff(Backoff::exponential(wait, wait)).key_lifetime(secs(10));
        let ended = script.send(&layer, keyed("POST")).await;
        assert_eq!((script.attempts(), ended.is_ok()), (attempts, attempts == 2));
    }
}

/// C29: a server that asks for a wait beyond it gets none.
#[tokio::test(start_paused = true)]
async fn c29_a_wait_beyond_the_lifetime_does_not_begin() {
    let script = Scripted::new([Step::with_headers(503, &[("retry-after", "11")])]);
    let answer = script.send(&seeded().key_lifetime(secs(10)), keyed("POST")).await.unwrap();
    assert_eq!((script.attempts(), told(&answer).stopped()), (1, Stopped::KeyExpired));
    assert_eq!(told(&answer).elapsed(), secs(0));
}

/// C29: the wait ended in time, but the service was not ready before the key was too old.
#[tokio::test(start_paused = true)]
async fn c29_a_key_that_grows_too_old_while_the_service_is_not_ready_is_not_sent() {
    let script = Scripted::new([Step::reset(), Step::status(201)]);
    let permits = Arc::new(Semaphore::new(1));
    let layer = seeded().backoff(Backoff::exponential(secs(1), secs(1))).key_lifetime(secs(10));
    let client = layer.layer(ConcurrencyLimit::with_semaphore(script.clone(), Arc::clone(&permits)));
    let mut sending = std::pin::pin!(client.oneshot(keyed("POST")));

    assert!(tokio::time::timeout(millis(500), &mut sending).await.is_err());
    let _taken = permits.acquire().await.unwrap();
    let error = sending.await.unwrap_err();

    assert_eq!((script.attempts(), error.info().attempts()), (1, 1));
    assert_eq!((error.info().stopped(), error.outcome()), (Stopped::KeyExpired, Outcome::Unknown));
    assert!(matches!(error.last_failure(), Some(Failure::Error(_))));
}

/// C29: a request that has no key has no such end.
#[tokio::test(start_paused = true)]
async fn c29_without_a_key_nothing_grows_too_old() {
    let script = Scripted::new([Step::reset()]);
    let layer = seeded().backoff(Backoff::exponential(secs(6), secs(6))).key_lifetime(secs(1));
    script.send(&layer, bare("GET")).await.unwrap_err();
    assert_eq!(script.attempts(), 3);
}

/// C29, OAS: not after an ambiguous failure, and not when the lifetime is over.
#[tokio::test(start_paused = true)]
async fn c29_the_layer_never_makes_a_second_key() {
    let script = Scripted::new([Step::reset()]);
    let layer = seeded().with_idempotency_keys().max_attempts(20).backoff(Backoff::exponential(secs(1), secs(1)));
    let error = script.send(&layer.key_lifetime(secs(10)), bare("POST")).await.unwrap_err();
    let keys: HashSet<_> = script.header("idempotency-key").into_iter().collect();
    let told = error.info().key().unwrap().to_header_value();
    assert_eq!((script.attempts(), error.info().stopped()), (10, Stopped::KeyExpired));
    assert_eq!(keys, HashSet::from([Some(text(&told))]));
}

fn key(text: &str) -> IdempotencyKey {
    let escaped = text.replace('\\', r"\\").replace('"', r#"\""#);
    IdempotencyKey::parse(&format!("\"{escaped}\"")).expect("a key")
}

fn text(value: &HeaderValue) -> String {
    value.to_str().expect("text").to_owned()
}

fn is_uuid_v4(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            14 => byte == b'4',
            19 => matches!(byte, b'8' | b'9' | b'a' | b'b'),
            _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        })
}
