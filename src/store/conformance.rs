//! One suite that every store must pass: the [rules](super) as tests.
//!
//! It is the suite of this crate's own stores. A store of yours runs it with a [`Fixture`] and one line in its tests:
//!
//! ```
//! use tower_idempotency::{MemoryStore, store::conformance::Fixture};
//!
//! struct Memory(MemoryStore);
//!
//! impl Fixture for Memory {
//!     type Store = MemoryStore;
//!
//!     async fn fresh() -> Self {
//!         Self(MemoryStore::new())
//!     }
//!
//!     fn store(&self) -> &MemoryStore {
//!         &self.0
//!     }
//! }
//!
//! tower_idempotency::store_conformance!(Memory);
//! ```
//!
//! Each promise is a test of its own, whose name begins with its rule: `rule_3_a_passed_holder_changes_nothing`. Some
//! can be tried only if the fixture can do more, and have a line each:
//!
//! | line | asks for | rule |
//! |---|---|---|
//! | `store_conformance!(Mine)` | [`Fixture`] | 1, 2, 3, 7, 8 |
//! | `store_conformance!(Mine, write_lock)` | [`WriteLock`]: someone else holds the lock that all writes take | 4 |
//! | `store_conformance!(Mine, record_locks)` | [`RecordLocks`]: someone else holds the lock of a record | 5 |
//! | `store_conformance!(Mine, faults)` | [`Faults`]: the store fails | 6 |
//!
//! The lines of one fixture stand beside each other; a second fixture needs a module of its own.
//!
//! # Set up
//!
//! ```toml
//! [dev-dependencies]
//! tower-idempotency = { version = "0.1", features = ["conformance"] }
//! ```
//!
//! The suite makes tokio's runtimes by itself, with every driver that is compiled in. It needs no tokio of yours; a
//! fixture that calls `tokio::time::advance` or `sleep` by itself needs its features `test-util` or `time`.
//!
//! # Time
//!
//! By default tokio's clock is paused, and [`advance`](Fixture::advance) moves it: right for a store that reads tokio's
//! clock. A store that asks a server for the time lives in [`Time::Real`], where `advance` waits. Then a short
//! [`UNIT`](Fixture::UNIT) keeps the suite short, and [`TOLERANCE`](Fixture::TOLERANCE) says how much may pass unasked:
//!
//! ```
//! # use std::time::Duration;
//! # use tower_idempotency::{MemoryStore, store::conformance::{Fixture, Time}};
//! # struct Server(MemoryStore);
//! impl Fixture for Server {
//! #   type Store = MemoryStore;
//! #   async fn fresh() -> Self { Self(MemoryStore::new()) }
//! #   fn store(&self) -> &MemoryStore { &self.0 }
//!     const TIME: Time = Time::Real;
//!     const UNIT: Duration = Duration::from_secs(4);
//!     const TOLERANCE: Duration = Duration::from_millis(300);
//!     // ...
//! }
//! ```

use std::time::Duration;

use super::{ScopedKey, Store};

mod faults;
mod holding;
mod interleaving;
mod judging;
mod keys;
mod locks;
mod purging;
mod races;
mod records;
mod retention;
mod suite;
mod time;
mod tokens;
/// The tests of this crate's stores are made of the same words.
#[doc(hidden)]
pub mod words;

pub use suite::{Promise, Promises, fault_promises, promises, record_lock_promises, write_lock_promises};

/// A store of its own for one test, and the time it lives in.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say how the suite makes a store",
    note = "implement `tower_idempotency::store::conformance::Fixture`"
)]
pub trait Fixture: Sized {
    /// What is tried.
    type Store: Store;

    /// The clock of the store; [`Time::Paused`] by default.
    const TIME: Time = Time::Paused;

    /// One lease, 10 s by default. A retention is six of it; the longest test lets twelve pass, all together 140.
    const UNIT: Duration = Duration::from_secs(10);

    /// By how much a time may differ from the expected one, none by default: what the calls between two steps of a test
    /// may take. Less than a tenth of [`UNIT`](Self::UNIT).
    const TOLERANCE: Duration = Duration::ZERO;

    /// Who deletes what is past its retention; [`Expiry::ByPurge`] by default.
    const EXPIRY: Expiry = Expiry::ByPurge;

    /// A store without records that no other test sees: a new file, schema or prefix.
    fn fresh() -> impl Future<Output = Self>;

    /// The store.
    fn store(&self) -> &Self::Store;

    /// Lets at least this much time pass for the store. By default tokio's clock is moved, or waited for, as
    /// [`TIME`](Self::TIME) says; a store with a clock of its own moves that one.
    fn advance(&self, by: Duration) -> impl Future<Output = ()> {
        async move {
            match Self::TIME {
                Time::Paused => tokio::time::advance(by).await,
                Time::Real => tokio::time::sleep(by).await,
            }
        }
    }
}

/// Whose time a store lives in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// That of tokio's clock, which the suite pauses; races on many threads advance nothing and leave it running.
    Paused,
    /// The world's: a wait is a wait.
    Real,
}

/// Who deletes what is past its retention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expiry {
    /// `purge`, which answers how many.
    ByPurge,
    /// The store by itself; `purge` answers 0. That memory is given back is for tests of your own.
    ByItself,
}

impl Expiry {
    /// What a purge answers that meets so many records past their retention.
    fn purged(self, expired: u64) -> u64 {
        match self {
            Self::ByPurge => expired,
            Self::ByItself => 0,
        }
    }
}

/// A store whose writes take one lock, which someone else can hold (rule 4).
pub trait WriteLock: Fixture {
    /// The lock, held.
    type WriteGuard;

    /// Takes the lock as another program would, not through the store.
    fn lock_writes(&self) -> impl Future<Output = Self::WriteGuard>;

    /// Gives it back; by default the guard is dropped.
    fn unlock_writes(&self, guard: Self::WriteGuard) -> impl Future<Output = ()> {
        async move { drop(guard) }
    }
}

/// A store whose records can be locked one by one, by a transaction that is about to complete one (rule 5).
pub trait RecordLocks: Fixture {
    /// The lock, held.
    type RecordGuard;

    /// Locks the key's record, which exists, as another transaction would.
    fn lock_record(&self, key: &ScopedKey) -> impl Future<Output = Self::RecordGuard>;

    /// Gives it back, the record as it was; by default the guard is dropped.
    fn unlock_record(&self, guard: Self::RecordGuard) -> impl Future<Output = ()> {
        async move { drop(guard) }
    }
}

/// A store that can be made to fail (rule 6).
pub trait Faults: Fixture {
    /// What mends it.
    type Fault;

    /// From now on the claim of a new key fails, until [`mend`](Self::mend): a lock, a full store.
    fn fail_for_now(&self) -> impl Future<Output = Self::Fault>;

    /// From now on the claim of a new key fails, however often it is tried: a missing table, a closed pool.
    fn fail_for_good(&self) -> impl Future<Output = ()>;

    /// Ends what [`fail_for_now`](Self::fail_for_now) began; by default the fault is dropped.
    fn mend(&self, fault: Self::Fault) -> impl Future<Output = ()> {
        async move { drop(fault) }
    }
}
