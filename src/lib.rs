//! A [tower](https://docs.rs/tower) layer that makes it safe to send a request again.
//!
//! A client that timed out does not know whether the server did the work. [`IdempotencyLayer`] wraps any HTTP service and
//! runs each keyed request once: it refuses a reused key (422), refuses a repeat while the first still runs (409), replays
//! the stored response afterwards, lets a retry take over when the first holder died, and can commit the handler's own
//! writes and "this key is done" in one database transaction.
//!
//! # Map
//!
//! | module | what stands there |
//! |---|---|
//! | [`idempotency`] | the layer: its contract as numbered rules, its settings, what a handler holds |
//! | [`store`] | the promise that a store makes, and the stores |
//! | [`key`] | idempotency keys: read, written, made and derived |
//!
//! # Features
//!
//! | feature | default | what it adds |
//! |---|---|---|
//! | `idempotency` | yes | the server layer, the store contract, [`MemoryStore`] |
//! | `sqlite` | yes | `SqliteStore` and `Claim::commit` |
//! | `axum` | yes | `Claim` as an extractor, the status route, the original path of nested routers |
//! | `conformance` | no | `store::conformance`: the suite that every store must pass, for a store of yours too |
//! | `metrics` | no | counters and histograms through the `metrics` facade |
//!
//! # Quick start
#![cfg_attr(all(feature = "axum", feature = "sqlite"), doc = include_str!("quick_start.md"))]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "idempotency")]
pub mod idempotency;
pub mod key;
#[cfg(feature = "idempotency")]
pub mod store;

#[cfg(feature = "idempotency")]
pub use idempotency::IdempotencyLayer;
pub use key::IdempotencyKey;
#[cfg(feature = "sqlite")]
pub use store::sqlite::SqliteStore;
#[cfg(feature = "idempotency")]
pub use store::{MemoryStore, Store};

/// The README's code is compiled with the tests.
#[cfg(all(doctest, feature = "axum", feature = "sqlite"))]
#[doc = include_str!("../README.md")]
struct Readme;
