//! Cases K1 to K27 from the field: sequences that broke other clients in public, under their numbers.
//!
//! `cargo test --test client_cases`

mod backoff;
mod bodies;
mod budget;
mod connections;
mod deadlines;
mod hints;
mod nested;
mod outcomes;
mod repeats;
mod stacks;

use std::time::Duration;

use http::Response;
use lab::clock::{millis, secs};
use tower_idempotency::{
    RetryLayer,
    retry::{Backoff, RetryInfo},
};

/// A layer with its defaults that draws the same numbers every time.
fn seeded() -> RetryLayer {
    RetryLayer::new().seed(17)
}

/// One that always waits so long.
fn waiting(wait: Duration) -> RetryLayer {
    seeded().backoff(Backoff::exponential(wait, wait))
}

/// What the layer wrote on a response.
fn told<R>(response: &Response<R>) -> &RetryInfo {
    response.extensions().get().expect("a retry was made or refused")
}
