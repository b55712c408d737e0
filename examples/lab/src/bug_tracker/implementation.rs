//! The three servers of the article, which differ in what they do with a key.

use std::fmt;

use clap::ValueEnum;
use serde::Serialize;

/// What a server does with an idempotency key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum Implementation {
    /// Ignores it
    Naive,
    /// Looks it up, files the report, registers the key: two commits, and nothing held in between
    KeySplit,
    /// Claims it, then commits the report together with "this key is done": the layer of the crate
    #[default]
    KeyAtomic,
}

impl Implementation {
    /// All of them, the worst first.
    pub const ALL: [Self; 3] = [Self::Naive, Self::KeySplit, Self::KeyAtomic];
}

/// As the article names it.
impl fmt::Display for Implementation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Naive => "naive",
            Self::KeySplit => "key_split",
            Self::KeyAtomic => "key_atomic",
        })
    }
}
