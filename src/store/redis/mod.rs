//! Records in Redis, for servers that share nothing else.
//!
//! ```no_run
//! use tower_idempotency::store::redis::{Connection, RedisStore, redis};
//!
//! # async fn open() -> Result<(), Box<dyn std::error::Error>> {
//! // A connection of its own, which is made anew when it breaks.
//! let store = RedisStore::open("redis://127.0.0.1/").await?;
//! let store = RedisStore::builder(Connection::open("redis://127.0.0.1/").await?).prefix("shop:").open().await?;
//! // Or the application's.
//! let connection = redis::aio::ConnectionManager::new(redis::Client::open("redis://127.0.0.1/")?).await?;
//! let store = RedisStore::builder(connection).prefix("shop:").open().await?;
//! # Ok(())
//! # }
//! ```
//!
//! Redis 7.0 or later, or Valkey, which speaks the same protocol and has the same commands.
//!
//! # What it promises, and what it cannot
//!
//! **There is no commit.** Redis cannot write to the application's database, so "this key is done" and the handler's
//! own writes are two steps: a handler runs at most once per recorded key while no store call fails, no lease lapses *and
//! Redis forgets nothing*. If that is not enough (money moves, and its table lives in a database), keep the keys in
//! that database: `PostgresStore` or `SqliteStore` write both in one transaction.
//!
//! **What Redis acknowledged it may lose.** A lost claim or completion means that a repeat runs again.
//!
//! | what happens | what is lost |
//! |---|---|
//! | a restart with `appendonly yes`, `appendfsync always` | nothing that was answered |
//! | a restart with `appendfsync everysec`, the default | about a second if the machine died; next to nothing if only the process did |
//! | a restart without `appendonly` | everything since the last snapshot; a warning says so when the store opens |
//! | a failover to a replica | what the replica had not received: replication is asynchronous |
//! | a master cut off from its replicas | what it acknowledged before it noticed: `min-replicas-to-write` bounds that |
//! | memory is short, and the policy evicts | any record: **such a server is refused** |
//!
//! `WAIT` after each claim and completion would shorten the window of a failover and not close it (Redis may promote a
//! replica that was not among those that answered), and it blocks the shared connection meanwhile; there is no such
//! setting.
//!
//! What was lost is never *mixed up*: a fence keeps up with the server's clock, so it rises though its counter was
//! taken back with the rest, and the random holder tells two claims apart whatever their fences are.
//!
//! # Keys
//!
//! `idempotency:{2a7}:r:...` is a record, a hash; `idempotency:{2a7}:fence` the last fence of its bucket. There are
//! 1,024 buckets, chosen by a digest of scope and key. What stands between the braces is a Cluster's hash tag: each verb is
//! one Lua script whose keys lie in one slot. [`prefix`](RedisStoreBuilder::prefix) replaces `idempotency:`.
//! Applications that share a server take a prefix each, those that share keys the same one.
//!
//! The fences stay for ever, at most 1,024 small keys. They rise for each key; of different keys they follow the clock
//! of the server that granted them, and on a Cluster that is not always the same server.
//!
//! Records go by themselves, by Redis' own expiry, so [`purge`](crate::store::Store::purge) has nothing to do and
//! answers 0. An unfinished record expires at the lapse of its lease plus its retention; that moment, and therefore the
//! lease, is its time to live. `PERSIST` on a record keeps it for ever.
//!
//! # Memory
//!
//! The policy has to be `noeviction`, as it is by default. [`open`](RedisStoreBuilder::open) asks, and refuses another
//! one; where `INFO` is forbidden it warns that it could not see. A server that is full refuses claims and completions
//! with a [transient](crate::store::StoreError::is_transient) error; replays, releases and renewals by the same length
//! need no memory. A record takes some 600 bytes beside its response.
//!
//! # Time
//!
//! The clock is the server's: hosts whose clocks differ agree. A server whose clock was set back (or a replica that is
//! behind and was promoted) shows a lease with more than its own length left; the claim that sees it cuts it to its
//! length and is answered *in flight*. A clock set forward lapses leases, and ends retentions, early.
//!
//! # The connection
//!
//! One connection is shared by all calls, and nothing blocks it. A claim, a look-up, a status, a renewal or a
//! completion whose connection broke is asked once more, at once: a claim carries its holder, so that the second asking
//! finds what the first one was granted. The other verbs answer an error, which the layer deals with.
//!
//! A connection that [`open`](Connection::open) makes has no time limit for answers, since the layer has
//! ([`store_timeout`](crate::IdempotencyLayer::store_timeout)), and tries to connect three times within a second before
//! a call fails. A `ConnectionManager` of yours has a limit of 500 ms unless it is given another: a claim that is
//! granted after it lapses with its lease, and repeats are answered 409 until then.
//!
//! A `ClusterConnection` (feature `redis-cluster`) sends again by itself. What is asked again above it may
//! repeat as well. A release that it sends twice may be answered `No` after the key was given back: the caller then
//! gets 409 in place of the handler's failure, and a repeat runs;
//! [`force_release`](crate::store::Store::force_release) and [`forget`](crate::store::Store::forget) go by the key: sent
//! twice they may hit a claim that came between, as if asked for twice.
//!
//! # Rights
//!
//! Where a user may do only what is needed, that is `~idempotency:*` (or the prefix), `+eval +evalsha +info`, and for the
//! scripts `+time +get +set +hset +hget +hmget +hexists +del +pexpireat +pexpiretime`. Without `+info` the store opens with a
//! warning; on a Cluster the client needs `+cluster` as well.
//!
//! # Errors
//!
//! Transient, so that another try may help: no connection, a server that loads, is full, is a replica, is busy with a
//! script or cannot save; a Cluster that moves slots or is down. Permanent: a password or permission that is refused, a
//! key that holds something else, a damaged response, a server too old for the scripts.

mod builder;
mod connection;
mod error;
mod keys;
mod reply;
mod script;
mod store;

/// The version that the signatures here speak of.
pub use ::redis;

pub use builder::RedisStoreBuilder;
pub use connection::Connection;
pub use error::{OpenError, OpenErrorKind};
pub use store::RedisStore;
