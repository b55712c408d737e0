//! Faults at every call of the store, times callers that stay or leave, times what handlers do: all combinations, and
//! after each the promises of the crate. Run with `cargo test --test faults`.
//!
//! Two servers share one store. All calls of the first go through gates, one for each verb, which let them through,
//! refuse them, keep them back for longer than a renewal may take, never answer, or lose their answers; the second
//! server's store is sound, and it gets the same request as a rival that takes over what has lapsed. Then the gates open,
//! and lone repeats come until the key has ended. What each combination must keep is a [`Promise`](promise::Promise).
//!
//! Handlers that commit need a store that can: their gates stand inside SQLite, in triggers on its tables.
//!
//! Time is tokio's paused clock. Each promise is broken on purpose too, by stores and services that leave a guard out:
//! the same checker has to name it. Only that a commit answers its caller has no naive layer that could break it: nothing
//! outside of the crate can end a commit.

mod combination;
#[cfg(feature = "sqlite")]
mod committing;
mod memory;
mod planted;
mod promise;
mod scene;
#[cfg(feature = "sqlite")]
mod sqlite;
#[cfg(feature = "sqlite")]
mod sqlite_gates;
mod watched;
