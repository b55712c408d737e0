//! C09, C10 and C28: what is sent again, and what is not.

use http::{HeaderName, Request, Version};
use http_body_util::{BodyExt, Full};
use lab::{
    body::{Broken, ScriptedBody},
    scripted::{Scripted, Step},
};
use tower_idempotency::retry::{Outcome, SentOnce, Stopped};

use crate::{ambiguous, bare, keyed, secs, seeded, told};

/// C09, IK 2.2: method, target and body bytes; the version and the other fields too.
#[tokio::test(start_paused = true)]
async fn c09_each_attempt_is_the_same_request() {
    let script = Scripted::new([Step::status(503), Step::reset(), Step::status(201)]);
    let body: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    let request = Request::patch("https://bank.example/charges/17?currency=EUR&note=%20")
        .version(Version::HTTP_2)
        .header("idempotency-key", "\"order-17\"")
        .header("accept", "text/plain")
        .header("accept", "text/html")
        .body(Full::from(body.clone()))
        .unwrap();
    let (head, _) = request.clone().into_parts();

    script.send(&seeded(), request).await.unwrap();

    let seen = script.seen();
    assert_eq!(seen.len(), 3);
    for (n, seen) in seen.iter().enumerate() {
        let sent = &seen.request;
        assert_eq!((sent.method(), sent.uri(), sent.version()), (&head.method, &head.uri, head.version), "attempt {n}");
        assert_eq!(sent.headers(), &head.headers, "attempt {n}");
        assert!(sent.body() == &body, "attempt {n}");
    }
}

/// C09: the layer's own header is all that may differ.
#[tokio::test(start_paused = true)]
async fn c09_only_the_number_of_the_attempt_differs() {
    let script = Scripted::new([Step::status(503)]);
    let layer = seeded().with_attempt_header(HeaderName::from_static("x-attempt"));
    script.send(&layer, keyed("POST")).await.unwrap();
    for seen in script.seen() {
        let mut headers = seen.request.headers().clone();
        headers.remove("x-attempt");
        assert_eq!(&headers, keyed("POST").headers());
    }
}

/// C10, A6 and Azure: a body that can be had only once goes out once, and that is no error of its own. The layer has no
/// limit of its own: whoever buffers bodies has one, and says so by the body's type.
#[tokio::test(start_paused = true)]
async fn c10_a_body_that_is_had_once_is_sent_once() {
    for failure in ambiguous().into_iter().chain([Step::refused(), Step::status(425)]) {
        let name = format!("{failure:?}");
        let script = Scripted::new([failure]);
        let result = script.send(&seeded().attempt_timeout(secs(1)), keyed("POST").map(SentOnce::new)).await;
        let stopped = result.map_or_else(|error| error.info().stopped(), |answer| told(&answer).stopped());
        assert_eq!((script.attempts(), stopped), (1, Stopped::Body), "{name}");
        assert_eq!(script.seen()[0].request.body(), "{}", "{name}");
    }
}

/// C10: nor does it stand in the way of a success.
#[tokio::test(start_paused = true)]
async fn c10_a_body_that_is_had_once_can_succeed() {
    let script = Scripted::new([Step::status(201)]);
    assert_eq!(script.send(&seeded(), bare("POST").map(SentOnce::new)).await.unwrap().status(), 201);
}

/// C28, A6. The contract's rule 9: unless the response was to be held, which case K25 shows.
#[tokio::test(start_paused = true)]
async fn c28_a_body_that_fails_in_the_callers_hands_is_no_reason_to_retry() {
    let body = ScriptedBody::streaming().data("half").fails();
    let script = Scripted::new([Step::with_body(200, body), Step::status(200)]);
    let mut answer = script.send(&seeded(), bare("GET")).await.unwrap();
    assert_eq!(answer.body_mut().frame().await.unwrap().unwrap().into_data().unwrap(), "half");
    assert!(answer.body_mut().frame().await.unwrap().unwrap_err().is::<Broken>());
    assert_eq!(script.attempts(), 1);
}

/// C28: a failed response that is given up is the caller's, and so is its body.
#[tokio::test(start_paused = true)]
async fn c28_the_response_that_is_handed_over_is_unread() {
    let steps = [Step::status(503), Step::status(503), Step::with_body(503, ScriptedBody::whole("try later"))];
    let script = Scripted::new(steps);
    let answer = script.send(&seeded(), bare("GET")).await.unwrap();
    assert_eq!(told(&answer).outcome(), Outcome::Unknown);
    assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), "try later");
}
