//! An exchange that is dropped at every poll, and TCP connections that are closed at each point of one: the key has ended
//! or is free, and the work was done once. Run with `cargo test --test drops`.
//!
//! What goes wrong without the guard is asserted too: the same checks report a layer whose work ends with its caller.

#[cfg(all(feature = "axum", feature = "sqlite"))]
mod connections;
mod polls;
mod runtimes;
#[cfg(feature = "sqlite")]
mod sqlite;

use std::{
    pin::Pin,
    task::{Context, Poll},
};

/// A future that is driven by hand.
type Driven<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Polls a future so many times, each when it has woken, and leaves it there: `None` if it is not ready by then.
async fn polled<T>(future: &mut Driven<T>, polls: usize) -> Option<T> {
    let mut left = polls;
    std::future::poll_fn(|cx: &mut Context<'_>| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match future.as_mut().poll(cx) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}
