//! From which load on retries keep the server down.

use std::fmt;

use serde::Serialize;

use super::{
    outcome::Recovery,
    policy::Policy,
    settings::{Settings, TooMany},
    simulate::side_by_side,
};

/// The same outage under one load after the other.
#[derive(Clone, Debug, Serialize)]
pub struct Sweep {
    /// From the lowest load to the highest.
    pub rows: Vec<SweepRow>,
}

/// One load.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SweepRow {
    /// In percent of the capacity.
    pub load: u32,
    /// Each policy, and when the server was healthy again with it.
    pub recoveries: [(Policy, Recovery); 3],
}

impl Sweep {
    /// In percent of the capacity.
    pub const LOADS: [u32; 8] = [20, 30, 40, 50, 60, 70, 80, 90];

    const POLICIES: [Policy; 3] = [Policy::NoRetry, Policy::FullJitter, Policy::Budgeted];

    /// Plays [all loads](Self::LOADS) with these settings.
    ///
    /// # Errors
    ///
    /// If the highest load would bring in too many requests.
    pub fn measure(settings: &Settings) -> Result<Self, TooMany> {
        let at = |load| Settings { load, ..*settings };
        at(Self::LOADS[Self::LOADS.len() - 1]).check()?;
        let runs: Vec<_> =
            Self::LOADS.into_iter().flat_map(|load| Self::POLICIES.map(|policy| (at(load), policy))).collect();
        let outcomes = side_by_side(&runs);
        let mut recoveries = outcomes.iter().map(|outcome| outcome.recovery);
        let row = |load| SweepRow {
            load,
            recoveries: Self::POLICIES.map(|policy| (policy, recoveries.next().expect("one a run"))),
        };
        Ok(Self { rows: Self::LOADS.map(row).to_vec() })
    }
}

impl fmt::Display for Sweep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "healthy again, by load\n  {:<6}", "load")?;
        for policy in Self::POLICIES {
            write!(f, "{:>24}", policy.name())?;
        }
        for SweepRow { load, recoveries } in &self.rows {
            write!(f, "\n  {:<6}", format!("{load} %"))?;
            for (_, recovery) in recoveries {
                write!(f, "{:>24}", recovery.to_string())?;
            }
        }
        Ok(())
    }
}
