//! Point 9: a body that can be had only once.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use futures_util::stream;
use http::{Request, Response, StatusCode};
use http_body::{Body, Frame};
use http_body_util::{BodyExt, Full, StreamBody, combinators::BoxBody};
use octocrab::{OctoBody, service::middleware::retry::RetryConfig};
use tower::{BoxError, Layer, ServiceExt, retry::Retry, service_fn};
use tower_idempotency::{
    RetryLayer,
    retry::{RetryInfo, Stopped},
};

use super::{Ours, Peer, Row};
use crate::clock;

const PARTS: [&str; 2] = ["{\"title\":", "\"bug\"}"];

type Received = Arc<Mutex<Vec<String>>>;

pub(crate) fn streamed_post() -> Row {
    let (their_bodies, their_status) = clock::paused(async {
        let received = Received::default();
        let service = Retry::new(RetryConfig::Simple(2), client(&received));
        let response = service.oneshot(post(OctoBody::new(streamed()))).await.expect("a response");
        (bodies(&received), response.status())
    });
    let (our_bodies, response) = clock::paused(async {
        let received = Received::default();
        let service = RetryLayer::new().layer(client(&received));
        (Received::clone(&received), service.oneshot(post(streamed())).await.expect("a response"))
    });
    let our_bodies = bodies(&our_bodies);
    let whole = PARTS.concat();
    let stopped = response.extensions().get::<RetryInfo>().map(RetryInfo::stopped);
    Row {
        point: "9",
        case: "a streamed POST with a key that is answered 503 first: what does the server receive?",
        peer: Peer {
            name: "octocrab",
            did: format!("{their_bodies:?}; the caller sees {}", their_status.as_u16()),
            fault_seen: their_bodies == [whole.as_str(), ""],
        },
        ours: Ours {
            did: format!("{our_bodies:?}; the caller sees {} and {}", response.status().as_u16(), why(stopped)),
            passed: our_bodies == [whole] && stopped == Some(Stopped::Body),
        },
    }
}

fn why(stopped: Option<Stopped>) -> String {
    stopped.map_or_else(String::new, |stopped| format!("\"{stopped}\""))
}

/// Busy at first; every later request is taken for what it is.
fn client<B>(
    received: &Received,
) -> impl tower::Service<Request<B>, Response = Response<Full<Bytes>>, Error = BoxError, Future: Send> + Clone
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError> + Send,
{
    let received = Received::clone(received);
    service_fn(move |request: Request<B>| {
        let received = Received::clone(&received);
        async move {
            let body = request.into_body().collect().await.map_err(Into::into)?.to_bytes();
            let mut received = received.lock().expect("a lock");
            received.push(String::from_utf8_lossy(&body).into_owned());
            let mut response = Response::new(Full::default());
            *response.status_mut() =
                if received.len() == 1 { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::CREATED };
            Ok(response)
        }
    })
}

fn bodies(received: &Received) -> Vec<String> {
    received.lock().expect("a lock").clone()
}

fn streamed() -> BoxBody<Bytes, Infallible> {
    let parts = stream::iter(PARTS.map(|part| Ok(Frame::data(Bytes::from_static(part.as_bytes())))));
    BodyExt::boxed(StreamBody::new(parts))
}

fn post<B>(body: B) -> Request<B> {
    Request::post("/issues").header("idempotency-key", "\"order-17\"").body(body).expect("a request")
}
