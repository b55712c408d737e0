//! Two [tower](https://docs.rs/tower) layers that make it safe to send a request again.
//!
//! A client that timed out does not know whether the server did the work.
//!
//! - **Server.** [`IdempotencyLayer`] wraps any HTTP service and runs each keyed request once: it refuses a reused key
//!   (422), refuses a repeat while the first still runs (409), replays the stored response afterwards, lets a retry take
//!   over when the first holder died, and can commit the handler's own writes and "this key is done" in one database
//!   transaction.
//! - **Client.** [`RetryLayer`] wraps any HTTP client and tries again, with jitter, within a budget and a deadline, as the
//!   server asks, and only where a second copy can do no harm.
//!
//! # Map
//!
//! | module | what stands there |
//! |---|---|
//! | [`idempotency`] | the server layer: its contract as numbered rules, its settings, what a handler holds |
//! | [`retry`] | the client layer: its contract as numbered rules, its settings, what a caller learns |
//! | [`store`] | the promise that a store makes, and the stores |
//! | [`key`] | idempotency keys: read, written, made and derived |
//!
//! # Features
//!
//! | feature | default | what it adds |
//! |---|---|---|
//! | `idempotency` | yes | the server layer, the store contract, [`MemoryStore`] |
//! | `retry` | yes | the client layer |
//! | `hyper` | no | [`RetryLayer`] knows what the errors of hyper's client prove |
//! | `reqwest` | no | `retry::reqwest`: a reqwest client as a service of `http::Request` |
//! | `sqlite` | yes | `SqliteStore` and `Claim::commit` |
//! | `postgres` | no | `PostgresStore`, `Claim::begin` and `Claim::complete_in` |
//! | `redis` | no | `RedisStore`: records in Redis or Valkey, without `Claim::commit` |
//! | `redis-cluster` | no | `RedisStore` on a Cluster |
//! | `axum` | yes | `Claim` as an extractor, the status route, the original path of nested routers |
//! | `conformance` | no | `store::conformance`: the suite that every store must pass, for a store of yours too |
//! | `metrics` | no | counters and histograms through the `metrics` facade |
//!
//! # Quick start
//!
//! The server; the page of [`retry`] has one of the client.
#![cfg_attr(all(feature = "axum", feature = "sqlite"), doc = include_str!("quick_start.md"))]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "idempotency")]
pub mod idempotency;
pub mod key;
#[cfg(feature = "retry")]
pub mod retry;
#[cfg(feature = "idempotency")]
pub mod store;

#[cfg(feature = "idempotency")]
pub use idempotency::IdempotencyLayer;
pub use key::IdempotencyKey;
#[cfg(feature = "retry")]
pub use retry::RetryLayer;
#[cfg(feature = "postgres")]
pub use store::postgres::PostgresStore;
#[cfg(feature = "redis")]
pub use store::redis::RedisStore;
#[cfg(feature = "sqlite")]
pub use store::sqlite::SqliteStore;
#[cfg(feature = "idempotency")]
pub use store::{MemoryStore, Store};

/// The README's code is compiled with the tests of all features.
#[cfg(all(doctest, feature = "axum", feature = "hyper", feature = "reqwest", feature = "sqlite"))]
#[doc = include_str!("../README.md")]
struct Readme;
