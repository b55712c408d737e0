//! Herds over HTTP.

use std::time::Duration;

use axum::{Router, body::BodyDataStream};
use futures_util::StreamExt;
use http::StatusCode;
use lab::{
    exchange::{Answer, get, send},
    herd::{Cell, Clients, Grid, Pace, Runs, Strategy, simulate},
    lab_page::herd::{Bounds, MOST_CLIENTS, routes_within},
};
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

const WAIT: Duration = Duration::from_millis(50);
const BOUNDS: Bounds = Bounds { herds: 1, wait: WAIT, limit: Duration::from_secs(60) };
const SMALL: &str = "clients=5&base_ms=5&cap_ms=2000&seed=3&strategies=full";

#[tokio::test]
async fn each_strategy_is_told_of_with_the_figures_of_the_simulator() {
    let query = "clients=20&base_ms=7&cap_ms=900&seed=18446744073709551615&strategies=none,decorrelated";
    let events = events(&herd(&app(BOUNDS), query).await);

    let outcome = |strategy: Strategy| {
        let cell = Cell { strategy, clients: Clients::new(20).unwrap() };
        let pace = Pace::new(Duration::from_millis(7), Duration::from_millis(900)).unwrap();
        let grid = Grid { cells: vec![cell], runs: Runs::new(1).unwrap(), pace, seed: u64::MAX, planted: None };
        let outcome = std::thread::scope(|scope| scope.spawn(|| simulate(&grid.herd(cell, 0))).join().unwrap());
        let when = |end: &str| -> Vec<Value> {
            let arrivals = outcome.arrivals.iter().filter(|arrival| json!(arrival.end) == end);
            arrivals.map(|arrival| json!(arrival.at)).collect()
        };
        json!({
            "strategy": strategy, "writes": outcome.calls(), "elapsed_ms": outcome.elapsed,
            "won": when("won"), "conflicted": when("conflicted"),
        })
    };
    let expected = [
        ("playing", json!({"strategy": "none", "number": 1, "of": 2})),
        ("outcome", outcome(Strategy::None)),
        ("playing", json!({"strategy": "decorrelated", "number": 2, "of": 2})),
        ("outcome", outcome(Strategy::Decorrelated)),
        ("done", Value::Null),
    ];
    assert_eq!(events, expected.map(|(name, data)| (name.to_owned(), data)));
    assert_eq!(events[1].1["won"].as_array().unwrap().len(), 20);
}

#[tokio::test]
async fn the_same_query_gives_the_same_bytes_and_another_seed_others() {
    let app = app(BOUNDS);
    let [first, again] = [herd(&app, SMALL).await, herd(&app, SMALL).await];
    let other = herd(&app, &SMALL.replace("seed=3", "seed=4")).await;

    assert_eq!((first.status, first.header("content-type")), (StatusCode::OK, Some("text/event-stream")));
    assert_eq!(first.body, again.body);
    assert_ne!(first.body, other.body);
}

#[tokio::test]
async fn a_query_that_asks_for_too_much_or_for_nothing_is_400_and_named() {
    let app = app(BOUNDS);
    let cases = [
        ("clients=5", "clients=0", "clients is a whole number from 1 to 200."),
        ("clients=5", "clients=201", "clients is a whole number from 1 to 200."),
        ("clients=5", "clients=1000000000", "clients is a whole number from 1 to 200."),
        ("clients=5", "clients=NaN", "clients is a whole number from 1 to 200."),
        ("clients=5", "clients=%2B5", "clients is a whole number from 1 to 200."),
        ("clients=5&", "", "clients is missing: how many there are."),
        ("clients=5", "clients=5&clients=6", "clients is there twice."),
        ("base_ms=5", "base_ms=0", "base_ms is a whole number from 1 to 3600000."),
        ("base_ms=5", "base_ms=0.5", "base_ms is a whole number from 1 to 3600000."),
        ("base_ms=5&", "", "base_ms is missing: what the waits begin with."),
        ("cap_ms=2000", "cap_ms=4", "cap_ms is below base_ms: 4 and 5."),
        ("cap_ms=2000", "cap_ms=3600001", "cap_ms is a whole number from 1 to 3600000."),
        ("cap_ms=2000", "cap_ms=inf", "cap_ms is a whole number from 1 to 3600000."),
        ("cap_ms=2000&", "", "cap_ms is missing: what the waits grow to."),
        ("seed=3", "seed=-1", "seed is a whole number from 0 to 18446744073709551615."),
        ("seed=3", "seed=18446744073709551616", "seed is a whole number from 0 to 18446744073709551615."),
        ("seed=3&", "", "seed is missing: any whole number below 2^64."),
        ("=full", "=full,slow", &format!("strategies is a list of {NAMES}, with commas.")),
        ("=full", "=", &format!("strategies is a list of {NAMES}, with commas.")),
        ("=full", "=full,full", "strategies has full twice."),
        ("&strategies=full", "", &format!("strategies is missing: {NAMES}.")),
        ("seed=3", "seed=3&runs=9", "Only clients, base_ms, cap_ms, seed and strategies are known here."),
    ];
    for (good, bad, sentence) in cases {
        let answer = herd(&app, &SMALL.replace(good, bad)).await;

        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{bad}");
        assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{bad}");
        assert_eq!(serde_json::from_slice::<Value>(&answer.body).unwrap()["detail"], sentence, "{bad}");
    }
    assert_eq!(MOST_CLIENTS, 200);
}

const NAMES: &str = "none, exponential, proportional, equal, full, decorrelated, downward";

#[tokio::test]
async fn one_herd_too_many_is_503_until_another_has_ended() {
    let app = app(BOUNDS);
    let playing = begun(&app).await;

    let refused = herd(&app, SMALL).await;
    drop(playing);
    let welcome = herd_with_patience(&app).await;

    assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(refused.header("content-type"), Some("application/problem+json"));
    assert_eq!(welcome.status, StatusCode::OK);
}

/// Its place is free long before its only run would have ended.
#[tokio::test]
async fn a_herd_whose_client_leaves_is_given_up() {
    let app = app(BOUNDS);
    let alone = format!("clients={MOST_CLIENTS}&base_ms=5&cap_ms=2000&seed=1&strategies=none");
    let begun_at = Instant::now();
    assert_eq!(herd(&app, &alone).await.status, StatusCode::OK);
    let all = begun_at.elapsed();

    let playing = begun_with(&app, &alone).await;
    let left = Instant::now();
    drop(playing);
    herd_with_patience(&app).await;

    assert!(left.elapsed() < all / 3, "{:?} of {all:?}", left.elapsed());
}

#[tokio::test]
async fn a_server_that_is_asked_to_stop_ends_a_herd_without_its_end() {
    let closing = CancellationToken::new();
    let app = routes_within(BOUNDS, &closing);
    let mut playing = begun(&app).await;

    closing.cancel();
    let mut rest = String::new();
    while let Some(bytes) = playing.next().await {
        rest.push_str(std::str::from_utf8(&bytes.unwrap()).unwrap());
    }

    assert!(!rest.contains("event: done") && !rest.contains("event: failed"), "{rest:.200}");
}

#[tokio::test]
async fn a_herd_that_takes_too_long_ends_with_a_failure() {
    let events = events(&herd(&app(Bounds { limit: Duration::from_millis(1), ..BOUNDS }), &large()).await);

    assert_eq!(events.last().unwrap(), &("failed".to_owned(), json!({"reason": "took_too_long"})));
    assert!(events.iter().all(|(name, _)| name != "done"));
}

fn app(bounds: Bounds) -> Router {
    routes_within(bounds, &CancellationToken::new())
}

async fn herd(app: &Router, query: &str) -> Answer {
    send(app, get(&format!("/lab/herd?{query}"))).await
}

/// As large as one may be.
fn large() -> String {
    format!("clients={MOST_CLIENTS}&base_ms=5&cap_ms=2000&seed=1&strategies={}", NAMES.replace(' ', ""))
}

/// A large herd whose first event has come.
async fn begun(app: &Router) -> BodyDataStream {
    begun_with(app, &large()).await
}

async fn begun_with(app: &Router, query: &str) -> BodyDataStream {
    let response = app.clone().oneshot(get(&format!("/lab/herd?{query}"))).await.unwrap();
    let mut body = response.into_body().into_data_stream();
    assert!(body.next().await.unwrap().unwrap().starts_with(b"event: playing"));
    body
}

/// Asks again for as long as it is told 503.
async fn herd_with_patience(app: &Router) -> Answer {
    loop {
        let answer = herd(app, SMALL).await;
        if answer.status != StatusCode::SERVICE_UNAVAILABLE {
            return answer;
        }
    }
}

/// The events and their data.
fn events(answer: &Answer) -> Vec<(String, Value)> {
    let parts = answer.text().split("\n\n").filter(|event| !event.is_empty());
    let event = |event: &str| {
        let (name, data) = event.strip_prefix("event: ").unwrap().split_once("\ndata: ").unwrap();
        (name.to_owned(), serde_json::from_str(data).unwrap())
    };
    parts.map(event).collect()
}
