//! How many clients, and how often.

use std::{fmt, num::ParseIntError, str::FromStr};

use serde::Serialize;

/// How many clients a herd has: from 1 to 1,000.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Clients(u32);

/// How often a cell is played: from 1 to 10,000 times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Runs(u32);

impl Clients {
    /// The largest herd: without a wait its writes grow by the square, to a quarter of a million.
    pub const MOST: Self = Self(1000);

    /// So many.
    pub fn new(clients: u32) -> Result<Self, String> {
        within(clients, Self::MOST.0).map(Self)
    }

    /// How many.
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl Runs {
    /// As often as it makes sense: the errors are then a tenth of the article's.
    pub const MOST: Self = Self(10_000);

    /// As in the article: 100.
    pub const PUBLISHED: Self = Self(100);

    /// So many.
    pub fn new(runs: u32) -> Result<Self, String> {
        within(runs, Self::MOST.0).map(Self)
    }

    /// How many.
    pub const fn get(self) -> u32 {
        self.0
    }
}

fn within(number: u32, most: u32) -> Result<u32, String> {
    if (1..=most).contains(&number) { Ok(number) } else { Err(format!("{number} is not from 1 to {most}")) }
}

fn parsed(text: &str) -> Result<u32, String> {
    text.parse().map_err(|why: ParseIntError| format!("{text:?} is not a number to use here: {why}"))
}

impl FromStr for Clients {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        parsed(text).and_then(Self::new)
    }
}

impl FromStr for Runs {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        parsed(text).and_then(Self::new)
    }
}

impl fmt::Display for Clients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Runs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
