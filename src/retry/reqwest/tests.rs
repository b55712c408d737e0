//! What the errors of reqwest prove, on real connections.

use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http::Request;
use http_body::{Body, Frame};
use http_body_util::{BodyExt, Full, StreamBody};
use reqwest::{Client, ClientBuilder};
use tokio::io::AsyncReadExt;
use tower::{BoxError, ServiceExt};

use super::{ReqwestService, SendError};
use crate::retry::{
    evidence::{is_timeout, surely_not_applied},
    hyper::tests::peer::{Nobody, RST_STREAM, answer, frame, peer, read_head, read_http2_head},
};

#[tokio::test]
async fn a_refused_connection_proves_it() {
    let nobody = Nobody::new();

    let failed = failure(Client::builder(), &nobody.url(), full()).await;

    assert!(surely_not_applied(&failed), "{failed:?}");
}

#[tokio::test]
async fn a_refused_stream_proves_it() {
    let url = peer(async |mut connection| {
        read_http2_head(&mut connection).await;
        answer(&mut connection, &frame(RST_STREAM, 0, 1, &[0, 0, 0, 7])).await;
    })
    .await;

    let failed = failure(Client::builder().http2_prior_knowledge(), &url, full()).await;

    assert!(surely_not_applied(&failed), "{failed:?}");
}

#[tokio::test]
async fn a_request_that_was_none_proves_it() {
    let failed = failure(Client::builder(), "/pay", full()).await;

    assert!(surely_not_applied(&failed), "{failed:?}");
}

#[tokio::test]
async fn a_server_that_closes_without_a_byte_proves_nothing() {
    let url = peer(async |mut connection| read_head(&mut connection).await).await;

    let failed = failure(Client::builder(), &url, full()).await;

    assert!(!surely_not_applied(&failed), "{failed:?}");
}

#[tokio::test]
async fn the_failure_that_a_body_ended_with_proves_nothing_though_reqwest_calls_it_connect() {
    let nobody = Nobody::new();
    let upstream = failure(Client::builder(), &nobody.url(), full()).await;
    let url = peer(async |mut connection| read_head(&mut connection).await).await;
    let copied = stream::iter([Ok(Frame::data(Bytes::from("amount="))), Err(upstream)]);

    let failed = failure(Client::builder(), &url, BodyExt::boxed(StreamBody::new(copied))).await;

    assert!(!surely_not_applied(&failed), "{failed:?}");
    assert!(failed.into_inner().is_connect());
}

#[tokio::test]
async fn an_error_of_a_client_that_perhaps_follows_redirects_proves_nothing() {
    let nobody = Nobody::new();

    let failed = Client::new().post(nobody.url()).send().await.unwrap_err();

    assert!(failed.is_connect());
    assert!(!surely_not_applied(&failed));
}

#[tokio::test(start_paused = true)]
async fn a_timeout_is_one_and_proves_nothing() {
    let url = peer(async |mut connection| {
        connection.read_to_end(&mut Vec::new()).await.ok();
    })
    .await;

    let failed = failure(Client::builder().timeout(Duration::from_secs(5)), &url, full()).await;

    assert!(is_timeout(&failed), "{failed:?}");
    assert!(!surely_not_applied(&failed));
}

#[tokio::test]
async fn a_refused_connection_is_no_timeout() {
    let nobody = Nobody::new();

    let failed = failure(Client::builder(), &nobody.url(), full()).await;

    assert!(!is_timeout(&failed), "{failed:?}");
}

async fn failure<B>(builder: ClientBuilder, url: &str, body: B) -> SendError
where
    B: Body<Data = Bytes> + Send + Sync + 'static,
    B::Error: Into<BoxError>,
{
    let request = Request::post(url).body(body).unwrap();
    ReqwestService::new(builder).unwrap().oneshot(request).await.unwrap_err()
}

fn full() -> Full<Bytes> {
    Full::from("amount=100")
}
