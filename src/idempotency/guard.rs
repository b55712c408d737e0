//! What all requests through one layer share: the store, the settings, and the work in the background.

use std::{
    fmt,
    sync::{Arc, OnceLock},
    time::Duration,
};

use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use super::{holder::answer_within, metrics, settings::Settings};
use crate::store::Store;

/// One for each service that a layer makes.
pub(super) struct Guard<S> {
    pub(super) store: S,
    pub(super) settings: Settings,
    pub(super) background: Arc<Background>,
}

/// One for each layer, shared by its clones and all their services.
#[derive(Default)]
pub(super) struct Background {
    /// Exchanges whose callers have left, and what they owe the store.
    pub(super) tasks: TaskTracker,
    /// Ends with the last clone.
    purge: OnceLock<AbortOnDropHandle<()>>,
    warned_of_inner_layer: OnceLock<()>,
    warned_of_other_response: OnceLock<()>,
}

impl<S: Store> Guard<S> {
    /// Begins to purge, at the first guarded request.
    pub(super) fn purge_from_now_on(&self) {
        let Some(interval) = self.settings.purge_interval else { return };
        self.background.purge.get_or_init(|| {
            let purging = purge_forever(self.store.clone(), interval, self.settings.store_timeout);
            AbortOnDropHandle::new(tokio::spawn(purging))
        });
    }
}

impl<S> Guard<S> {
    pub(super) fn tasks(&self) -> &TaskTracker {
        &self.background.tasks
    }

    pub(super) fn warn_once_of_inner_layer(&self) {
        self.background.warned_of_inner_layer.get_or_init(|| {
            tracing::warn!(
                store = std::any::type_name::<S>(),
                "an idempotency layer stands inside another one of the same store; the inner one lets requests pass"
            );
        });
    }

    pub(super) fn warn_once_if(&self, other: bool) {
        if other {
            self.background.warned_of_other_response.get_or_init(|| {
                tracing::warn!(
                    "a handler ended with another response than it had committed; the caller gets the committed one"
                );
            });
        }
    }
}

impl<S> fmt::Debug for Guard<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// Small batches, so that claims go on meanwhile.
const PURGE_BATCH: u32 = 500;

async fn purge_forever<S: Store>(store: S, interval: Duration, timeout: Duration) {
    loop {
        tokio::time::sleep(interval).await;
        loop {
            match answer_within(timeout, store.purge(PURGE_BATCH)).await {
                Ok(purged) if purged >= u64::from(PURGE_BATCH) => tokio::task::yield_now().await,
                Ok(_) => break,
                Err(error) => {
                    metrics::purge_failed(&error);
                    break;
                }
            }
        }
    }
}
