//! Rule 1: which requests may be sent a second time.

use std::{error::Error, fmt, io};

use lab::{
    exchange::{post, post_without_key},
    scripted::{Scripted, Step},
};
use tower::{BoxError, Layer, load_shed::error::Overloaded};
use tower_idempotency::retry::{AssumeRepeatable, Outcome, Stopped};

use crate::support::{always, at_once, of_method, once, secs, send, status, stopped};

/// Failures that leave open whether the server did the work.
fn maybe_applied() -> Vec<Step> {
    let errors = [io::ErrorKind::ConnectionReset, io::ErrorKind::BrokenPipe, io::ErrorKind::TimedOut];
    let errors = errors.map(|kind| Step::Fail(io::Error::from(kind).into()));
    let statuses = [408, 429, 500, 502, 503, 504, 520].map(Step::status);
    errors.into_iter().chain([Step::Fail("unheard of".into())]).chain(statuses).collect()
}

/// Failures that prove that the server did nothing.
fn not_applied() -> [Step; 4] {
    [Step::refused(), Step::Fail(Overloaded::new().into()), Step::status(421), Step::status(425)]
}

/// Rule 1: a second copy of these does no harm (RFC 9110 §9.2.2, QUERY by RFC 10008).
#[tokio::test(start_paused = true)]
async fn a_request_of_an_idempotent_method_is_repeated_after_any_failure() {
    for method in ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "QUERY"] {
        for step in maybe_applied() {
            let (name, client) = (format!("{method} {step:?}"), once(step));

            let ended = send(&at_once().layer(client.clone()), of_method(method)).await;

            assert_eq!((client.attempts(), status(&ended)), (2, 200), "{name}");
        }
    }
}

/// Rule 1: a POST without a key is sent exactly once, after a 503 and after a failure on the way (K7).
#[tokio::test(start_paused = true)]
async fn a_post_without_a_key_is_sent_once_where_it_may_have_been_applied() {
    for step in maybe_applied() {
        let (name, client) = (format!("{step:?}"), once(step));

        let ended = send(&at_once().layer(client.clone()), post_without_key("{}")).await;

        assert_eq!((client.attempts(), stopped(&ended)), (1, Stopped::NotRepeatable), "{name}");
    }
}

/// Rule 1: a timeout tells nothing of what the server did (K7).
#[tokio::test(start_paused = true)]
async fn a_post_without_a_key_is_sent_once_when_it_times_out() {
    let client = always(Step::Never);

    let ended = send(&at_once().attempt_timeout(secs(1)).layer(client.clone()), post_without_key("{}")).await;

    assert_eq!((client.attempts(), stopped(&ended)), (1, Stopped::NotRepeatable));
}

/// Rule 1: what is not known to be idempotent is not.
#[tokio::test(start_paused = true)]
async fn a_method_that_is_not_known_to_be_idempotent_is_sent_once() {
    for method in ["PATCH", "CONNECT", "BREW", "get"] {
        let client = once(Step::reset());

        let ended = send(&at_once().layer(client.clone()), of_method(method)).await;

        assert_eq!((client.attempts(), stopped(&ended)), (1, Stopped::NotRepeatable), "{method}");
    }
}

/// Rule 1: with a key the server tells a second copy from a second request.
#[tokio::test(start_paused = true)]
async fn a_post_with_a_key_is_repeated_after_any_failure() {
    for step in maybe_applied() {
        let (name, client) = (format!("{step:?}"), once(step));

        let ended = send(&at_once().layer(client.clone()), post("k", "{}")).await;

        assert_eq!((client.attempts(), status(&ended)), (2, 200), "{name}");
    }
}

/// Rule 1: the caller knows that this search by POST changes nothing.
#[tokio::test(start_paused = true)]
async fn a_post_that_its_caller_marked_is_repeated() {
    let client = once(Step::reset());
    let mut request = post_without_key("{}");
    request.extensions_mut().insert(AssumeRepeatable);

    send(&at_once().layer(client.clone()), request).await.expect("a response");

    assert_eq!(client.attempts(), 2);
}

/// Rule 1: the mark is that of one request, and no setting of the client.
#[tokio::test(start_paused = true)]
async fn the_request_after_a_marked_one_is_not_marked() {
    let client = Scripted::new([Step::status(503), Step::status(200), Step::status(503)]);
    let service = at_once().layer(client.clone());
    let mut marked = post_without_key("{}");
    marked.extensions_mut().insert(AssumeRepeatable);

    send(&service, marked).await.expect("a response");
    let ended = send(&service, post_without_key("{}")).await;

    assert_eq!((client.attempts(), stopped(&ended)), (3, Stopped::NotRepeatable));
}

/// Rule 1: connection refused, shed under load, 421, 425: any request may be sent again (K7).
#[tokio::test(start_paused = true)]
async fn a_post_without_a_key_is_repeated_where_it_was_surely_not_applied() {
    for step in not_applied() {
        let (name, client) = (format!("{step:?}"), once(step));

        let ended = send(&at_once().layer(client.clone()), post_without_key("{}")).await;

        assert_eq!((client.attempts(), status(&ended)), (2, 200), "{name}");
    }
}

/// Rules 1 and 3: that the server asks for a retry takes nothing from the proof that it did nothing.
#[tokio::test(start_paused = true)]
async fn a_425_that_asks_for_a_retry_is_as_surely_not_applied() {
    let client = once(Step::with_headers(425, &[("x-should-retry", "true")]));

    send(&at_once().layer(client.clone()), post_without_key("{}")).await.expect("a response");

    assert_eq!(client.attempts(), 2);
}

/// Rule 1: each failure is judged by itself; a refused connection does not vouch for the attempt after it.
#[tokio::test(start_paused = true)]
async fn a_post_without_a_key_that_was_refused_once_is_not_repeated_after_a_reset() {
    let client = Scripted::new([Step::refused(), Step::reset(), Step::status(200)]);

    let ended = send(&at_once().layer(client.clone()), post_without_key("{}")).await;

    assert_eq!((client.attempts(), stopped(&ended)), (2, Stopped::NotRepeatable));
}

/// An error as clients wrap it.
#[derive(Debug)]
struct Wrapped(BoxError);

impl fmt::Display for Wrapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the client failed")
    }
}

impl Error for Wrapped {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.0)
    }
}

/// Rule 1: below an error that is not known it may be that of a tunnel, or of the request's body. What the errors of
/// HTTP clients prove is told with the features `hyper` and `reqwest`.
#[tokio::test(start_paused = true)]
async fn a_refused_connection_among_the_causes_of_another_error_proves_nothing() {
    let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
    let client = once(Step::Fail(Wrapped(Wrapped(refused.into()).into()).into()));

    let error = send(&at_once().layer(client.clone()), post_without_key("{}")).await.expect_err("an error");

    assert_eq!((client.attempts(), error.outcome()), (1, Outcome::Unknown));
}

/// Rule 1: a field that no server can be relied on to read as one key is none.
#[tokio::test(start_paused = true)]
async fn a_post_whose_key_cannot_be_read_is_sent_once() {
    for keys in [vec!["a", "b"], vec!["a", "a"], vec![""], vec!["  "], vec!["\"open"]] {
        let client = once(Step::status(503));
        let mut request = post_without_key("{}");
        for key in &keys {
            request.headers_mut().append("idempotency-key", key.parse().expect("a header value"));
        }

        let ended = send(&at_once().layer(client.clone()), request).await;

        assert_eq!((client.attempts(), stopped(&ended)), (1, Stopped::NotRepeatable), "{keys:?}");
    }
}

/// Rule 1: what the other side says of retries never opens the gate.
#[tokio::test(start_paused = true)]
async fn a_server_that_asks_for_a_retry_does_not_get_a_post_without_a_key() {
    for field in ["x-should-retry", "stripe-should-retry"] {
        let client = once(Step::with_headers(503, &[(field, "true"), ("retry-after", "1")]));

        let ended = send(&at_once().layer(client.clone()), post_without_key("{}")).await;

        assert_eq!((client.attempts(), stopped(&ended)), (1, Stopped::NotRepeatable), "{field}");
    }
}
