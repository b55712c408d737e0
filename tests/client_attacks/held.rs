//! Rule 9: answers that are cut below `HoldResponses`, and bodies that it could read for ever.

use std::time::Duration;

use http::Response;
use lab::exchange::{get, post};
use tokio::time::Instant;
use tower::{Layer, ServiceBuilder};
use tower_idempotency::retry::HoldResponses;

use crate::support::{Cut, Server, answer, at_once, endless, secs, send};

/// How many requests it takes, and how long, where the body of the first answer is cut and the next one is a 200.
async fn cut(status: u16, field: Option<(&'static str, &'static str)>) -> (usize, Duration) {
    let server = Server::new(move |n| {
        if n > 0 {
            return answer(200, Cut::whole());
        }
        let head = field.into_iter().fold(Response::builder(), |head, (name, value)| head.header(name, value));
        head.status(status).body(Cut::by("cut")).expect("a response")
    });
    let client = ServiceBuilder::new().layer(at_once()).layer(HoldResponses::up_to(1 << 10)).service(server.client());
    let began = Instant::now();
    drop(send(client, post("k", "42 EUR")).await);
    (server.served(), began.elapsed())
}

/// Rule 9: the server has done the work, and a key gets the stored answer.
#[tokio::test(start_paused = true)]
async fn a_201_whose_body_is_cut_is_asked_for_again() {
    assert_eq!(cut(201, None).await.0, 2);
}

/// Rule 3: the head said no, and its body changes nothing about that.
#[tokio::test(start_paused = true)]
async fn a_422_whose_body_is_cut_is_final() {
    assert_eq!(cut(422, None).await.0, 1);
}

/// Rule 5: what the head asks for is a floor though the body is cut.
#[tokio::test(start_paused = true)]
async fn a_503_whose_body_is_cut_is_repeated_after_the_wait_that_it_asks_for() {
    let (served, took) = cut(503, Some(("retry-after", "30"))).await;

    assert_eq!(served, 2);
    assert!(took >= secs(30), "{took:?}");
}

/// Rule 3: as Stripe and OpenAI say it.
#[tokio::test(start_paused = true)]
async fn should_retry_false_holds_though_the_body_is_cut() {
    assert_eq!(cut(503, Some(("x-should-retry", "false"))).await.0, 1);
}

/// Rule 5: as gRPC says it (A6).
#[tokio::test(start_paused = true)]
async fn a_negative_pushback_holds_though_the_body_is_cut() {
    assert_eq!(cut(503, Some(("grpc-retry-pushback-ms", "-1"))).await.0, 1);
}

/// Rule 9: a frame counts though it has no data.
#[tokio::test(start_paused = true)]
async fn a_body_that_never_ends_is_handed_over_though_its_frames_have_no_data() {
    let server = Server::new(|_| answer(200, endless("", || {})));

    let held = send(HoldResponses::up_to(10).layer(server.client()), get("/reports")).await;

    assert!(held.is_ok());
}
