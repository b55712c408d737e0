//! Futures that are driven by hand.

use std::{
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll},
};

/// A future that is driven by hand.
pub type Driven<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Polls a future so many times, each when it has woken, and leaves it there: `None` if it is not ready by then.
pub async fn polled<T>(future: &mut Driven<T>, polls: usize) -> Option<T> {
    let mut left = polls;
    poll_fn(|cx: &mut Context<'_>| {
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
