//! The herd simulator: its model, its statistic, and the article's figures.
//!
//! `cargo build --examples && cargo test --test herd`; a plain `cargo test` builds the examples by itself.

mod command;
mod defects;
mod model;
mod network;
mod published;
mod refused;
mod seeds;
mod statistic;
mod waits;

use std::{num::NonZeroUsize, time::Duration};

use lab::herd::{Clients, Grid, Herd, Pace, Runs, Strategy};

fn clients(number: u32) -> Clients {
    Clients::new(number).unwrap()
}

fn pace(base: Duration, cap: Duration) -> Pace {
    Pace::new(base, cap).unwrap()
}

/// One run with the article's base and cap.
fn herd(strategy: Strategy, number: u32, seed: u64) -> Herd {
    Herd { strategy, clients: clients(number), pace: Pace::PUBLISHED, seed, planted: None }
}

/// So many runs of each strategy with each number of clients, with the article's base and cap.
fn grid(strategies: &[Strategy], numbers: &[u32], runs: u32, seed: u64) -> Grid {
    let numbers: Vec<_> = numbers.iter().copied().map(clients).collect();
    let cells = Grid::cells(strategies, &numbers);
    Grid { cells, runs: Runs::new(runs).unwrap(), pace: Pace::PUBLISHED, seed, planted: None }
}

fn threads(number: usize) -> NonZeroUsize {
    NonZeroUsize::new(number).unwrap()
}
