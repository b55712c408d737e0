//! Rules 5, 8 and 9: what a request may take of the memory, counted.

use std::convert::Infallible;

use bytes::Bytes;
use futures_util::{FutureExt, stream};
use http::{HeaderName, HeaderValue, Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper_util::{
    client::legacy::Client,
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
};
use lab::exchange::get;
use tokio::net::TcpListener;
use tower::{Layer, Service};
use tower_idempotency::retry::HoldResponses;

use crate::support::{Server, answer, at_once, send};

/// So many frames of this.
fn frames(count: usize, of: &'static str) -> impl http_body::Body<Data = Bytes, Error = Infallible> + Send {
    let frame = move |_| Ok(Frame::data(Bytes::from(of)));
    StreamBody::new(stream::iter((0..count).map(frame)))
}

/// Rule 9: the bytes of small frames are joined.
#[tokio::test(start_paused = true)]
async fn a_held_response_of_single_bytes_takes_about_the_memory_of_its_limit() {
    let limit = 1 << 17;
    let server = Server::new(move |_| answer(200, frames(limit, "x")));
    let mut call = Box::pin(HoldResponses::up_to(limit as u64).layer(server.client()).call(get("/reports")));

    let used = allocation_counter::measure(|| assert!((&mut call).now_or_never().is_some()));

    assert!(used.bytes_max < 8 * limit as u64, "{} bytes for a limit of {limit}", used.bytes_max);
}

/// Rule 9: over HTTP/2, where h2 itself bounds the frames without data.
#[tokio::test]
async fn a_server_cannot_fill_the_memory_with_frames_without_data() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.expect("a connection");
        let service = hyper::service::service_fn(|_| async { Ok::<_, Infallible>(Response::new(frames(20_000, ""))) });
        let server = auto::Builder::new(TokioExecutor::new()).http2_only();
        drop(server.serve_connection(TokioIo::new(stream), service).await);
    });
    let client = Client::builder(TokioExecutor::new()).http2_only(true).build_http::<Full<Bytes>>();
    let request = Request::get(format!("http://{address}/")).body(Full::default()).expect("a request");

    let ended = send(at_once().layer(HoldResponses::up_to(10).layer(client)), request).await;

    // What was held is there at once.
    let mut held = 0;
    if let Ok(mut response) = ended {
        while let Some(Some(Ok(_))) = response.body_mut().frame().now_or_never() {
            held += 1;
        }
    }
    assert!(held < 1000, "{held} frames held for a limit of 10 bytes");
}

/// How many allocations a request makes whose 200 has this field.
fn allocations(name: &'static str, value: &'static str) -> u64 {
    let server = Server::new(move |_| {
        let mut response = answer(200, Full::<Bytes>::default());
        response.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        response
    });
    let mut call = Box::pin(at_once().layer(server.client()).call(get("/reports")));
    allocation_counter::measure(|| assert!((&mut call).now_or_never().is_some())).count_total
}

/// Rule 5: a success asks for no wait, and what it says of quotas is not read.
#[tokio::test(start_paused = true)]
async fn a_success_with_a_ratelimit_field_costs_as_much_as_one_without() {
    let quotas = "\"a\";r=5;t=1, \"b\";r=7;t=9";

    assert_eq!(allocations("ratelimit", quotas), allocations("x-anything", quotas));
}
