//! Rule 8: every kind of body.

use std::convert::Infallible;

use bytes::Bytes;
use futures_util::stream;
use http::Request;
use http_body::{Body, Frame};
use http_body_util::{BodyExt, Empty, Full, StreamBody, combinators::BoxBody};
use lab::scripted::Scripted;
use tower::Layer;
use tower_idempotency::retry::{RepeatBody, SentOnce};

use crate::{busy_once, layer, status};

/// The status that a request with this body comes to, and the bodies that were sent.
async fn sent<B>(body: B) -> (u16, Vec<Bytes>)
where
    B: RepeatBody + Body<Data = Bytes, Error: std::fmt::Debug>,
{
    let service: Scripted = busy_once();
    let request = Request::put("/charges/1").body(body).expect("a request");
    let status = status(layer().layer(service.clone()), request).await;
    (status, service.seen().into_iter().map(|seen| seen.request.into_body()).collect())
}

#[tokio::test(start_paused = true)]
async fn a_body_in_memory_is_repeated_byte_for_byte() {
    assert_eq!(sent(Full::<Bytes>::from("42 EUR")).await, (201, vec!["42 EUR".into(); 2]));
    assert_eq!(sent("42 EUR".to_owned()).await, (201, vec!["42 EUR".into(); 2]));
    assert_eq!(sent(Empty::<Bytes>::new()).await, (201, vec![Bytes::new(); 2]));
}

/// K8.
#[tokio::test(start_paused = true)]
async fn k8_a_stream_is_sent_once() {
    let frames = ["42 ", "EUR"].map(|part| Ok::<_, Infallible>(Frame::data(Bytes::from(part))));
    assert_eq!(sent(SentOnce::new(StreamBody::new(stream::iter(frames)))).await, (503, vec!["42 EUR".into()]));
}

#[tokio::test(start_paused = true)]
async fn k8_a_body_in_a_box_is_sent_once() {
    let body: BoxBody<Bytes, Infallible> = Full::from("42 EUR").boxed();
    assert_eq!(sent(body).await, (503, vec!["42 EUR".into()]));
    assert_eq!(sent(Full::<Bytes>::from("42 EUR").boxed_unsync()).await, (503, vec!["42 EUR".into()]));
    assert_eq!(sent(axum::body::Body::from("42 EUR")).await.1, ["42 EUR"]);
}
