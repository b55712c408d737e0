//! The promise a store makes, and the stores.
//!
//! A store keeps one record for each [`ScopedKey`]. These are the rules that every [`Store`] keeps; the layer
//! relies on each of them.
//!
//! 1. **Each verb is one atomic step.** Whatever else happens at the same time, a verb sees the record as it was
//!    before or after another verb, never between. There are no default bodies.
//! 2. **Judging.** A record past its retention is as if absent: its retention counts from its end or, while it is
//!    unfinished, from the lapse of its lease. Otherwise [`claim`](Store::claim) judges in this order: another
//!    fingerprint ([`Claimed::Mismatch`]), finished ([`Claimed::Done`], [`Claimed::NotReplayable`]), a live lease
//!    ([`Claimed::InFlight`]), and only then takes over. [`lookup`](Store::lookup) judges alike and changes nothing.
//!    The [`ClaimRequest`] carries lease and retention, and the record keeps both.
//! 3. **Completing.** [`complete`](Store::complete) finishes an unfinished record whose fence *and* holder are the
//!    token's. Asked again with the token and the outcome that finished the record it answers [`Held::Yes`], so an
//!    answer that was lost can be asked for again. In every other case it answers [`Held::No`] and changes nothing.
//! 4. **Replays are reads.** [`claim`](Store::claim) on a finished key takes no write lock.
//! 5. **A locked record.** `claim` answers [`Claimed::InFlight`] with nothing left; `renew` and `release` answer a
//!    [transient](StoreError::is_transient) error, never [`Held::No`].
//! 6. **Errors** are a [`StoreError`]: it keeps its source and says whether another try is worth it.
//! 7. **Time.** A store that several machines share uses its own clock. [`MemoryStore`] uses tokio's, and
#![cfg_attr(feature = "sqlite", doc = "   [`SqliteStore`](sqlite::SqliteStore) the rule that its page gives.")]
#![cfg_attr(not(feature = "sqlite"), doc = "   `SqliteStore` the rule that its page gives.")]
//! 8. **Tokens never repeat.** A fence rises for the life of the store: release, expiry, [`forget`](Store::forget) and
//!    [`purge`](Store::purge) never set it back.

use std::{future::Future, time::Duration};

mod clock;
#[cfg(feature = "conformance")]
pub mod conformance;
mod fingerprint;
mod memory;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "redis")]
pub mod redis;
mod response;
#[cfg(feature = "sqlite")]
pub mod sqlite;
mod types;

pub use fingerprint::{Differs, Fingerprint};
pub use memory::MemoryStore;
pub use response::{DamagedResponse, StoredResponse};
pub use types::{ClaimRequest, Claimed, Found, Held, Outcome, ScopedKey, Status, StoreError, Token};

/// Keeps one record for each key. The [rules](self) are the contract; each verb is one atomic step.
///
/// A clone is another handle on the same records.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a store of idempotency keys",
    note = "use `MemoryStore`, `SqliteStore`, `PostgresStore`, `RedisStore`, or implement `tower_idempotency::store::Store`"
)]
pub trait Store: Clone + Send + Sync + 'static {
    /// Asks to run the request under this key: grants a lease, or says why not (rule 2).
    fn claim(&self, request: &ClaimRequest) -> impl Future<Output = Result<Claimed, StoreError>> + Send;

    /// What [`claim`](Self::claim) would find, without claiming.
    fn lookup(&self, request: &ClaimRequest) -> impl Future<Output = Result<Found, StoreError>> + Send;

    /// Lets the lease of an unfinished record run for `lease` from now, if the token still holds it. A lease that
    /// has lapsed is renewed as long as nobody took the key over.
    fn renew(&self, token: &Token, lease: Duration) -> impl Future<Output = Result<Held, StoreError>> + Send;

    /// Finishes the record, if the token still holds it (rule 3).
    fn complete(&self, token: &Token, outcome: Outcome) -> impl Future<Output = Result<Held, StoreError>> + Send;

    /// Gives the key back so that a repeat runs at once, if the token still holds it unfinished.
    fn release(&self, token: &Token) -> impl Future<Output = Result<Held, StoreError>> + Send;

    /// What has become of a key.
    fn status(&self, key: &ScopedKey) -> impl Future<Output = Result<Status, StoreError>> + Send;

    /// Frees an unfinished key whoever holds it; its holder is passed and can complete nothing. [`Held::No`] if the
    /// key was finished or absent.
    fn force_release(&self, key: &ScopedKey) -> impl Future<Output = Result<Held, StoreError>> + Send;

    /// Erases a record, finished or not. **The next request with this key runs again.** [`Held::No`] if there was none.
    fn forget(&self, key: &ScopedKey) -> impl Future<Output = Result<Held, StoreError>> + Send;

    /// Deletes at most `batch` records past their retention and answers how many. A record with a live lease is
    /// never past its retention (rule 2). A store whose records go by themselves answers 0.
    fn purge(&self, batch: u32) -> impl Future<Output = Result<u64, StoreError>> + Send;
}
