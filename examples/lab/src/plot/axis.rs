//! What an axis spans, and where its ticks are.

use std::ops::Range;

/// An axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// What it shows, with its unit.
    pub name: String,
    /// How values are laid out.
    pub scale: Scale,
}

/// How values are laid out on an axis.
#[derive(Clone, Debug, PartialEq)]
pub enum Scale {
    /// From 0 on, with ticks at round values.
    Linear,
    /// By their logarithm; with ticks at 1, 2 and 5 times the powers of ten.
    Logarithmic,
    /// As [`Linear`](Self::Linear), with ticks at these values.
    At(Vec<f64>),
}

/// An axis that is laid out for some values.
pub(super) struct Span {
    /// Positions of its ends.
    pub(super) range: Range<f64>,
    /// Each tick's position and text.
    pub(super) ticks: Vec<(f64, String)>,
}

impl Axis {
    /// Linear.
    pub fn linear(name: impl Into<String>) -> Self {
        Self { name: name.into(), scale: Scale::Linear }
    }

    /// Logarithmic.
    pub fn logarithmic(name: impl Into<String>) -> Self {
        Self { name: name.into(), scale: Scale::Logarithmic }
    }

    /// Linear, with ticks at these values.
    pub fn with_ticks(name: impl Into<String>, ticks: impl Into<Vec<f64>>) -> Self {
        Self { name: name.into(), scale: Scale::At(ticks.into()) }
    }

    /// Where a value stands on it; `None` for one that cannot be drawn.
    pub(super) fn position(&self, value: f64) -> Option<f64> {
        match self.scale {
            _ if !value.is_finite() => None,
            Scale::Logarithmic => (value > 0.0).then(|| value.log10()),
            Scale::Linear | Scale::At(_) => Some(value),
        }
    }

    /// From what is drawn on it.
    pub(super) fn span(&self, values: impl Iterator<Item = f64>, most_ticks: usize) -> Span {
        let drawn = values.filter(|&value| self.position(value).is_some());
        let (low, high) = drawn.fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(value), high.max(value)));
        let (low, high) = if low > high { (1.0, 1.0) } else { (low, high) };
        match &self.scale {
            Scale::Linear => linear(low.min(0.0), high.max(0.0), most_ticks),
            Scale::Logarithmic => logarithmic(low, high, most_ticks),
            Scale::At(ticks) => {
                let ticks: Vec<_> = ticks.iter().copied().filter(|tick| tick.is_finite()).collect();
                let ends = || ticks.iter().copied().chain([0.0, low, high]);
                let (low, high) = (ends().fold(f64::MAX, f64::min), ends().fold(f64::MIN, f64::max));
                let beyond = (high / 2.0 - low / 2.0).max(f64::MIN_POSITIVE) * 0.1;
                Span::new(low, high + beyond, ticks.into_iter().map(|tick| (tick, text(tick))).collect())
            }
        }
    }
}

impl Span {
    /// Within what can be calculated with.
    fn new(low: f64, high: f64, ticks: Vec<(f64, String)>) -> Self {
        Self { range: low.max(f64::MIN / 4.0)..high.min(f64::MAX / 4.0), ticks }
    }

    /// How far along it a position is, from 0 to 1.
    pub(super) fn part(&self, position: f64) -> f64 {
        // Halves, since the whole width can be more than a number holds.
        let (from, to) = (self.range.start / 2.0, self.range.end / 2.0);
        ((position / 2.0 - from) / (to - from)).clamp(0.0, 1.0)
    }
}

fn linear(low: f64, high: f64, most_ticks: usize) -> Span {
    let wide = high / 2.0 - low / 2.0;
    let step = step(if wide > 0.0 { wide * 2.0 } else { 1.0 }.min(f64::MAX) / most_ticks as f64);
    // A little of an inexact division is no further step.
    let (first, last) = ((low / step + 1e-9).floor(), (high / step - 1e-9).ceil().max(1.0));
    let ticks = (0..=(last - first) as usize).map(|number| (first + number as f64) * step);
    let ticks = ticks.filter(|tick| tick.is_finite()).map(|tick| (tick, text(tick))).collect();
    Span::new(first * step, last * step, ticks)
}

fn logarithmic(low: f64, high: f64, most_ticks: usize) -> Span {
    let decades = low.log10().floor() as i32..=high.log10().ceil() as i32;
    let within = |tick: &f64| *tick >= low / 2.6 && *tick <= high * 2.6;
    let fine = || decades.clone().flat_map(|decade| [1.0, 2.0, 5.0].map(|part| part * 10_f64.powi(decade)));
    let coarse = |every| decades.clone().step_by(every).map(|decade| 10_f64.powi(decade));
    let mut ticks: Vec<_> = fine().filter(within).collect();
    let mut every = 1;
    while ticks.len() > most_ticks {
        ticks = coarse(every).filter(within).collect();
        every += 1;
    }
    ticks.retain(|&tick| tick.is_finite() && tick > 0.0);
    let below = ticks.iter().rev().find(|&&tick| tick <= low).copied().unwrap_or(low);
    let above = ticks.iter().find(|&&tick| tick >= high).copied().unwrap_or(high);
    ticks.retain(|tick| (below..=above).contains(tick));
    let range = below.log10()..above.log10().max(below.log10() + 0.1);
    Span { range, ticks: ticks.into_iter().map(|tick| (tick.log10(), text(tick))).collect() }
}

/// The next larger of 1, 2 and 5 times a power of ten.
fn step(least: f64) -> f64 {
    let power = 10_f64.powf(least.log10().floor()).max(f64::MIN_POSITIVE);
    [1.0, 2.0, 5.0].map(|part| part * power).into_iter().find(|step| *step >= least).unwrap_or(10.0 * power)
}

fn text(value: f64) -> String {
    // Inexact sums would show their last digits.
    let rounded = (value * 1e6).round() / 1e6;
    match value.abs() {
        1e7.. => format!("{value:.0e}"),
        size if size > 0.0 && size < 1e-4 => format!("{value:.0e}"),
        1e4.. => format!("{}\u{202f}{:03}", (rounded / 1000.0).trunc(), (rounded % 1000.0).abs().trunc()),
        _ => format!("{rounded}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticks(axis: &Axis, values: &[f64]) -> Vec<String> {
        axis.span(values.iter().copied(), 7).ticks.into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn linear_ticks_are_round_and_reach_beyond_the_data() {
        assert_eq!(ticks(&Axis::linear(""), &[3.0, 78.0]), ["0", "20", "40", "60", "80"]);
        assert_eq!(ticks(&Axis::linear(""), &[0.3]), ["0", "0.05", "0.1", "0.15", "0.2", "0.25", "0.3"]);
    }

    #[test]
    fn logarithmic_ticks_are_one_two_and_five_or_whole_decades() {
        assert_eq!(ticks(&Axis::logarithmic(""), &[38.0, 410.0]), ["20", "50", "100", "200", "500"]);
        assert_eq!(ticks(&Axis::logarithmic(""), &[0.9, 24_000.0]), ["1", "10", "100", "1000", "10\u{202f}000"]);
    }

    #[test]
    fn any_values_make_an_axis() {
        for values in
            [&[][..], &[0.0], &[-5.0], &[1e300], &[f64::MAX, f64::MIN], &[1e-300, 1e300], &[f64::MIN_POSITIVE]]
        {
            for axis in [Axis::linear(""), Axis::logarithmic(""), Axis::with_ticks("", [1.0, 2.0])] {
                let Span { range, ticks } = axis.span(values.iter().copied(), 7);
                assert!(range.start < range.end && range.start.is_finite() && range.end.is_finite(), "{range:?}");
                assert!(ticks.len() < 30, "{values:?}: {} ticks", ticks.len());
            }
        }
    }
}
