//! The dangers that the adapter's page tells of, seen: what a `reqwest::Client` does by default.

use reqwest::{Client, StatusCode};
use tokio::net::TcpSocket;

use crate::server::Server;

const DONE: &str = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

#[tokio::test]
async fn a_307_carries_key_and_body_to_another_origin() {
    let elsewhere = Server::answering(DONE).await;
    let server = Server::redirecting(307, &elsewhere.url("/")).await;

    let response = pay(&Client::new(), &server.url("/")).await.unwrap();

    assert_eq!(response.status(), StatusCode::OK);
    let seen = elsewhere.seen();
    let [request] = seen.as_slice() else { panic!("{seen:?}") };
    assert!(request.starts_with("POST / "), "{request}");
    assert!(request.contains("\r\nidempotency-key: \"k\"\r\n"), "{request}");
    assert!(!request.contains("\r\nauthorization: "), "{request}");
    assert!(request.ends_with("\r\n\r\namount=100"), "{request}");
}

#[tokio::test]
async fn a_303_is_followed_with_a_get_that_carries_the_key() {
    let elsewhere = Server::answering(DONE).await;
    let server = Server::redirecting(303, &elsewhere.url("/")).await;

    pay(&Client::new(), &server.url("/")).await.unwrap();

    let seen = elsewhere.seen();
    let [request] = seen.as_slice() else { panic!("{seen:?}") };
    assert!(request.starts_with("GET / "), "{request}");
    assert!(request.contains("\r\nidempotency-key: \"k\"\r\n"), "{request}");
}

#[tokio::test]
async fn a_second_hop_that_is_refused_looks_like_a_request_that_was_never_sent() {
    // Bound, so that nobody else gets the port, and not listening.
    let nobody = TcpSocket::new_v4().unwrap();
    nobody.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let server = Server::redirecting(307, &format!("http://{}/", nobody.local_addr().unwrap())).await;

    let failed = pay(&Client::new(), &server.url("/")).await.unwrap_err();

    assert!(failed.is_connect());
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn a_redirect_that_cannot_be_followed_looks_like_a_request_that_could_not_be_built() {
    let server = Server::redirecting(303, "ftp://127.0.0.1/").await;

    let failed = pay(&Client::new(), &server.url("/")).await.unwrap_err();

    assert!(failed.is_builder());
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn a_refused_stream_is_opened_twice_more() {
    let server = Server::refusing_streams().await;
    let client = Client::builder().http2_prior_knowledge().build().unwrap();

    let failed = pay(&client, &server.url("/")).await;

    assert!(failed.is_err());
    assert_eq!(server.seen(), ["stream 1"; 3]);
}

async fn pay(client: &Client, url: &str) -> reqwest::Result<reqwest::Response> {
    let request = client.post(url).header("idempotency-key", "\"k\"").bearer_auth("secret");
    request.body("amount=100").send().await
}
