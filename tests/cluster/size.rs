//! How much, and drawn from what.

use std::{env, fmt::Display, str::FromStr};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub(crate) seed: u64,
    /// So many reports at least.
    pub(crate) operations: usize,
    pub(crate) kills: usize,
    pub(crate) pauses: usize,
    pub(crate) restarts_of_the_store: usize,
    pub(crate) clients: usize,
}

impl Size {
    pub(crate) fn from_env() -> Self {
        Self {
            seed: variable("CLUSTER_SEED", 1),
            operations: variable("CLUSTER_OPERATIONS", 20_000),
            kills: variable("CLUSTER_KILLS", 66),
            pauses: 6,
            restarts_of_the_store: 2,
            clients: 32,
        }
    }
}

fn variable<T: FromStr<Err: Display>>(name: &str, default: T) -> T {
    match env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|error| panic!("{name} is {text:?}: {error}")),
        Err(_) => default,
    }
}
