//! How a chain of errors is read.

use std::{error::Error, fmt, io};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::{Full, StreamBody};
use tower::{BoxError, Layer, ServiceExt, load_shed::error::Overloaded, service_fn};

use super::{is_timeout, surely_not_applied};
use crate::retry::{CutResponse, HoldResponses, Outcome, RetryError, RetryLayer};

#[test]
fn what_is_not_known_proves_nothing() {
    assert!(!surely_not_applied(&Wrapped("out of luck".into())));
}

#[test]
fn a_timeout_is_found_below_what_wraps_it() {
    let timed_out = io::Error::from(io::ErrorKind::TimedOut);

    assert!(is_timeout(&Wrapped(Wrapped(timed_out.into()).into())));
    assert!(!is_timeout(&Wrapped("out of luck".into())));
}

#[test]
fn a_request_that_was_shed_was_not_applied() {
    assert!(surely_not_applied(&Overloaded::new()));
}

#[test]
fn overload_below_another_error_is_that_of_another_exchange() {
    assert!(!surely_not_applied(&Wrapped(Overloaded::new().into())));
}

#[tokio::test]
async fn what_an_inner_layer_knows_to_be_not_applied_is_believed() {
    assert!(surely_not_applied(&not_applied().await));
}

#[tokio::test]
async fn a_retry_error_below_another_error_is_that_of_another_exchange() {
    assert!(!surely_not_applied(&Wrapped(not_applied().await.into())));
}

#[tokio::test]
async fn a_cut_answer_proves_nothing_whatever_cut_it() {
    for by in [Overloaded::new().into(), not_applied().await.into(), refused()] {
        let cut = cut(by).await;

        assert!(cut.is::<CutResponse>());
        assert!(!surely_not_applied(&*cut));
    }
}

#[tokio::test]
async fn a_cut_answer_below_another_error_proves_nothing() {
    assert!(!surely_not_applied(&Wrapped(cut(Overloaded::new().into()).await)));
}

#[cfg(feature = "hyper")]
mod refused {
    use super::{super::super::hyper::tests::refused_connection, *};

    #[tokio::test]
    async fn what_wraps_the_error_of_a_client_is_looked_through() {
        let refused = refused_connection().await;

        assert!(surely_not_applied(&Wrapped(Wrapped(refused.into()).into())));
    }

    #[tokio::test]
    async fn what_the_error_of_a_transport_wraps_is_another_exchange() {
        let tunnel = Wrapped(refused_connection().await.into());

        assert!(!surely_not_applied(&Wrapped(io::Error::other(tunnel).into())));
    }
}

fn refused() -> BoxError {
    io::Error::from(io::ErrorKind::ConnectionRefused).into()
}

/// What a layer ends with whose only attempt was refused.
async fn not_applied() -> RetryError {
    let client = service_fn(async |_: Request<Full<Bytes>>| Err::<Response<Full<Bytes>>, _>(refused()));
    let layer = RetryLayer::new().max_attempts(1);
    let error = layer.layer(client).oneshot(Request::default()).await.expect_err("refused");
    assert_eq!(error.outcome(), Outcome::NotApplied);
    error
}

/// What a 200 ends with whose body fails with this.
async fn cut(by: BoxError) -> BoxError {
    let mut by = Some(by);
    let client = service_fn(move |_: Request<()>| {
        let body = StreamBody::new(futures_util::stream::iter(by.take().map(Err::<Frame<Bytes>, _>)));
        std::future::ready(Ok::<_, BoxError>(Response::new(body)))
    });
    HoldResponses::up_to(1).layer(client).oneshot(Request::default()).await.expect_err("cut")
}

#[derive(Debug)]
struct Wrapped(BoxError);

impl fmt::Display for Wrapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("wrapped")
    }
}

impl Error for Wrapped {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.0)
    }
}
