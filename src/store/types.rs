//! The words in which the layer and a store speak.

use std::{
    error::Error,
    fmt,
    time::{Duration, SystemTime},
};

use bytes::{BufMut, Bytes, BytesMut};
use http::StatusCode;
use uuid::Uuid;

use super::{Differs, Fingerprint, StoredResponse};
use crate::IdempotencyKey;

/// A key together with the scope it belongs to: the same key in another scope is another key.
///
/// Scope and key are joined length-prefixed, so that no choice of one can imitate the other.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ScopedKey {
    joined: Bytes,
    scope_len: usize,
}

impl ScopedKey {
    /// The key in this scope.
    #[must_use]
    pub fn new(scope: &str, key: &IdempotencyKey) -> Self {
        let key = key.as_str();
        let mut joined = BytesMut::with_capacity(8 + scope.len() + key.len());
        joined.put_u64(scope.len() as u64);
        joined.put_slice(scope.as_bytes());
        joined.put_slice(key.as_bytes());
        Self { joined: joined.freeze(), scope_len: scope.len() }
    }

    /// The bytes under which a store files the record.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.joined
    }

    /// The scope.
    #[must_use]
    pub fn scope(&self) -> &str {
        self.text(8, 8 + self.scope_len)
    }

    /// The key's text, without quotes.
    #[must_use]
    pub fn key(&self) -> &str {
        self.text(8 + self.scope_len, self.joined.len())
    }

    fn text(&self, from: usize, to: usize) -> &str {
        std::str::from_utf8(&self.joined[from..to]).expect("made of two strings")
    }
}

impl fmt::Debug for ScopedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedKey").field("scope", &self.scope()).field("key", &self.key()).finish()
    }
}

/// Asks to run one request under its key.
#[derive(Clone, Debug)]
pub struct ClaimRequest {
    /// Whose key, and which.
    pub key: ScopedKey,
    /// Which request.
    pub fingerprint: Fingerprint,
    /// How long the claim lasts unless it is renewed.
    pub lease: Duration,
    /// How long the record is kept after its end.
    pub retention: Duration,
}

/// The right to finish one record. Fences order, holders identify; a store compares both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    key: ScopedKey,
    fence: u64,
    holder: Uuid,
}

impl Token {
    /// A token for a claim that is being granted, with a random holder.
    #[must_use]
    pub fn new(key: ScopedKey, fence: u64) -> Self {
        Self { key, fence, holder: Uuid::new_v4() }
    }

    /// A token for a claim whose holder was drawn before it was granted: a store sends it with its question.
    #[cfg(any(feature = "postgres", feature = "redis"))]
    pub(super) fn held_by(key: ScopedKey, fence: u64, holder: Uuid) -> Self {
        Self { key, fence, holder }
    }

    /// Whose key, and which.
    #[must_use]
    pub fn key(&self) -> &ScopedKey {
        &self.key
    }

    /// Rises with every claim that the store ever grants.
    #[must_use]
    pub fn fence(&self) -> u64 {
        self.fence
    }

    /// Random; no two claims share it.
    #[must_use]
    pub fn holder(&self) -> &[u8; 16] {
        self.holder.as_bytes()
    }
}

/// How a claim ends.
#[derive(Debug)]
pub enum Claimed {
    /// The caller holds the key and runs the request. `attempt` is 1 for the first run of a record and one more for
    /// each takeover.
    Acquired {
        /// The right to finish the record.
        token: Token,
        /// How many runs this record has seen.
        attempt: u32,
    },
    /// The request has ended: replay this.
    Done(StoredResponse),
    /// Another holder runs it: refuse, or ask again later.
    InFlight {
        /// What is left of the holder's lease.
        lease_left: Duration,
    },
    /// The key belongs to another request: refuse.
    Mismatch(Differs),
    /// The request has ended with this status and its response was not kept: refuse.
    NotReplayable(StatusCode),
}

/// What a look-up finds. As [`Claimed`], with `Absent` and `Lapsed` in place of `Acquired`.
#[derive(Debug)]
pub enum Found {
    /// No record, or one past its retention.
    Absent,
    /// Unfinished, and its lease has lapsed: a claim would take over.
    Lapsed,
    /// The request has ended.
    Done(StoredResponse),
    /// A holder runs it.
    InFlight {
        /// What is left of the holder's lease.
        lease_left: Duration,
    },
    /// The key belongs to another request.
    Mismatch(Differs),
    /// The request has ended with this status and its response was not kept.
    NotReplayable(StatusCode),
}

/// Whether a verb found what it was to change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Held {
    /// Done.
    Yes,
    /// Passed, finished, or no such record. Nothing was changed.
    No,
}

/// How a request ended, as its record keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// With a response that each repeat gets.
    Response(StoredResponse),
    /// With this status; the response is not kept, and a repeat is told so.
    NotReplayable(StatusCode),
}

/// What has become of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// No record: never seen, released, or past its retention.
    Unknown,
    /// A holder runs the request.
    InProgress {
        /// When this run was claimed.
        since: SystemTime,
    },
    /// A run was claimed and its lease has lapsed: the next repeat takes over.
    Lapsed {
        /// When that run was claimed.
        since: SystemTime,
    },
    /// The request has ended.
    Done {
        /// Its status.
        status: StatusCode,
        /// When it ended.
        at: SystemTime,
        /// Whether a repeat gets the response, or 410.
        replayable: bool,
    },
}

/// A store that failed. Keeps its source and says whether another try is worth it.
#[derive(Debug)]
pub struct StoreError {
    transient: bool,
    source: Box<dyn Error + Send + Sync>,
}

impl StoreError {
    /// A failure that another try may not meet: a lock, a lost connection, a time limit, a store that is full until
    /// records go past their retention.
    pub fn transient(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { transient: true, source: source.into() }
    }

    /// A failure that another try would meet again: a missing table, a full disk, damaged data.
    pub fn permanent(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { transient: false, source: source.into() }
    }

    /// Whether another try is worth it.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        self.transient
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.transient {
            "the store of idempotency keys did not answer this time"
        } else {
            "the store of idempotency keys cannot answer"
        })
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.source)
    }
}
