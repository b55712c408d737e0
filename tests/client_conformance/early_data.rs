//! C17: 425 and early data. A server that answers 425 has processed nothing (RFC 8470 §5.2), and the repeat must not
//! be early itself.

use lab::scripted::{Scripted, Step};
use tower_idempotency::retry::{Outcome, Repeat, Stopped};

use crate::{bare, seeded, told, with_field};

/// C17, 8470 5.2: for any method, as nothing was done.
#[tokio::test(start_paused = true)]
async fn c17_a_425_is_retried() {
    for method in ["GET", "POST"] {
        let script = Scripted::new([Step::status(425), Step::status(200)]);
        assert_eq!(script.send(&seeded(), bare(method)).await.unwrap().status(), 200, "{method}");
    }
}

/// C17: whether a request is sent early is the connector's to decide; each repeat tells it not to.
#[tokio::test(start_paused = true)]
async fn c17_each_repeat_tells_the_connector_to_do_without_early_data() {
    let script = Scripted::new([Step::status(425)]);
    script.send(&seeded(), bare("POST")).await.unwrap();
    let seen = script.seen();
    let repeats: Vec<_> = seen.iter().map(|seen| seen.request.extensions().get::<Repeat>().is_some()).collect();
    assert_eq!(repeats, [false, true, true]);
}

/// C17: whoever passes on a request with `Early-Data` is an intermediary, and MUST pass on its 425.
#[tokio::test(start_paused = true)]
async fn c17_a_request_that_came_in_early_data_is_not_retried() {
    for method in ["GET", "POST"] {
        let script = Scripted::new([Step::status(425)]);
        let answer = script.send(&seeded(), with_field(bare(method), "early-data", "1")).await.unwrap();
        assert_eq!((answer.status().as_u16(), script.attempts()), (425, 1), "{method}");
    }
}

/// C17: not even if the server asks for it.
#[tokio::test(start_paused = true)]
async fn c17_no_hint_retries_a_request_that_came_in_early_data() {
    let script = Scripted::new([Step::with_headers(425, &[("x-should-retry", "true")])]);
    let answer = script.send(&seeded(), with_field(bare("GET"), "early-data", "1")).await.unwrap();
    assert_eq!((answer.status().as_u16(), script.attempts()), (425, 1));
}

/// C17: after another failure it is retried as any request, and its 425 is passed on then.
#[tokio::test(start_paused = true)]
async fn c17_the_425_of_a_repeat_that_came_in_early_data_is_passed_on() {
    let script = Scripted::new([Step::status(503), Step::status(425)]);
    let answer = script.send(&seeded(), with_field(bare("GET"), "early-data", "1")).await.unwrap();
    assert_eq!((answer.status().as_u16(), script.attempts()), (425, 2));
    assert_eq!((told(&answer).stopped(), told(&answer).outcome()), (Stopped::NotRetryable, Outcome::Unknown));
}
