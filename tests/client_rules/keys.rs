//! Rule 2: one key for each logical request.

use std::sync::atomic::{AtomicU32, Ordering};

use http::{HeaderName, Method};
use lab::{
    clock::{comes, until},
    exchange::{get, post, post_without_key},
    scripted::{Scripted, Step},
};
use tower::{Layer, ServiceExt};
use tower_idempotency::{
    IdempotencyKey, RetryLayer,
    key::InvalidKey,
    retry::{Outcome, RetryError, Stopped},
};

use crate::support::{always, at_once, hours, info, of_method, once, send, status, stopped, waiting};

fn keyed() -> RetryLayer {
    at_once().with_idempotency_keys()
}

/// What each attempt carried.
fn keys(client: &Scripted) -> Vec<Option<String>> {
    client.header("idempotency-key")
}

/// Rule 2: opt-in, since a server that ignores keys would do the work twice.
#[tokio::test(start_paused = true)]
async fn no_key_is_put_on_a_request_unless_the_layer_is_set_to() {
    let client = always(Step::status(200));

    send(&at_once().layer(client.clone()), post_without_key("{}")).await.expect("a response");

    assert_eq!(keys(&client), [None]);
}

/// Rule 2: one UUIDv4, in the form of a structured field String.
#[tokio::test(start_paused = true)]
async fn a_key_is_a_quoted_random_uuid() {
    let client = always(Step::status(200));

    send(&keyed().layer(client.clone()), post_without_key("{}")).await.expect("a response");

    let sent = keys(&client).remove(0).expect("a key");
    let uuid = sent.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).expect("quotes");
    let hyphens: Vec<_> = uuid.match_indices('-').map(|(at, _)| at).collect();
    assert_eq!((uuid.len(), hyphens), (36, vec![8, 13, 18, 23]));
    assert_eq!((&uuid[14..15], "89ab".contains(&uuid[19..20])), ("4", true), "version and variant of {uuid}");
}

/// Rule 2: before the first attempt, the same bytes on every attempt (K19).
#[tokio::test(start_paused = true)]
async fn every_attempt_carries_the_key_of_the_first() {
    let client = always(Step::status(503));

    send(&keyed().layer(client.clone()), post_without_key("{}")).await.expect("a response");

    let sent = keys(&client);
    assert!(sent.len() == 3 && sent[0].is_some() && sent.iter().all(|key| *key == sent[0]), "{sent:?}");
}

/// Rule 2: two requests with the same content are two requests (K19).
#[tokio::test(start_paused = true)]
async fn each_logical_request_has_a_key_of_its_own() {
    let client = always(Step::status(200));
    let service = keyed().layer(client.clone());

    send(&service, post_without_key("{}")).await.expect("a response");
    send(&service, post_without_key("{}")).await.expect("a response");

    assert_ne!(keys(&client)[0], keys(&client)[1]);
}

/// Rule 2: a key that the caller set is never touched, even one that cannot be read (K19).
#[tokio::test(start_paused = true)]
async fn a_key_that_the_caller_set_is_sent_as_it_stands() {
    for key in ["order-17", "\"order-17\"", "\"order-17\"; p=1", "\"open", ""] {
        let client = once(Step::refused());

        send(&keyed().layer(client.clone()), post(key, "{}")).await.expect("a response");

        assert_eq!(keys(&client), [Some(key.to_owned()), Some(key.to_owned())]);
    }
}

/// Rule 2: what is not guarded is idempotent already, or not ours to judge.
#[tokio::test(start_paused = true)]
async fn only_post_and_patch_are_given_a_key() {
    for (method, given) in [("POST", true), ("PATCH", true), ("GET", false), ("PUT", false), ("DELETE", false)] {
        let client = always(Step::status(200));

        send(&keyed().layer(client.clone()), of_method(method)).await.expect("a response");

        assert_eq!(keys(&client)[0].is_some(), given, "{method}");
    }
}

/// Rule 2: the guarded methods are a setting.
#[tokio::test(start_paused = true)]
async fn the_methods_that_are_given_a_key_can_be_set() {
    let client = always(Step::status(200));
    let service = keyed().guarded_methods([Method::PUT]).layer(client.clone());

    send(&service, of_method("PUT")).await.expect("a response");
    send(&service, post_without_key("{}")).await.expect("a response");

    assert_eq!((keys(&client)[0].is_some(), keys(&client)[1].is_some()), (true, false));
}

/// Rules 1 and 2: a key that the layer put on a request opens the gate as one of the caller's does.
#[tokio::test(start_paused = true)]
async fn a_post_that_was_given_a_key_is_repeated_after_a_reset() {
    let client = once(Step::reset());

    let ended = send(&keyed().layer(client.clone()), post_without_key("{}")).await;

    assert_eq!((client.attempts(), status(&ended)), (2, 200));
}

/// Rule 2: the generator is a setting, so that simulations repeat.
#[tokio::test(start_paused = true)]
async fn a_generator_makes_one_key_for_each_logical_request() {
    let client = always(Step::status(503));
    let made = AtomicU32::new(0);
    let generate = move || IdempotencyKey::parse(&format!("k{}", made.fetch_add(1, Ordering::Relaxed))).expect("a key");
    let service = keyed().max_attempts(2).with_key_generator(generate).layer(client.clone());

    send(&service, post_without_key("{}")).await.expect("a response");
    send(&service, post_without_key("{}")).await.expect("a response");

    assert_eq!(keys(&client), ["\"k0\"", "\"k0\"", "\"k1\"", "\"k1\""].map(|key| Some(key.to_owned())));
}

/// Rule 2: bare, and in another field, for the APIs that read keys so.
#[tokio::test(start_paused = true)]
async fn form_and_field_of_a_key_can_be_set() {
    let client = once(Step::reset());
    let service = keyed()
        .bare_keys()
        .key_header(HeaderName::from_static("x-request-key"))
        .with_key_generator(|| "run-1:step-2".parse().expect("a key"))
        .layer(client.clone());

    send(&service, post_without_key("{}")).await.expect("a response");

    assert_eq!(client.header("x-request-key"), ["run-1:step-2", "run-1:step-2"].map(|key| Some(key.to_owned())));
    assert_eq!(keys(&client), [None, None]);
}

/// Rule 2: a key is never cut; without the one it was to have, the request is not sent.
#[tokio::test(start_paused = true)]
async fn a_key_that_cannot_be_sent_fails_before_anything_is_sent() {
    let client = always(Step::status(200));
    let service = keyed().max_key_length(3).with_key_generator(|| "long".parse().expect("a key"));

    let error = send(&service.layer(client.clone()), post_without_key("{}")).await.expect_err("no key");

    let info = error.info();
    assert_eq!((client.attempts(), info.attempts(), info.first_sent()), (0, 0, None));
    assert_eq!((info.stopped(), info.outcome()), (Stopped::Key, Outcome::NotApplied));
    assert!(std::error::Error::source(&error).is_some_and(<dyn std::error::Error>::is::<InvalidKey>));
}

/// Rule 2: after its lifetime the server has forgotten the key, and a repeat would run anew; never a new key.
#[tokio::test(start_paused = true)]
async fn no_attempt_is_made_after_the_key_has_expired() {
    let client = always(Step::status(503));
    let service = waiting(hours(10)).with_idempotency_keys().max_attempts(9).layer(client.clone());

    let ended = send(&service, post_without_key("{}")).await;

    assert_eq!((client.waits(), stopped(&ended)), (vec![hours(10); 2], Stopped::KeyExpired));
    assert!(keys(&client).iter().all(|key| *key == keys(&client)[0]));
}

/// Rule 2: the lifetime is a setting, and that of the caller's keys too.
#[tokio::test(start_paused = true)]
async fn a_key_of_the_caller_expires_after_the_lifetime_that_is_set() {
    let client = always(Step::reset());
    let service = waiting(hours(1)).key_lifetime(hours(1)).layer(client.clone());

    let ended = send(&service, post("k", "{}")).await;

    assert_eq!((client.attempts(), stopped(&ended)), (1, Stopped::KeyExpired));
}

/// Rule 2: only keys expire.
#[tokio::test(start_paused = true)]
async fn a_request_without_a_key_knows_no_lifetime() {
    let client = once(Step::status(503));

    send(&waiting(hours(100)).layer(client.clone()), get("/reports")).await.expect("a response");

    assert_eq!(client.attempts(), 2);
}

/// Rule 2: what was planned in time may come too late: a service that is not ready for long.
#[tokio::test(start_paused = true)]
async fn no_attempt_is_made_if_the_key_expires_before_the_service_is_ready() {
    let client = Scripted::new([Step::status(503), Step::ReadyAfter(hours(25)), Step::status(201)]);

    let ended = send(&at_once().layer(client.clone()), post("k", "{}")).await;

    assert_eq!((client.attempts(), stopped(&ended)), (1, Stopped::KeyExpired));
    assert_eq!(info(&ended).elapsed(), hours(24));
}

/// Rule 2: the same, when the machine sleeps through the wait.
#[tokio::test(start_paused = true)]
async fn no_attempt_is_made_if_the_clock_jumps_past_the_life_of_the_key() {
    let client = once(Step::status(503));
    let service = waiting(hours(1)).layer(client.clone());
    let sending = tokio::spawn(service.oneshot(post("k", "{}")));
    until(|| client.attempts() == 1).await;

    tokio::time::advance(hours(48)).await;
    let ended: Result<_, RetryError> = comes(sending).await.expect("no panic");

    assert_eq!((client.attempts(), stopped(&ended)), (1, Stopped::KeyExpired));
}
