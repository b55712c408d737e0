//! A table as pictures.

use super::{
    grid::Cell,
    row::Written,
    simulate::{Outcome, simulate},
    size::Clients,
    strategy::Strategy,
    table::{Measured, Table},
};
use crate::plot::{Arrivals, Axis, Chart, Layout, Panel, Picture, Row, Series};

impl Table {
    /// Calls and time against clients, and what arrived when.
    pub fn pictures(&self) -> Vec<Picture> {
        vec![
            Picture { name: "herd-calls-and-time", svg: self.chart().to_svg() },
            Picture { name: "herd-arrivals", svg: self.arrivals().to_svg() },
        ]
    }

    /// Means against clients, on logarithmic axes: they are far apart.
    fn chart(&self) -> Chart {
        let panel = |name: &str, of: fn(&Measured) -> f64| {
            let points = |strategy| {
                let cells = self.cells.iter().filter(|measured| measured.cell.strategy == strategy);
                cells.map(|measured| (f64::from(measured.cell.clients.get()), of(measured))).collect()
            };
            let series = |strategy: Strategy| Series { label: strategy.name().into(), points: points(strategy) };
            Panel {
                y: Axis::logarithmic(name),
                series: self.strategies().into_iter().map(series).collect(),
                reference: None,
            }
        };
        let clients: Vec<_> = self.clients().into_iter().map(|clients| f64::from(clients.get())).collect();
        Chart {
            title: "A herd that writes one row: calls, and time until all are done".into(),
            x: Axis::with_ticks("clients", clients),
            layout: Layout::SideBySide,
            panels: vec![
                panel("writes sent", |measured| measured.calls.ours.mean),
                panel("seconds until all are done", |measured| measured.ms.ours.mean / 1e3),
            ],
            bands: Vec::new(),
        }
    }

    /// The first run of each strategy with the most clients, on one axis of time.
    fn arrivals(&self) -> Arrivals {
        let clients = self.clients().into_iter().max().expect("at least one cell");
        let of = |strategy| simulate(&self.grid.herd(Cell { strategy, clients }, 0));
        let runs: Vec<_> = self.strategies().into_iter().map(|strategy| (strategy, of(strategy))).collect();
        Arrivals {
            title: format!("Writes that come to the row, one run with {clients} clients for each strategy"),
            time: "seconds".into(),
            until: end_of_most(&runs),
            height: clients.get().div_ceil(2),
            dark: "won".into(),
            light: "in vain".into(),
            rows: runs.iter().map(|(strategy, run)| row(*strategy, run)).collect(),
        }
    }

    fn strategies(&self) -> Vec<Strategy> {
        let all: Vec<_> = self.cells.iter().map(|measured| measured.cell.strategy).collect();
        Strategy::ALL.into_iter().filter(|strategy| all.contains(strategy)).collect()
    }

    fn clients(&self) -> Vec<Clients> {
        let mut all: Vec<_> = self.cells.iter().map(|measured| measured.cell.clients).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

fn row(strategy: Strategy, run: &Outcome) -> Row {
    let of = |end| run.arrivals.iter().filter(move |arrival| arrival.end == end).map(|arrival| arrival.at / 1e3);
    Row {
        label: strategy.name().into(),
        note: format!("{} writes, {:.1} s", run.calls(), run.elapsed / 1e3),
        dark: of(Written::Won).collect(),
        light: of(Written::Conflicted).collect(),
    }
}

/// In seconds, when all but the slowest are done, and a bit: with an axis of a minute those of seconds could not be read.
fn end_of_most(runs: &[(Strategy, Outcome)]) -> f64 {
    let mut ends: Vec<_> = runs.iter().map(|(_, run)| run.elapsed / 1e3).collect();
    ends.sort_unstable_by(f64::total_cmp);
    ends[ends.len().saturating_sub(2)] * 1.05
}
