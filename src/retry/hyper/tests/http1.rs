//! HTTP/1.1.

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use tokio::io::AsyncWriteExt;
use tower::BoxError;

use super::{
    client,
    peer::{answer, peer, read_head},
    post, post_body, refused_connection,
};
use crate::retry::evidence::surely_not_applied;

#[tokio::test]
async fn a_refused_connection_proves_it() {
    assert!(surely_not_applied(&refused_connection().await));
}

#[tokio::test]
async fn a_server_that_closes_without_a_byte_proves_nothing() {
    let url = peer(async |mut connection| read_head(&mut connection).await).await;

    let failed = post(&client(), &url).await.unwrap_err();

    assert!(!surely_not_applied(&failed), "{failed:?}");
}

#[tokio::test]
async fn half_a_head_proves_nothing() {
    let url = peer(async |mut connection| {
        read_head(&mut connection).await;
        answer(&mut connection, b"HTTP/1.1 200 O").await;
    })
    .await;

    let failed = post(&client(), &url).await.unwrap_err();

    assert!(!surely_not_applied(&failed), "{failed:?}");
}

#[tokio::test]
async fn a_body_that_was_partly_written_proves_nothing() {
    let url = peer(async |mut connection| read_head(&mut connection).await).await;
    let endless = stream::iter([Ok(Frame::data(Bytes::from("amount=")))]).chain(stream::pending());

    let failed = post_body(&client(), &url, BodyExt::boxed(StreamBody::new(endless))).await.unwrap_err();

    assert!(!surely_not_applied(&failed), "{failed:?}");
}

#[tokio::test]
async fn the_failure_that_a_body_ended_with_proves_nothing_though_it_was_a_refused_connection() {
    let upstream = refused_connection().await;
    assert!(surely_not_applied(&upstream));
    let url = peer(async |mut connection| read_head(&mut connection).await).await;
    let copied = stream::iter([Ok(Frame::data(Bytes::from("amount="))), Err(BoxError::from(upstream))]);

    let failed = post_body(&client(), &url, BodyExt::boxed(StreamBody::new(copied))).await.unwrap_err();

    assert!(!surely_not_applied(&failed), "{failed:?}");
}

/// hyper-util sends again what came back unwritten from a connection that it had kept: what was written it does not.
#[tokio::test]
async fn a_kept_connection_that_closes_under_the_second_request_proves_nothing() {
    let url = peer(async |mut connection| {
        read_head(&mut connection).await;
        connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        read_head(&mut connection).await;
    })
    .await;
    let client = client();
    post(&client, &url).await.unwrap().into_body().collect().await.unwrap();

    let failed = post(&client, &url).await.unwrap_err();

    assert!(!surely_not_applied(&failed), "{failed:?}");
}
