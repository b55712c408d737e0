//! Tests of the numbered rules of `tower_idempotency::idempotency`, named as sentences. Each quotes the rule that it
//! holds to; a number such as V8 is that of a case that broke another system of this kind.
//!
//! Time is tokio's paused clock: it passes when a test lets it, with everything that falls due meanwhile.
//!
//! `cargo test --test server_rules`

#[cfg(feature = "axum")]
mod claim;
mod failing_store;
mod fingerprint;
mod lease;
mod leaving;
mod passed;
mod reading;
mod recording;
mod refusals;
mod replay;
mod retention;
mod scope;
mod seen;
mod seen_red;
#[cfg(feature = "axum")]
mod stacks;
mod status;
mod streaming;
mod support;
mod untouched;
mod waiting;
mod which;
#[cfg(feature = "axum")]
mod whole_stack;
