//! How long the ways over the network take.

use std::f64::consts::TAU;

/// Milliseconds, one way.
const MEAN: f64 = 10.0;
const DEVIATION: f64 = 2.0;

/// The network of one client.
#[derive(Clone, Debug)]
pub struct Network(fastrand::Rng);

/// The four ways of one attempt, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct Ways {
    /// The read, to the server.
    pub read: f64,
    /// The version, to the client.
    pub version: f64,
    /// The write, to the server.
    pub write: f64,
    /// Its answer.
    pub answer: f64,
}

impl Network {
    /// The same seed gives the same ways.
    pub fn new(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    /// Those of the next attempt.
    pub fn ways(&mut self) -> Ways {
        let [read, version] = self.pair();
        let [write, answer] = self.pair();
        Ways { read, version, write, answer }
    }

    fn pair(&mut self) -> [f64; 2] {
        normal(self.0.f64(), self.0.f64()).map(|draw| (MEAN + DEVIATION * draw).abs())
    }
}

/// Two draws of N(0, 1) from two of [0, 1), by Box and Muller.
fn normal(u: f64, v: f64) -> [f64; 2] {
    // 1 - u is never 0, which has no logarithm.
    let radius = (-2.0 * (1.0 - u).ln()).sqrt();
    let (sin, cos) = (TAU * v).sin_cos();
    [radius * cos, radius * sin]
}
