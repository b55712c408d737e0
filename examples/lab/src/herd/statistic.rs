//! How far two means are apart.

use super::size::Runs;

/// What the runs of a cell have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Their mean.
    pub mean: f64,
    /// The standard deviation of one run; 0 of a single one.
    pub deviation: f64,
    /// How many there are.
    pub runs: u32,
}

/// A mean that was published, of 100 runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// As it was printed, in whole numbers.
    pub printed: f64,
    /// The standard deviation of one run.
    pub deviation: f64,
}

/// The variance of what was lost when a mean was printed as a whole number: that of a uniform draw one wide.
const ROUNDING: f64 = 1.0 / 12.0;

/// From this many standard errors on a difference is none of chance: one comparison in 16,000 goes further.
pub const LIMIT: f64 = 4.0;

impl Sample {
    /// Of these runs; there is at least one.
    pub fn of(runs: &[f64]) -> Self {
        let count = runs.len() as f64;
        let mean = runs.iter().sum::<f64>() / count;
        let squares: f64 = runs.iter().map(|run| (run - mean).powi(2)).sum();
        let deviation = (squares / (count - 1.0).max(1.0)).sqrt();
        Self { mean, deviation, runs: runs.len() as u32 }
    }
}

impl Figure {
    /// The difference of a sample's mean from this one, in standard errors of that difference.
    ///
    /// Both means are of runs with the published deviation, if the model is the same; each is the surer the more runs it is
    /// of. The sample's own deviation has no part in it: of a few runs it is chance, and a mistake that widens it would hide
    /// itself.
    pub fn standard_errors(self, sample: Sample) -> f64 {
        let means = self.deviation.powi(2) * (1.0 / f64::from(sample.runs) + 1.0 / f64::from(Runs::PUBLISHED.get()));
        (sample.mean - self.printed) / (means + ROUNDING).sqrt()
    }
}
