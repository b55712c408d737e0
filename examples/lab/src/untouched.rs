//! A store and a body that may not be touched.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tower_idempotency::store::{
    ClaimRequest, Claimed, Found, Held, Outcome, ScopedKey, Status, Store, StoreError, Token,
};

use crate::body::Broken;

/// A store that panics at each verb.
#[derive(Clone, Copy, Debug)]
pub struct UntouchedStore;

impl Store for UntouchedStore {
    async fn claim(&self, _: &ClaimRequest) -> Result<Claimed, StoreError> {
        panic!("claim")
    }

    async fn lookup(&self, _: &ClaimRequest) -> Result<Found, StoreError> {
        panic!("lookup")
    }

    async fn renew(&self, _: &Token, _: Duration) -> Result<Held, StoreError> {
        panic!("renew")
    }

    async fn complete(&self, _: &Token, _: Outcome) -> Result<Held, StoreError> {
        panic!("complete")
    }

    async fn release(&self, _: &Token) -> Result<Held, StoreError> {
        panic!("release")
    }

    async fn status(&self, _: &ScopedKey) -> Result<Status, StoreError> {
        panic!("status")
    }

    async fn force_release(&self, _: &ScopedKey) -> Result<Held, StoreError> {
        panic!("force_release")
    }

    async fn forget(&self, _: &ScopedKey) -> Result<Held, StoreError> {
        panic!("forget")
    }

    async fn purge(&self, _: u32) -> Result<u64, StoreError> {
        panic!("purge")
    }
}

/// A body that panics when it is polled, or asked for its size, before its handler allows it.
#[derive(Clone, Debug, Default)]
pub struct UntouchedBody {
    allowed: Arc<AtomicBool>,
    bytes: Option<Bytes>,
}

impl UntouchedBody {
    /// Of these bytes.
    pub fn of(bytes: impl Into<Bytes>) -> Self {
        Self { allowed: Arc::default(), bytes: Some(bytes.into()) }
    }

    /// Lets whoever has it read it from now on, and its clones.
    pub fn allow(&self) {
        self.allowed.store(true, Ordering::SeqCst);
    }

    fn assert_allowed(&self) {
        assert!(self.allowed.load(Ordering::SeqCst), "the body was touched before its handler ran");
    }
}

impl Body for UntouchedBody {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        self.assert_allowed();
        Poll::Ready(self.bytes.take().map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.assert_allowed();
        self.bytes.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        self.assert_allowed();
        SizeHint::with_exact(self.bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
    }
}
