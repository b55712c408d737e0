//! Records in the memory of this process.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use table::Table;

use super::{ClaimRequest, Claimed, Found, Held, Outcome, ScopedKey, Status, Store, StoreError, Token};

mod record;
mod table;

/// Keeps records in memory: for one process, for tests, and where a restart may forget.
///
/// A clone is another handle on the same records and limits. When the last one is dropped the records are gone, and
/// **after a restart each key is new: a repeat runs again.** Several processes need a store that they share.
///
/// 1. **Bounded.** It holds at most [`max_records`](Self::max_records) records and about
///    [`max_bytes`](Self::max_bytes) bytes.
/// 2. **Full is an error, never an eviction.** What needs room first gets that of records past their retention, those
///    that end soonest first. A record with a live lease, or within its retention, is never dropped for another one.
/// 3. **Full is met at the claim.** An unfinished record holds 4 KiB in reserve for its response, so a response
///    within that is always recorded; a larger one may find the store full after the work was done. An error changes
///    nothing: the holder keeps its lease and may complete again.
/// 4. **Time** is tokio's. A jump of the host's clock neither ends a lease nor a retention, and a test may pause it.
///    Leases and retentions end after a hundred years at the latest.
///
/// # Errors
///
/// The one error is a full store: [transient](StoreError::is_transient), since records go past their retention, but
/// permanent for a record that is larger than the whole store.
///
/// # Example
///
/// ```
/// use tower_idempotency::MemoryStore;
///
/// let store = MemoryStore::new().max_records(10_000).max_bytes(64 * 1024 * 1024);
/// assert!(store.is_empty());
/// ```
// One mutex is enough: each verb holds it for a few look-ups in memory, and none awaits while it does.
#[derive(Clone)]
pub struct MemoryStore {
    table: Arc<Mutex<Table>>,
}

impl MemoryStore {
    /// An empty store for at most 100,000 records and 256 MiB.
    #[must_use]
    pub fn new() -> Self {
        Self { table: Arc::new(Mutex::new(Table::new(100_000, 256 * 1024 * 1024))) }
    }

    /// How many records it holds at most, for all clones; 100,000 by default. Fewer than it holds now drops none.
    #[must_use]
    pub fn max_records(self, records: usize) -> Self {
        self.table().max_records = records;
        self
    }

    /// How many bytes it holds at most, for all clones; 256 MiB by default. Fewer than it holds now drops none.
    ///
    /// [`bytes`](Self::bytes) says what is counted. To record each response that the layer keeps, this must be well
    /// above the layer's own limit of a response.
    #[must_use]
    pub fn max_bytes(self, bytes: usize) -> Self {
        self.table().max_bytes = bytes;
        self
    }

    /// How many records it holds, with those past their retention that nothing has purged yet.
    #[must_use]
    pub fn len(&self) -> usize {
        self.table().len()
    }

    /// Whether it holds no record.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many bytes its records count for: key, header lines and body, 512 bytes a record and 128 a header line
    /// for what surrounds them, and 4 KiB in reserve while a record is unfinished.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.table().bytes()
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().expect("no verb panics while it holds the lock")
    }
}

impl Store for MemoryStore {
    async fn claim(&self, request: &ClaimRequest) -> Result<Claimed, StoreError> {
        self.table().claim(request)
    }

    async fn lookup(&self, request: &ClaimRequest) -> Result<Found, StoreError> {
        Ok(self.table().lookup(request))
    }

    async fn renew(&self, token: &Token, lease: Duration) -> Result<Held, StoreError> {
        Ok(self.table().renew(token, lease))
    }

    async fn complete(&self, token: &Token, outcome: Outcome) -> Result<Held, StoreError> {
        // Copied before the lock is taken: no other verb waits for it.
        let outcome = match outcome {
            Outcome::Response(response) => Outcome::Response(response.detached()),
            Outcome::NotReplayable(status) => Outcome::NotReplayable(status),
        };
        self.table().complete(token, outcome)
    }

    async fn release(&self, token: &Token) -> Result<Held, StoreError> {
        Ok(self.table().release(token))
    }

    async fn status(&self, key: &ScopedKey) -> Result<Status, StoreError> {
        Ok(self.table().status(key))
    }

    async fn force_release(&self, key: &ScopedKey) -> Result<Held, StoreError> {
        Ok(self.table().force_release(key))
    }

    async fn forget(&self, key: &ScopedKey) -> Result<Held, StoreError> {
        Ok(self.table().forget(key))
    }

    async fn purge(&self, batch: u32) -> Result<u64, StoreError> {
        Ok(self.table().purge(batch))
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Never the records: they hold what users were answered.
        f.debug_struct("MemoryStore").field("len", &self.len()).field("bytes", &self.bytes()).finish_non_exhaustive()
    }
}
