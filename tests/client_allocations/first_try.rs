//! A first try that succeeds.

use std::{convert::Infallible, time::Duration};

use bytes::Bytes;
use futures_util::stream;
use http::{Method, Request, Response, header::HeaderValue};
use http_body::Frame;
use http_body_util::{Full, StreamBody};
use tower::{Layer, service_fn};
use tower_idempotency::{
    RetryLayer,
    retry::{Budget, SentOnce},
};

use crate::{Answers, allocations, of_a_clone};

const SECOND: Duration = Duration::from_secs(1);

fn layers() -> [(&'static str, RetryLayer); 5] {
    [
        ("the defaults", RetryLayer::new()),
        ("an attempt timeout", RetryLayer::new().attempt_timeout(SECOND)),
        ("a deadline", RetryLayer::new().deadline(SECOND)),
        ("both", RetryLayer::new().attempt_timeout(SECOND).deadline(SECOND)),
        ("a bucket that refills, and ten attempts", {
            RetryLayer::new().budget(Budget::new(500).refill_per_second(1.0)).max_attempts(10)
        }),
    ]
}

type Make = fn() -> Request<Full<Bytes>>;

/// Made anew each time: the first clone of what was parsed from text allocates, the second does not.
fn requests() -> [(&'static str, Make); 4] {
    [
        ("the least", || Request::new(Full::default())),
        ("a target and a body", || Request::put("/charges/1?dry=false").body("42 EUR".into()).expect("a request")),
        ("a key", keyed),
        ("many headers, and extensions", || {
            let request = (0..20).fold(Request::patch("/charges/1"), |request, n| request.header(format!("x-{n}"), n));
            request.header("Idempotency-Key", "\"k\"").extension(17).body("42 EUR".into()).expect("a request")
        }),
    ]
}

fn pairs() -> impl Iterator<Item = ((&'static str, RetryLayer), (&'static str, Make))> {
    layers().into_iter().flat_map(|layer| requests().map(|request| (layer.clone(), request)))
}

fn keyed() -> Request<Full<Bytes>> {
    Request::post("/charges").header("Idempotency-Key", "\"k\"").body("42 EUR".into()).expect("a request")
}

/// Its key is a constant.
fn keyed_by_a_constant() -> Request<Full<Bytes>> {
    let key = HeaderValue::from_static("\"k\"");
    Request::post("/charges").header("Idempotency-Key", key).body("42 EUR".into()).expect("a request")
}

/// The guard of the others: what allocates is counted, and the service does not.
#[tokio::test(start_paused = true)]
async fn an_allocation_is_counted() {
    let boxes = service_fn(|_: Request<Full<Bytes>>| {
        Box::pin(async { Ok::<_, Infallible>(Response::new(Full::<Bytes>::default())) })
    });
    assert_eq!(allocations(boxes, keyed()), 1);
    assert_eq!(allocations(Answers { after: 1 }, keyed()), 0);
    assert!(of_a_clone(&keyed()) > 0);
}

#[tokio::test(start_paused = true)]
async fn answered_at_once_it_costs_the_clone_of_its_request() {
    for ((set, layer), (kind, request)) in pairs() {
        let service = Answers { after: 0 };
        let bare = allocations(service, request());
        assert_eq!(allocations(layer.layer(service), request()), bare + of_a_clone(&request()), "{kind}, with {set}");
    }
}

#[tokio::test(start_paused = true)]
async fn answered_later_it_costs_the_clone_of_its_request() {
    for ((set, layer), (kind, request)) in pairs() {
        let service = Answers { after: 2 };
        let bare = allocations(service, request());
        assert_eq!(allocations(layer.layer(service), request()), bare + of_a_clone(&request()), "{kind}, with {set}");
    }
}

#[tokio::test(start_paused = true)]
async fn as_the_only_attempt_it_costs_nothing() {
    for (set, layer) in layers() {
        for after in [0, 2] {
            let client = layer.clone().max_attempts(1).layer(Answers { after });
            let target = || Request::put("/charges/1").body(Full::<Bytes>::from("42 EUR")).expect("a request");
            assert_eq!(allocations(client.clone(), target()), 0, "with {set}");
            assert_eq!(allocations(client, keyed_by_a_constant()), 0, "with {set}, and a key");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn with_a_body_that_is_sent_once_it_costs_nothing() {
    for (set, layer) in layers() {
        for after in [0, 2] {
            let client = layer.layer(Answers { after });
            let frames = stream::iter([Ok::<_, Infallible>(Frame::data(Bytes::from("42 EUR")))]);
            let request = keyed_by_a_constant().map(|_| SentOnce::new(StreamBody::new(frames)));
            assert_eq!(allocations(client, request), 0, "with {set}");
        }
    }
}

/// `RetryInfo` tells the key of a request that has been sent away. Sharing text that was made at run time takes one.
#[tokio::test(start_paused = true)]
async fn as_the_only_attempt_a_key_costs_at_most_one() {
    let client = RetryLayer::new().max_attempts(1).layer(Answers { after: 0 });
    assert_eq!(allocations(client, keyed()), 1);
}

/// `http` keeps the names of methods up to 15 characters in place.
#[tokio::test(start_paused = true)]
async fn a_method_with_a_long_name_of_its_own_costs_one_more() {
    let request = || {
        let method = Method::from_bytes(b"VERSION-CONTROLLED").expect("a method");
        Request::builder().method(method).body(Full::<Bytes>::default()).expect("a request")
    };
    let client = RetryLayer::new().layer(Answers { after: 0 });
    assert_eq!(allocations(client, request()), of_a_clone(&request()) + 1);
}
