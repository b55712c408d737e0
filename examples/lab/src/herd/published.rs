//! What the article says of each cell: 100 runs, 5 ms, 2 s.
//!
//! It prints the means. The deviations of one run are those of a straight port of its simulator, 100 runs too.

use super::{grid::Cell, pace::Pace, statistic::Figure, strategy::Strategy};

/// What is known of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Published {
    /// The writes that were sent.
    pub calls: Figure,
    /// The milliseconds until all clients were done.
    pub ms: Figure,
}

impl Published {
    /// Of this cell, if the article has it.
    pub fn of(cell: Cell, pace: Pace) -> Option<Self> {
        if pace != Pace::PUBLISHED {
            return None;
        }
        let [ten, fifty, hundred] = row(cell.strategy)?;
        match cell.clients.get() {
            10 => Some(ten),
            50 => Some(fifty),
            100 => Some(hundred),
            _ => None,
        }
    }
}

/// Of 10, 50 and 100 clients.
const fn row(strategy: Strategy) -> Option<[Published; 3]> {
    Some(match strategy {
        Strategy::None => [
            cell((50.0, 4.6), (377.0, 37.0)),
            cell((690.0, 16.9), (1140.0, 46.0)),
            cell((2427.0, 29.9), (2031.0, 47.0)),
        ],
        Strategy::Exponential => [
            cell((51.0, 3.8), (3534.0, 1229.0)),
            cell((624.0, 30.1), (36583.0, 3209.0)),
            cell((1847.0, 67.8), (63188.0, 3741.0)),
        ],
        Strategy::Proportional => [
            cell((46.0, 3.2), (1292.0, 473.0)),
            cell((390.0, 7.8), (8122.0, 940.0)),
            cell((927.0, 9.2), (12762.0, 1005.0)),
        ],
        Strategy::Equal => [
            cell((43.0, 2.6), (721.0, 158.0)),
            cell((346.0, 6.6), (4191.0, 695.0)),
            cell((812.0, 7.9), (6620.0, 668.0)),
        ],
        Strategy::Full => [
            cell((39.0, 2.2), (478.0, 120.0)),
            cell((333.0, 4.7), (2884.0, 491.0)),
            cell((796.0, 6.7), (4956.0, 508.0)),
        ],
        Strategy::Decorrelated => [
            cell((38.0, 2.2), (446.0, 78.0)),
            cell((374.0, 11.6), (2197.0, 429.0)),
            cell((1005.0, 29.2), (4488.0, 748.0)),
        ],
        Strategy::Downward => return None,
    })
}

/// The mean as printed and the deviation, of the calls and of the milliseconds.
const fn cell(calls: (f64, f64), ms: (f64, f64)) -> Published {
    Published { calls: Figure { printed: calls.0, deviation: calls.1 }, ms: Figure { printed: ms.0, deviation: ms.1 } }
}
