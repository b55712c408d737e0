//! A store that never answers at once.

use std::{task::Poll, time::Duration};

use tower_idempotency::store::{
    ClaimRequest, Claimed, Found, Held, Outcome, ScopedKey, Status, Store, StoreError, Token,
};

/// Each call of it is pending once before it reaches the store, and once more before it is answered: whoever drops the
/// call there leaves it undone, or does not learn that it was done.
#[derive(Clone, Debug)]
pub struct Hesitant<S>(pub S);

/// Pending once.
pub async fn hesitate() {
    let mut hesitated = false;
    std::future::poll_fn(|cx| {
        if std::mem::replace(&mut hesitated, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

async fn hesitant<T>(call: impl Future<Output = T>) -> T {
    hesitate().await;
    let answer = call.await;
    hesitate().await;
    answer
}

impl<S: Store> Store for Hesitant<S> {
    async fn claim(&self, request: &ClaimRequest) -> Result<Claimed, StoreError> {
        hesitant(self.0.claim(request)).await
    }

    async fn lookup(&self, request: &ClaimRequest) -> Result<Found, StoreError> {
        hesitant(self.0.lookup(request)).await
    }

    async fn renew(&self, token: &Token, lease: Duration) -> Result<Held, StoreError> {
        hesitant(self.0.renew(token, lease)).await
    }

    async fn complete(&self, token: &Token, outcome: Outcome) -> Result<Held, StoreError> {
        hesitant(self.0.complete(token, outcome)).await
    }

    async fn release(&self, token: &Token) -> Result<Held, StoreError> {
        hesitant(self.0.release(token)).await
    }

    async fn status(&self, key: &ScopedKey) -> Result<Status, StoreError> {
        hesitant(self.0.status(key)).await
    }

    async fn force_release(&self, key: &ScopedKey) -> Result<Held, StoreError> {
        hesitant(self.0.force_release(key)).await
    }

    async fn forget(&self, key: &ScopedKey) -> Result<Held, StoreError> {
        hesitant(self.0.forget(key)).await
    }

    async fn purge(&self, batch: u32) -> Result<u64, StoreError> {
        hesitant(self.0.purge(batch)).await
    }
}
