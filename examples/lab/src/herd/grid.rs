//! Many runs of many cells, on so many threads.

use std::{
    collections::BTreeMap,
    num::NonZeroUsize,
    ops::ControlFlow,
    sync::{Mutex, PoisonError, mpsc},
    thread,
};

use serde::Serialize;

use super::{
    pace::Pace,
    seed::Seed,
    simulate::{Defect, Herd, Outcome, simulate},
    size::{Clients, Runs},
    strategy::Strategy,
};

/// A strategy and a number of clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Cell {
    /// How the clients wait.
    pub strategy: Strategy,
    /// How many there are.
    pub clients: Clients,
}

/// Cells to be played, each as often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Which.
    pub cells: Vec<Cell>,
    /// How often each.
    pub runs: Runs,
    /// How long the clients wait.
    pub pace: Pace,
    /// The same seed gives the same outcomes. Those of a cell do not depend on the other cells, nor on how many runs follow.
    pub seed: u64,
    /// A mistake in all of them.
    pub planted: Option<Defect>,
}

/// A run that has ended.
#[derive(Clone, Copy, Debug)]
pub struct Finished<'a> {
    /// Its cell.
    pub cell: Cell,
    /// Its number in the cell, from 0.
    pub run: u32,
    /// What came of it.
    pub outcome: &'a Outcome,
}

impl Grid {
    /// Each strategy with each number of clients.
    pub fn cells(strategies: &[Strategy], clients: &[Clients]) -> Vec<Cell> {
        let of = |&strategy| clients.iter().map(move |&clients| Cell { strategy, clients });
        strategies.iter().flat_map(of).collect()
    }

    /// How many runs there are in all.
    pub fn total(&self) -> usize {
        self.cells.len() * self.runs.get() as usize
    }

    /// One of its runs, to be played alone.
    pub fn herd(&self, cell: Cell, run: u32) -> Herd {
        let Cell { strategy, clients } = cell;
        let numbers = [strategy as u64, clients.get().into(), run.into()];
        let Seed(seed) = numbers.into_iter().fold(Seed(self.seed), Seed::child);
        Herd { strategy, clients, pace: self.pace, seed, planted: self.planted }
    }

    /// Plays all of them, and tells `each` of one run after the other: cell by cell, in the same order however many threads
    /// there are. When it breaks off, the runs under way are the last ones.
    ///
    /// It blocks: from an async task call it in `spawn_blocking`.
    pub fn play<B>(
        &self,
        threads: NonZeroUsize,
        mut each: impl FnMut(Finished<'_>) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let (runs, total) = (self.runs.get() as usize, self.total());
        let place = |number: usize| (self.cells[number / runs], (number % runs) as u32);
        let numbers = Mutex::new(0..total);
        thread::scope(|scope| {
            let (sender, played) = mpsc::sync_channel(threads.get());
            for _ in 0..threads.get().min(total) {
                let (sender, numbers) = (sender.clone(), &numbers);
                scope.spawn(move || {
                    let next = || numbers.lock().unwrap_or_else(PoisonError::into_inner).next();
                    while let Some(number) = next() {
                        let (cell, run) = place(number);
                        // Nobody receives it once `each` broke off.
                        if sender.send((number, simulate(&self.herd(cell, run)))).is_err() {
                            break;
                        }
                    }
                });
            }
            drop(sender);
            let (mut told, mut early) = (0, BTreeMap::new());
            for (number, outcome) in played {
                early.insert(number, outcome);
                while let Some(outcome) = early.remove(&told) {
                    let (cell, run) = place(told);
                    each(Finished { cell, run, outcome: &outcome })?;
                    told += 1;
                }
            }
            ControlFlow::Continue(())
        })
    }
}
