//! Plays a choice before a recorder.

use std::{path::Path, sync::Arc};

use serde::Serialize;
use tower::BoxError;

use super::{
    choice::{Choice, Fault, Fencing},
    order::Order,
    recorder::{Recorder, Step},
    rows::KeyTable,
    taken_over,
};
use crate::{
    bug_tracker::{Implementation, Server},
    fault_matrix::{
        Row, Scene,
        cell::{self, Struck},
    },
    harness::KeySource,
};

/// How many reports there should be of one bug.
pub const WANTED: usize = 1;

/// What came of a play.
#[derive(Clone, Debug, Serialize)]
pub struct Played {
    /// What was chosen, and the figures.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// All that happened, in its order.
    pub steps: Vec<Step>,
}

/// The figures of a play.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// What went wrong.
    pub fault: Fault,
    /// What the server does with keys.
    pub implementation: Implementation,
    /// Where the harness takes them from.
    pub key_source: KeySource,
    /// Whether the fence is compared, where that is a question.
    pub fencing: Option<Fencing>,
    /// How many reports there are.
    pub reports: usize,
    /// How many there should be of one bug.
    pub wanted: usize,
    /// How many the article expects of this choice.
    pub expected: usize,
    /// Whether the fault struck; not where the server refuses the request before.
    pub struck: bool,
}

/// Plays it in a temporary folder within this one, which is removed however this ends.
pub async fn play(choice: Choice, within: &Path) -> Result<Played, BoxError> {
    let folder = tempfile::Builder::new().prefix("steps-").tempdir_in(within)?;
    let db = folder.path().join("bug_tracker.db");
    match choice {
        Choice::Cell { row, scene } => {
            let server = Server::start(&cell::options(row, &db)).await?;
            let recorder = Arc::new(Recorder::open(&db, key_table(row), order(scene))?);
            let _over = Over(Arc::clone(&recorder));
            let cell = cell::play_on(server, row, scene, Some(recorder.clone())).await?;
            played(choice, cell.reports.len(), cell.struck, &recorder)
        }
        Choice::TakenOver { key_source, fencing } => {
            let (recorder, serving) = taken_over::serve(&db, fencing).await?;
            let _over = Over(Arc::clone(&recorder));
            let (reports, struck) = taken_over::act(&db, key_source, serving, &recorder).await?;
            played(choice, reports, struck, &recorder)
        }
    }
}

fn played(choice: Choice, reports: usize, struck: Struck, recorder: &Recorder) -> Result<Played, BoxError> {
    let Row { implementation, key_source } = choice.row();
    let outcome = Outcome {
        fault: choice.fault(),
        implementation,
        key_source,
        fencing: choice.fencing(),
        reports,
        wanted: WANTED,
        expected: choice.expected(),
        struck: struck == Struck::Yes,
    };
    Ok(Played { outcome, steps: recorder.steps()? })
}

fn key_table(row: Row) -> KeyTable {
    match row.implementation {
        Implementation::Naive => KeyTable::Nowhere,
        Implementation::KeySplit => KeyTable::Split,
        Implementation::KeyAtomic => KeyTable::Crate,
    }
}

fn order(scene: Scene) -> Order {
    match scene {
        Scene::Concurrent => Order::Overlapping,
        Scene::LostResponse | Scene::Crash | Scene::NewId | Scene::NewTitle => Order::OneByOne,
    }
}

/// A play that is dropped leaves nobody held.
struct Over(Arc<Recorder>);

impl Drop for Over {
    fn drop(&mut self) {
        self.0.let_all_go();
    }
}
