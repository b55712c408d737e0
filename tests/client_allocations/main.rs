//! What a first success costs: the copy of its request where a retry might have followed, and nothing else. Run with
//! `cargo test --test client_allocations`.
//!
//! It is a binary of its own, since its allocator counts. Only the thread of the test is counted.

#![cfg(feature = "retry")]

mod first_try;
mod size;

use std::{
    convert::Infallible,
    pin::{Pin, pin},
    task::{Context, Poll, Waker},
};

use allocation_counter::measure;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use tower::Service;

/// Answers 200 after so many polls, and allocates nothing.
#[derive(Clone, Copy)]
struct Answers {
    after: usize,
}

/// The future of [`Answers`].
struct Answering {
    left: usize,
}

impl<B> Service<Request<B>> for Answers {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Answering;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<B>) -> Answering {
        Answering { left: self.after }
    }
}

impl Future for Answering {
    type Output = Result<Response<Full<Bytes>>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                Poll::Pending
            }
            None => Poll::Ready(Ok(Response::new(Full::default()))),
        }
    }
}

/// The allocations from the first question whether the service is ready until the answer is dropped.
fn allocations<S, B>(mut service: S, request: Request<B>) -> u64
where
    S: Service<Request<B>, Response = Response<Full<Bytes>>>,
{
    let mut cx = Context::from_waker(Waker::noop());
    let counted = measure(|| {
        assert!(service.poll_ready(&mut cx).is_ready());
        let mut answer = pin!(service.call(request));
        while answer.as_mut().poll(&mut cx).is_pending() {}
    });
    counted.count_total
}

/// The allocations of `Request`'s own clone.
fn of_a_clone<B: Clone>(request: &Request<B>) -> u64 {
    measure(|| drop(request.clone())).count_total
}
