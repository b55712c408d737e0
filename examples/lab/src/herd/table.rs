//! Cells in means, and how they compare with the article's.

use std::{convert::Infallible, num::NonZeroUsize, ops::ControlFlow};

use super::{
    grid::{Cell, Finished, Grid},
    published::Published,
    statistic::{Figure, LIMIT, Sample},
};

/// A grid, measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// What was played.
    pub grid: Grid,
    /// One for each of its cells, in their order.
    pub cells: Vec<Measured>,
}

/// A cell, measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Which.
    pub cell: Cell,
    /// The writes that were sent.
    pub calls: Compared,
    /// The milliseconds until all clients were done.
    pub ms: Compared,
}

/// A mean of ours beside the article's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compared {
    /// Ours.
    pub ours: Sample,
    /// The article's, where it has one for these settings.
    pub published: Option<Figure>,
}

/// A figure that is off by more than [`LIMIT`] standard errors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// Its cell.
    pub cell: Cell,
    /// `calls` or `ms`.
    pub figure: &'static str,
    /// Our mean.
    pub mean: f64,
    /// The article's.
    pub published: f64,
    /// How far it is off.
    pub standard_errors: f64,
}

/// How a table compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Each figure that the article has is as it says, within the errors.
    AsInTheArticle,
    /// At least one is not, and the output says which.
    NotAsInTheArticle,
    /// The article has none of these cells.
    NotCompared,
}

impl Table {
    /// Plays the grid, and tells of each run as [`Grid::play`] does.
    pub fn measure<B>(
        grid: Grid,
        threads: NonZeroUsize,
        mut each: impl FnMut(Finished<'_>) -> ControlFlow<B>,
    ) -> ControlFlow<B, Self> {
        let mut runs = Vec::with_capacity(grid.total());
        grid.play(threads, |finished| {
            runs.push((finished.outcome.calls() as f64, finished.outcome.elapsed));
            each(finished)
        })?;
        let of_a_cell = runs.chunks(grid.runs.get() as usize);
        let cells = grid.cells.iter().zip(of_a_cell).map(|(cell, runs)| measured(&grid, *cell, runs)).collect();
        ControlFlow::Continue(Self { grid, cells })
    }

    /// Plays all of the grid.
    pub fn of(grid: Grid, threads: NonZeroUsize) -> Self {
        let ControlFlow::Continue(table) = Self::measure::<Infallible>(grid, threads, |_| ControlFlow::Continue(()));
        table
    }

    /// The figures that are not as the article says.
    pub fn differences(&self) -> Vec<Difference> {
        let of = |measured: &Measured| {
            let cell = measured.cell;
            [("calls", measured.calls), ("ms", measured.ms)].map(move |(name, figure)| figure.difference(cell, name))
        };
        self.cells.iter().flat_map(of).flatten().collect()
    }

    /// How it compares.
    pub fn verdict(&self) -> Verdict {
        match () {
            () if !self.differences().is_empty() => Verdict::NotAsInTheArticle,
            () if self.cells.iter().all(|cell| cell.calls.published.is_none()) => Verdict::NotCompared,
            () => Verdict::AsInTheArticle,
        }
    }
}

fn measured(grid: &Grid, cell: Cell, runs: &[(f64, f64)]) -> Measured {
    let published = Published::of(cell, grid.pace);
    let (calls, ms): (Vec<_>, Vec<_>) = runs.iter().copied().unzip();
    Measured {
        cell,
        calls: Compared { ours: Sample::of(&calls), published: published.map(|published| published.calls) },
        ms: Compared { ours: Sample::of(&ms), published: published.map(|published| published.ms) },
    }
}

impl Compared {
    /// How far ours is above the article's, in standard errors of the difference.
    pub fn standard_errors(&self) -> Option<f64> {
        self.published.map(|published| published.standard_errors(self.ours))
    }

    fn difference(&self, cell: Cell, figure: &'static str) -> Option<Difference> {
        let (published, standard_errors) = (self.published?.printed, self.standard_errors()?);
        let difference = Difference { cell, figure, mean: self.ours.mean, published, standard_errors };
        (standard_errors.abs() > LIMIT).then_some(difference)
    }
}
