//! `ResponseFuture`: the flow of one logical request.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Buf;
use http::{Request, Response};
use http_body::Body;
use pin_project_lite::pin_project;
use tokio::time::{Instant, Sleep, sleep_until};
use tower::{BoxError, Service};

use super::{body::RepeatBody, course::Course, ended::Next, error::RetryError};

pin_project! {
    /// Attempts one request until it succeeds, or nothing may or can be tried any more.
    pub struct ResponseFuture<S, B, R>
    where
        S: Service<Request<B>>,
    {
        #[pin]
        state: State<S, B, S::Future, R>,
    }
}

pin_project! {
    // One slot serves all timers: the attempt's end, the drain's, the wait's and the deadline are never due together.
    #[project = StateProj]
    enum State<S, B, F, R> {
        /// Begun, and not yet ended.
        Running {
            // `None` where no retry can follow.
            service: Option<S>,
            course: Course<B>,
            #[pin]
            step: Step<F, R>,
            #[pin]
            timer: Option<Sleep>,
        },
        /// Nothing could be sent.
        Unsent { error: Option<RetryError> },
    }
}

pin_project! {
    #[project = StepProj]
    enum Step<F, R> {
        /// An attempt is under way. Goes to `Draining` after a response, to `Sleeping` after an error or a timeout.
        Calling {
            #[pin]
            attempt: F,
        },
        /// The failed response is read away, so that its connection is free during the wait. Goes to `Sleeping`.
        Draining {
            #[pin]
            body: R,
            left: u64,
            until: Instant,
        },
        /// Waits; holds no permit of the service. Goes to `Readying`.
        Sleeping,
        /// Waits until the service is ready. Goes to `Calling`.
        Readying,
    }
}

impl<S: Service<Request<B>>, B, R> ResponseFuture<S, B, R> {
    pub(super) fn calling(attempt: S::Future, service: Option<S>, course: Course<B>) -> Self {
        Self { state: State::Running { service, course, step: Step::Calling { attempt }, timer: None } }
    }

    pub(super) fn unsent(error: RetryError) -> Self {
        Self { state: State::Unsent { error: Some(error) } }
    }
}

impl<S, B, R> Future for ResponseFuture<S, B, R>
where
    S: Service<Request<B>, Response = Response<R>> + Clone,
    S::Error: Into<BoxError>,
    B: RepeatBody,
    R: Body,
{
    type Output = Result<Response<R>, RetryError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let (service, course, mut step, mut timer) = match self.project().state.project() {
            StateProj::Running { service, course, step, timer } => (service, course, step, timer),
            StateProj::Unsent { error } => return Poll::Ready(Err(error.take().expect("polled after its end"))),
        };
        loop {
            match step.as_mut().project() {
                StepProj::Calling { attempt } => {
                    let next = match attempt.poll(cx) {
                        Poll::Ready(Ok(response)) => match course.answered(response) {
                            Next::Again(body) => Step::draining(body, course),
                            Next::End(response) => return Poll::Ready(response),
                        },
                        Poll::Ready(Err(error)) => match course.failed(error.into()) {
                            Next::Again(()) => Step::Sleeping,
                            Next::End(error) => return Poll::Ready(Err(error)),
                        },
                        Poll::Pending => {
                            ready!(poll_until(timer.as_mut(), course.attempt_ends(), cx));
                            match course.timed_out() {
                                Next::Again(()) => Step::Sleeping,
                                Next::End(error) => return Poll::Ready(Err(error)),
                            }
                        }
                    };
                    // An attempt that was shed leaves a place in the queue of a limit: it would get a permit, and sleep on
                    // it. A clone has none.
                    *service = service.clone();
                    step.set(next);
                }
                StepProj::Draining { body, left, until } => {
                    if poll_drained(body, left, *until, cx).is_pending() {
                        ready!(poll_until(timer.as_mut(), Some(*until), cx));
                    }
                    step.set(Step::Sleeping);
                }
                StepProj::Sleeping => {
                    ready!(poll_until(timer.as_mut(), Some(course.wakes()), cx));
                    step.set(Step::Readying);
                }
                StepProj::Readying => {
                    if let Some(stopped) = course.too_late(Instant::now()) {
                        return Poll::Ready(Err(course.out_of_time(stopped)));
                    }
                    let service = service.as_mut().expect("a retry could follow");
                    match service.poll_ready(cx) {
                        Poll::Ready(Ok(())) => {
                            let attempt = service.call(course.next_attempt());
                            step.set(Step::Calling { attempt });
                        }
                        Poll::Ready(Err(error)) => return Poll::Ready(Err(course.not_ready(error.into()))),
                        Poll::Pending => ready!(poll_until(timer.as_mut(), course.ready_by(), cx)),
                    }
                }
            }
        }
    }
}

impl<F, R: Body> Step<F, R> {
    fn draining<B: RepeatBody>(body: R, course: &Course<B>) -> Self {
        if body.is_end_stream() {
            return Self::Sleeping;
        }
        let (left, until) = course.drain();
        Self::Draining { body, left, until }
    }
}

/// `Ready` when nothing more is to be read, or may be.
fn poll_drained<R: Body>(mut body: Pin<&mut R>, left: &mut u64, until: Instant, cx: &mut Context<'_>) -> Poll<()> {
    while let Some(Ok(frame)) = ready!(body.as_mut().poll_frame(cx)) {
        // A body that always has a frame never lets the timer be asked; one without data counts, too.
        if until <= Instant::now() {
            break;
        }
        let read = frame.data_ref().map_or(0, |data| data.remaining() as u64).max(1);
        match left.checked_sub(read) {
            Some(rest) => *left = rest,
            None => break,
        }
    }
    Poll::Ready(())
}

/// Without an instant it never is. The timer is made when it is first needed: an attempt that is answered at once has none.
fn poll_until(mut timer: Pin<&mut Option<Sleep>>, until: Option<Instant>, cx: &mut Context<'_>) -> Poll<()> {
    let Some(until) = until else { return Poll::Pending };
    match timer.as_mut().as_pin_mut() {
        Some(sleep) if sleep.deadline() != until => sleep.reset(until),
        Some(_) => {}
        None => timer.set(Some(sleep_until(until))),
    }
    timer.as_pin_mut().expect("just set").poll(cx)
}

impl<S: Service<Request<B>>, B, R> fmt::Debug for ResponseFuture<S, B, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}
