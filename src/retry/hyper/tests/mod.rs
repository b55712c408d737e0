//! What the errors of real exchanges prove.

mod canceled;
mod http1;
mod http2;
pub(in crate::retry) mod peer;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full, combinators::BoxBody};
use hyper::body::Incoming;
use hyper_util::{
    client::legacy::{self, Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use tower::BoxError;

use self::peer::Nobody;

type Body = BoxBody<Bytes, BoxError>;

/// The error of a request that found nobody listening.
pub(in crate::retry) async fn refused_connection() -> legacy::Error {
    let nobody = Nobody::new();
    post(&client(), &nobody.url()).await.unwrap_err()
}

fn client() -> Client<HttpConnector, Body> {
    Client::builder(TokioExecutor::new()).build_http()
}

fn http2_client() -> Client<HttpConnector, Body> {
    Client::builder(TokioExecutor::new()).http2_only(true).build_http()
}

async fn post(client: &Client<HttpConnector, Body>, url: &str) -> Result<Response<Incoming>, legacy::Error> {
    post_body(client, url, Full::from("amount=100").map_err(BoxError::from).boxed()).await
}

async fn post_body(
    client: &Client<HttpConnector, Body>,
    url: &str,
    body: Body,
) -> Result<Response<Incoming>, legacy::Error> {
    client.request(Request::post(url).body(body).unwrap()).await
}
