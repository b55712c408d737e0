//! Bodies that do what a test tells them to.

use std::{
    collections::VecDeque,
    error::Error,
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use tokio::time::Sleep;

/// The failure of a scripted body or handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken;

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("broken, as the script says")
    }
}

impl Error for Broken {}

/// A body that plays a script, one step at a time, and then ends.
#[derive(Debug, Default)]
pub struct ScriptedBody {
    steps: VecDeque<Step>,
    size: Option<u64>,
    pausing: Option<Pin<Box<Sleep>>>,
}

#[derive(Debug)]
enum Step {
    Data(Bytes),
    Trailers(HeaderMap),
    Pause(Duration),
    Fail,
    Panic,
    Never,
}

impl ScriptedBody {
    /// One frame, and a size that is known.
    pub fn whole(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        let size = bytes.len() as u64;
        Self::streaming().data(bytes).sized(size)
    }

    /// No frames yet, and a size that is not known.
    pub fn streaming() -> Self {
        Self::default()
    }

    /// Says that it will be this long, whether it will or not.
    #[must_use]
    pub fn sized(mut self, bytes: u64) -> Self {
        self.size = Some(bytes);
        self
    }

    /// Then a frame of data.
    #[must_use]
    pub fn data(self, bytes: impl Into<Bytes>) -> Self {
        self.then(Step::Data(bytes.into()))
    }

    /// Then trailers.
    #[must_use]
    pub fn trailers(self, trailers: HeaderMap) -> Self {
        self.then(Step::Trailers(trailers))
    }

    /// Then nothing for a while.
    #[must_use]
    pub fn pause(self, time: Duration) -> Self {
        self.then(Step::Pause(time))
    }

    /// Then a failure.
    #[must_use]
    pub fn fails(self) -> Self {
        self.then(Step::Fail)
    }

    /// Then a panic.
    #[must_use]
    pub fn panics(self) -> Self {
        self.then(Step::Panic)
    }

    /// Then nothing, for ever.
    #[must_use]
    pub fn never_ends(self) -> Self {
        self.then(Step::Never)
    }

    fn then(mut self, step: Step) -> Self {
        self.steps.push_back(step);
        self
    }
}

impl Body for ScriptedBody {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        loop {
            if let Some(pausing) = &mut self.pausing {
                ready!(pausing.as_mut().poll(cx));
                self.pausing = None;
            }
            match self.steps.pop_front() {
                Some(Step::Data(bytes)) => {
                    self.size = self.size.map(|size| size.saturating_sub(bytes.len() as u64));
                    return Poll::Ready(Some(Ok(Frame::data(bytes))));
                }
                Some(Step::Trailers(trailers)) => return Poll::Ready(Some(Ok(Frame::trailers(trailers)))),
                Some(Step::Pause(time)) => self.pausing = Some(Box::pin(tokio::time::sleep(time))),
                Some(Step::Fail) => return Poll::Ready(Some(Err(Broken))),
                Some(Step::Panic) => panic!("the body panics, as the script says"),
                Some(Step::Never) => {
                    self.steps.push_front(Step::Never);
                    return Poll::Pending;
                }
                None => return Poll::Ready(None),
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        self.size.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

impl<T: Into<Bytes>> From<T> for ScriptedBody {
    fn from(bytes: T) -> Self {
        Self::whole(bytes)
    }
}
