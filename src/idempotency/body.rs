//! Bodies that either stream through or are held as bytes.

use std::{
    collections::VecDeque,
    fmt, mem,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use pin_project_lite::pin_project;
use tokio::time::{Instant, timeout_at};

use super::settings::ends_at;

pin_project! {
    /// The body of a request or a response that went through the layer: what was read into memory first, then
    /// whatever is left of the original body, untouched.
    ///
    /// A request that is not guarded and its response are untouched from the first frame on.
    pub struct MaybeHeld<B: Body> {
        read: VecDeque<Frame<Bytes>>,
        #[pin]
        rest: Rest<B>,
    }
}

pin_project! {
    #[project = RestProjected]
    enum Rest<B: Body> {
        /// All of it was read.
        Nothing,
        /// None of it was read.
        All { #[pin] body: B },
        /// The beginning was read.
        Tail { body: Pin<Box<B>> },
        /// The beginning was read, then it failed.
        Failure { error: Option<B::Error> },
    }
}

impl<B: Body<Data = Bytes>> MaybeHeld<B> {
    /// A body of which nothing was read.
    pub fn untouched(body: B) -> Self {
        Self { read: VecDeque::new(), rest: Rest::All { body } }
    }

    pub(super) fn whole(bytes: Bytes) -> Self {
        let read = if bytes.is_empty() { VecDeque::new() } else { VecDeque::from([Frame::data(bytes)]) };
        Self { read, rest: Rest::Nothing }
    }

    /// The bytes, if all of the body is in memory. Trailers are no part of them.
    pub(super) fn held_bytes(&self) -> Option<Bytes> {
        let mut data = self.read.iter().filter_map(Frame::data_ref);
        match (&self.rest, data.next(), data.next()) {
            (Rest::Nothing, None, _) => Some(Bytes::new()),
            (Rest::Nothing, Some(only), None) => Some(only.clone()),
            (Rest::Nothing, Some(first), Some(second)) => {
                let mut all = BytesMut::from(&first[..]);
                all.extend_from_slice(second);
                data.for_each(|more| all.extend_from_slice(more));
                Some(all.freeze())
            }
            (Rest::All { .. } | Rest::Tail { .. } | Rest::Failure { .. }, ..) => None,
        }
    }

    fn held_len(&self) -> u64 {
        self.read.iter().filter_map(Frame::data_ref).map(|data| data.len() as u64).sum()
    }
}

/// All in memory; what a test of an inner service needs.
impl<B: Body<Data = Bytes>> From<Bytes> for MaybeHeld<B> {
    fn from(bytes: Bytes) -> Self {
        Self::whole(bytes)
    }
}

/// Empty; what layers that answer by themselves ask of a body.
impl<B: Body> Default for MaybeHeld<B> {
    fn default() -> Self {
        Self { read: VecDeque::new(), rest: Rest::Nothing }
    }
}

/// How far [`read`] goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadLimits {
    /// Bytes of data.
    pub(super) bytes: usize,
    /// How long to wait for a frame.
    pub(super) stall: Option<Duration>,
    /// How long to wait altogether.
    pub(super) until: Option<Instant>,
}

/// Reads a body into memory until it ends, fails or reaches a limit. What was read is never lost: it stands before the
/// rest, so that [`MaybeHeld::held_bytes`] tells whether the whole body was read.
pub(super) async fn read<B: Body<Data = Bytes>>(body: B, limits: ReadLimits) -> MaybeHeld<B> {
    let mut body = Box::pin(body);
    let mut held = MaybeHeld { read: VecDeque::new(), rest: Rest::Nothing };
    let mut joined = Joined::default();
    let mut room = limits.bytes;
    loop {
        let stalls_at = limits.stall.map(ends_at);
        let next = match (stalls_at, limits.until) {
            (Some(stall), Some(until)) => timeout_at(stall.min(until), body.frame()).await,
            (Some(at), None) | (None, Some(at)) => timeout_at(at, body.frame()).await,
            (None, None) => Ok(body.frame().await),
        };
        match next {
            Ok(Some(Ok(frame))) => match frame.into_data() {
                Ok(data) => {
                    let left = room.checked_sub(data.len());
                    joined.push(data);
                    match left {
                        Some(left) => room = left,
                        None => break held.rest = Rest::Tail { body },
                    }
                }
                Err(trailers) => {
                    held.read.extend(joined.take());
                    held.read.push_back(trailers);
                }
            },
            Ok(Some(Err(error))) => break held.rest = Rest::Failure { error: Some(error) },
            Ok(None) => break,
            Err(_elapsed) => break held.rest = Rest::Tail { body },
        }
    }
    held.read.extend(joined.take());
    held
}

/// Data that is joined as it is read: a frame costs memory however small it is, and how small is the sender's choice.
/// One that comes alone is not copied.
#[derive(Default)]
struct Joined {
    first: Bytes,
    all: BytesMut,
}

impl Joined {
    fn push(&mut self, data: Bytes) {
        if self.first.is_empty() && self.all.is_empty() {
            self.first = data;
        } else {
            self.all.extend_from_slice(&mem::take(&mut self.first));
            self.all.extend_from_slice(&data);
        }
    }

    fn take(&mut self) -> Option<Frame<Bytes>> {
        let data = if self.all.is_empty() { mem::take(&mut self.first) } else { self.all.split().freeze() };
        (!data.is_empty()).then(|| Frame::data(data))
    }
}

/// Why the whole of a request's body could not be read.
pub(super) enum Unread<E> {
    TooLarge,
    TooSlow,
    Failed(E),
}

/// Reads the whole of a request's body, up to `limit` bytes and `until` then.
pub(super) async fn read_whole<B: Body<Data = Bytes>>(
    body: B,
    limit: usize,
    until: Instant,
) -> Result<MaybeHeld<B>, Unread<B::Error>> {
    if body.size_hint().lower() > limit as u64 {
        return Err(Unread::TooLarge);
    }
    let held = read(body, ReadLimits { bytes: limit, stall: None, until: Some(until) }).await;
    match held.rest {
        Rest::Nothing => Ok(held),
        Rest::Failure { error: Some(error) } => Err(Unread::Failed(error)),
        Rest::Tail { .. } if held.held_len() <= limit as u64 => Err(Unread::TooSlow),
        Rest::All { .. } | Rest::Tail { .. } | Rest::Failure { error: None } => Err(Unread::TooLarge),
    }
}

impl<B: Body<Data = Bytes>> Body for MaybeHeld<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let this = self.project();
        if let Some(frame) = this.read.pop_front() {
            return Poll::Ready(Some(Ok(frame)));
        }
        match this.rest.project() {
            RestProjected::Nothing => Poll::Ready(None),
            RestProjected::All { body } => body.poll_frame(cx),
            RestProjected::Tail { body } => body.as_mut().poll_frame(cx),
            RestProjected::Failure { error } => Poll::Ready(error.take().map(Err)),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.read.is_empty()
            && match &self.rest {
                Rest::Nothing => true,
                Rest::All { body } => body.is_end_stream(),
                Rest::Tail { body } => body.is_end_stream(),
                Rest::Failure { error } => error.is_none(),
            }
    }

    fn size_hint(&self) -> SizeHint {
        let rest = match &self.rest {
            Rest::Nothing => SizeHint::with_exact(0),
            Rest::All { body } => body.size_hint(),
            Rest::Tail { body } => body.size_hint(),
            Rest::Failure { .. } => SizeHint::default(),
        };
        let held = self.held_len();
        let mut hint = SizeHint::new();
        hint.set_lower(held.saturating_add(rest.lower()));
        if let Some(upper) = rest.upper() {
            hint.set_upper(held.saturating_add(upper));
        }
        hint
    }
}

impl<B: Body> fmt::Debug for MaybeHeld<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rest = match &self.rest {
            Rest::Nothing => "nothing",
            Rest::All { .. } => "all",
            Rest::Tail { .. } => "tail",
            Rest::Failure { .. } => "failure",
        };
        f.debug_struct("MaybeHeld").field("frames_read", &self.read.len()).field("rest", &rest).finish()
    }
}
