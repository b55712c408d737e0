//! The row that everybody writes.

use std::sync::{Mutex, PoisonError};

use serde::Serialize;

/// A write that has come to the server.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Arrival {
    /// When, in milliseconds of the model.
    pub at: f64,
    /// Whose, from 0.
    pub client: u32,
    /// What came of it.
    pub end: Written,
}

/// What came of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Written {
    /// Nobody wrote since the read: this client is done.
    Won,
    /// Somebody did: nothing was written.
    Conflicted,
}

/// One row under optimistic concurrency.
#[derive(Debug, Default)]
pub(super) struct Row(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    version: u32,
    arrivals: Vec<Arrival>,
}

impl Row {
    pub(super) fn read(&self) -> u32 {
        self.with(|state| state.version)
    }

    /// Writes if the version is still the one that was read.
    pub(super) fn write(&self, version: u32, client: u32, at: f64) -> Written {
        self.with(|state| {
            let end = if state.version == version { Written::Won } else { Written::Conflicted };
            if end == Written::Won {
                state.version += 1;
            }
            state.arrivals.push(Arrival { at, client, end });
            end
        })
    }

    /// In the order in which they came.
    pub(super) fn take_arrivals(&self) -> Vec<Arrival> {
        self.with(|state| std::mem::take(&mut state.arrivals))
    }

    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
