//! reqwest as a service sends each request once.

use bytes::Bytes;
use http::{Request, Response, StatusCode, header::LOCATION};
use http_body_util::{BodyExt, Full};
use reqwest::{Client, redirect};
use tower::ServiceExt;
use tower_idempotency::retry::reqwest::{ReqwestService, SendError};

use crate::server::Server;

const DONE: &str = "HTTP/1.1 200 OK\r\nx-told: yes\r\ncontent-length: 4\r\nconnection: close\r\n\r\ndone";

#[tokio::test]
async fn a_request_arrives_as_it_was_made_with_the_length_of_its_body() {
    let server = Server::answering(DONE).await;

    let response = send(service(), post(&server.url("/pay?way=card"))).await.unwrap();

    let seen = server.seen();
    let [request] = seen.as_slice() else { panic!("{seen:?}") };
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let mut lines: Vec<_> = head.lines().skip(1).filter(|line| !line.starts_with("host: ")).collect();
    lines.sort_unstable();
    assert!(head.starts_with("POST /pay?way=card HTTP/1.1\r\n"), "{head}");
    assert_eq!(lines, ["accept: */*", "content-length: 10", "idempotency-key: \"k\""]);
    assert_eq!(body, "amount=100");
    assert_eq!(response.headers()["x-told"], "yes");
    assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), "done");
}

#[tokio::test]
async fn a_redirect_is_a_response_whatever_the_builder_says() {
    let elsewhere = Server::answering(DONE).await;
    for status in [301, 302, 303, 307, 308] {
        let server = Server::redirecting(status, &elsewhere.url("/")).await;
        let builder = Client::builder().redirect(redirect::Policy::limited(10));

        let response = send(ReqwestService::new(builder).unwrap(), post(&server.url("/"))).await.unwrap();

        assert_eq!(response.status(), StatusCode::from_u16(status).unwrap());
        assert_eq!(response.headers()[LOCATION], elsewhere.url("/"));
        assert_eq!(server.seen().len(), 1);
    }
    assert_eq!(elsewhere.seen(), [""; 0]);
}

#[tokio::test]
async fn a_redirect_that_cannot_be_followed_is_a_response_too() {
    for nowhere in ["ftp://127.0.0.1/", "http://127.0.0.256/", "http://["] {
        let server = Server::redirecting(307, nowhere).await;

        let response = send(service(), post(&server.url("/"))).await;

        assert_eq!(response.unwrap().status(), StatusCode::TEMPORARY_REDIRECT, "{nowhere}");
    }
}

#[tokio::test]
async fn a_response_is_not_asked_for_again_whatever_the_builder_says() {
    let server = Server::answering("HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\n\r\n").await;
    let eager = reqwest::retry::for_host("127.0.0.1").classify_fn(|attempt| attempt.retryable());
    let service = ReqwestService::new(Client::builder().retry(eager)).unwrap();

    let response = send(service, post(&server.url("/"))).await.unwrap();

    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn a_refused_stream_is_not_opened_again() {
    let server = Server::refusing_streams().await;
    let service = ReqwestService::new(Client::builder().http2_prior_knowledge()).unwrap();

    let failed = send(service, post(&server.url("/"))).await;

    assert!(failed.is_err());
    assert_eq!(server.seen(), ["stream 1"]);
}

#[tokio::test]
async fn a_request_without_a_host_is_a_failure_of_the_call() {
    let failed = send(service(), post("/pay")).await.unwrap_err();

    assert_eq!(failed.to_string(), "not a request that can be sent");
    assert!(failed.into_inner().is_builder());
}

fn service() -> ReqwestService {
    ReqwestService::new(Client::builder()).unwrap()
}

async fn send(service: ReqwestService, request: Request<Full<Bytes>>) -> Result<Response<reqwest::Body>, SendError> {
    service.oneshot(request).await
}

fn post(url: &str) -> Request<Full<Bytes>> {
    Request::post(url).header("idempotency-key", "\"k\"").body(Full::from("amount=100")).unwrap()
}
