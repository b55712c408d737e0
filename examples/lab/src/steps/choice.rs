//! What is played.

use std::{error::Error, fmt};

use serde::Serialize;

use crate::{
    bug_tracker::Implementation,
    fault_matrix::{Row, Scene},
    harness::KeySource,
};

/// What goes wrong: the columns of the matrix, and one more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// The answer to a report that is committed.
    LostResponse,
    /// The server fails half-way.
    Crash,
    /// Two workers at once.
    Concurrent,
    /// The model calls the tool again.
    NewId,
    /// The same, under another title.
    NewTitle,
    /// The lease of a slow request lapses while it lives, and a repeat takes its key over.
    TakenOver,
}

/// Whether a write compares the fence of its claim. The layer of the crate always does; without is a server by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "a switch")]
pub enum Fencing {
    On,
    Off,
}

/// One play.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// A cell of the matrix.
    Cell {
        /// Its row.
        row: Row,
        /// Its column.
        scene: Scene,
    },
    /// A slow request that is taken over, on a server that claims keys.
    TakenOver {
        /// Where the harness takes keys from.
        key_source: KeySource,
        /// Whether the fence is compared.
        fencing: Fencing,
    },
}

/// A choice that there is no play for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidChoice {
    /// Only a claim has a lease that lapses.
    NothingToTakeOver(Implementation),
    /// In the other scenes nothing depends on it, and the layer of the crate cannot do without.
    NoFencingHere(Fault),
}

impl Fault {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::LostResponse, Self::Crash, Self::Concurrent, Self::NewId, Self::NewTitle, Self::TakenOver];

    fn scene(self) -> Option<Scene> {
        match self {
            Self::LostResponse => Some(Scene::LostResponse),
            Self::Crash => Some(Scene::Crash),
            Self::Concurrent => Some(Scene::Concurrent),
            Self::NewId => Some(Scene::NewId),
            Self::NewTitle => Some(Scene::NewTitle),
            Self::TakenOver => None,
        }
    }
}

impl Fencing {
    /// Both.
    pub const ALL: [Self; 2] = [Self::On, Self::Off];
}

impl Choice {
    /// A key source that the server refuses is a play: the refusal is what comes of it. Fencing is on unless it is said.
    pub fn new(
        fault: Fault,
        implementation: Implementation,
        key_source: KeySource,
        fencing: Option<Fencing>,
    ) -> Result<Self, InvalidChoice> {
        match (fault.scene(), fencing, implementation) {
            (Some(_), Some(_), _) => Err(InvalidChoice::NoFencingHere(fault)),
            (Some(scene), None, _) => Ok(Self::Cell { row: Row::new(implementation, key_source), scene }),
            (None, _, Implementation::Naive | Implementation::KeySplit) => {
                Err(InvalidChoice::NothingToTakeOver(implementation))
            }
            (None, fencing, Implementation::KeyAtomic) => {
                Ok(Self::TakenOver { key_source, fencing: fencing.unwrap_or(Fencing::On) })
            }
        }
    }

    /// Each cell of the matrix, row by row; then each slow request.
    pub fn all() -> Vec<Self> {
        let cells = Row::all().into_iter().flat_map(|row| Scene::ALL.map(|scene| Self::Cell { row, scene }));
        let slow = KeySource::ALL
            .into_iter()
            .flat_map(|key_source| Fencing::ALL.map(|fencing| Self::TakenOver { key_source, fencing }));
        cells.chain(slow).collect()
    }

    /// What goes wrong.
    pub const fn fault(self) -> Fault {
        match self {
            Self::Cell { scene: Scene::LostResponse, .. } => Fault::LostResponse,
            Self::Cell { scene: Scene::Crash, .. } => Fault::Crash,
            Self::Cell { scene: Scene::Concurrent, .. } => Fault::Concurrent,
            Self::Cell { scene: Scene::NewId, .. } => Fault::NewId,
            Self::Cell { scene: Scene::NewTitle, .. } => Fault::NewTitle,
            Self::TakenOver { .. } => Fault::TakenOver,
        }
    }

    /// The server and the source of keys.
    pub const fn row(self) -> Row {
        match self {
            Self::Cell { row, .. } => row,
            Self::TakenOver { key_source, .. } => Row::new(Implementation::KeyAtomic, key_source),
        }
    }

    /// Whether the fence is compared, where that is a question.
    pub const fn fencing(self) -> Option<Fencing> {
        match self {
            Self::Cell { .. } => None,
            Self::TakenOver { fencing, .. } => Some(fencing),
        }
    }

    /// How many reports there should be afterwards: as the article says, with a slow request too.
    pub fn expected(self) -> usize {
        match self {
            Self::Cell { row, scene } => {
                let of = |(each, expected)| (each == scene).then_some(expected);
                Scene::ALL.into_iter().zip(row.expected()).find_map(of).expect("each scene has its figure")
            }
            Self::TakenOver { key_source: KeySource::None, .. } => 0,
            // Two keys: neither request takes anything over, and no fence is passed.
            Self::TakenOver { key_source: KeySource::PerAttempt, .. } => 2,
            Self::TakenOver { key_source: KeySource::ToolCall | KeySource::Business, fencing } => match fencing {
                Fencing::On => 1,
                Fencing::Off => 2,
            },
        }
    }
}

impl fmt::Display for InvalidChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NothingToTakeOver(implementation) => {
                write!(
                    f,
                    "{implementation} claims no key, so there is nothing to take over: taken_over goes with key_atomic"
                )
            }
            Self::NoFencingHere(_) => f.write_str("fencing goes with the fault taken_over only"),
        }
    }
}

impl Error for InvalidChoice {}
