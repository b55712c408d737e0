//! A server and a source of keys, and what the article says of them.

use std::fmt;

use clap::ValueEnum;
use serde::Serialize;

use crate::{bug_tracker::Implementation, harness::KeySource};

/// A row of the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// What the server does with keys.
    pub implementation: Implementation,
    /// Where the harness takes them from.
    pub key_source: KeySource,
}

impl Row {
    /// The five rows that the article prints.
    pub const PUBLISHED: [Self; 5] = [
        Self::new(Implementation::Naive, KeySource::None),
        Self::new(Implementation::KeyAtomic, KeySource::PerAttempt),
        Self::new(Implementation::KeySplit, KeySource::ToolCall),
        Self::new(Implementation::KeyAtomic, KeySource::ToolCall),
        Self::new(Implementation::KeyAtomic, KeySource::Business),
    ];

    /// One row.
    pub const fn new(implementation: Implementation, key_source: KeySource) -> Self {
        Self { implementation, key_source }
    }

    /// Each server with each source of keys.
    pub fn all() -> Vec<Self> {
        let of = |server| KeySource::ALL.map(|source| Self::new(server, source));
        Implementation::ALL.into_iter().flat_map(of).collect()
    }

    /// How many reports each [`Scene`](super::Scene) leaves, in their order. The five rows of the article are as it prints
    /// them, the others as its text says;
    /// a server that knows keys takes no report without one.
    pub const fn expected(self) -> [usize; 5] {
        match (self.implementation, self.key_source) {
            (Implementation::Naive, _) => [2, 2, 2, 2, 2],
            (Implementation::KeySplit | Implementation::KeyAtomic, KeySource::None) => [0, 0, 0, 0, 0],
            (Implementation::KeySplit, KeySource::PerAttempt) => [2, 2, 2, 2, 2],
            (Implementation::KeySplit, KeySource::ToolCall) => [1, 2, 2, 2, 2],
            (Implementation::KeySplit, KeySource::Business) => [1, 2, 2, 1, 2],
            (Implementation::KeyAtomic, KeySource::PerAttempt) => [2, 1, 2, 2, 2],
            (Implementation::KeyAtomic, KeySource::ToolCall) => [1, 1, 1, 2, 2],
            (Implementation::KeyAtomic, KeySource::Business) => [1, 1, 1, 1, 2],
        }
    }
}

/// `key_atomic / tool_call`
impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{} / {}", self.implementation, self.key_source))
    }
}

/// A mistake to plant, so that the matrix is seen to find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum Defect {
    /// The server ignores keys
    KeyIgnored,
    /// key_atomic commits the report, and then the key
    TwoCommits,
    /// The harness makes a new key for each attempt of a tool call
    KeyPerAttempt,
    /// The business key is the one of the tool call
    KeyOfTheCall,
}

impl Defect {
    /// What runs in place of this row.
    #[must_use]
    pub fn planted(self, row: Row) -> Row {
        match (self, row.implementation, row.key_source) {
            (Self::KeyIgnored, _, _) => Row { implementation: Implementation::Naive, ..row },
            (Self::TwoCommits, Implementation::KeyAtomic, _) => Row { implementation: Implementation::KeySplit, ..row },
            (Self::KeyPerAttempt, _, KeySource::ToolCall) => Row { key_source: KeySource::PerAttempt, ..row },
            (Self::KeyOfTheCall, _, KeySource::Business) => Row { key_source: KeySource::ToolCall, ..row },
            (Self::TwoCommits | Self::KeyPerAttempt | Self::KeyOfTheCall, _, _) => row,
        }
    }
}
