//! What the future weighs: it is moved to where it is polled.

use std::mem::size_of;

use bytes::Bytes;
use http::{HeaderValue, Method, Request};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use lab::scripted::{Scripted, ScriptedBody};
use tokio::time::{Instant, Sleep};
use tower_idempotency::retry::ResponseFuture;

use crate::Answers;

type Hyper = Client<HttpConnector, Full<Bytes>>;

/// Shown with `--nocapture`. Of it, the largest parts are the request that is kept and the timer.
#[test]
fn the_future_stays_below_a_kilobyte() {
    let sizes = [
        ("over a service of no size", size_of::<ResponseFuture<Answers, Full<Bytes>, Full<Bytes>>>()),
        ("over a boxed future", size_of::<ResponseFuture<Scripted, Full<Bytes>, ScriptedBody>>()),
        ("over hyper's client", size_of::<ResponseFuture<Hyper, Full<Bytes>, Incoming>>()),
    ];
    let parts = [
        ("request", size_of::<Option<Request<Full<Bytes>>>>()),
        ("timer", size_of::<Option<Sleep>>()),
        ("method", size_of::<Method>()),
        ("key", size_of::<Option<HeaderValue>>()),
        ("two instants", 2 * size_of::<Instant>()),
        ("hyper's client", size_of::<Hyper>()),
    ];
    println!("{sizes:?}, of which {parts:?}");
    for (which, size) in sizes {
        assert!(size < 1024, "{size} bytes {which}");
    }
    assert!(sizes[0].1 < 640, "{} bytes without a service", sizes[0].1);
}
