//! Rules 2 and 3: what is sent, and how often, under settings and answers that contradict each other.

use http::HeaderName;
use lab::{
    exchange::{post, post_without_key},
    scripted::{Scripted, Step},
};
use tower::Layer;

use crate::support::{at_once, send};

/// Rule 2: the same bytes on every attempt, though the number of the attempt is to be sent under the key's name.
#[tokio::test(start_paused = true)]
async fn the_number_of_the_attempt_never_replaces_the_key() {
    let client = Scripted::new([Step::status(503), Step::status(200)]);
    let layer = at_once().with_attempt_header(HeaderName::from_static("idempotency-key"));

    send(layer.layer(client.clone()), post("k", "42 EUR")).await.expect("a response");

    assert_eq!(client.header("idempotency-key"), [Some("k".to_owned()), Some("k".to_owned())]);
}

/// Rule 3: whatever the server asks for.
#[tokio::test(start_paused = true)]
async fn a_421_that_asks_for_retries_is_repeated_once() {
    let client = Scripted::new([Step::with_headers(421, &[("x-should-retry", "true")])]);

    send(at_once().max_attempts(5).layer(client.clone()), post_without_key("42 EUR")).await.expect("a response");

    assert_eq!(client.attempts(), 2);
}

/// Rule 2: a map of fields has a limit, and a key is one field more.
#[tokio::test(start_paused = true)]
async fn a_request_that_has_no_room_for_a_key_does_not_panic() {
    let mut request = post_without_key("42 EUR");
    let mut names = (0..).map(|n| HeaderName::try_from(format!("x-{n}")).expect("a name"));
    while request.headers_mut().try_append(names.next().expect("endless"), "1".parse().expect("a value")).is_ok() {}

    let client = Scripted::new([Step::status(200)]);
    let ended = send(at_once().with_idempotency_keys().layer(client.clone()), request).await;

    assert_eq!((client.attempts(), ended.is_err()), (0, true));
}
