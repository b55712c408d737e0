//! The runs as a picture.

use super::{
    outcome::{Mean, Outcome},
    policy::Policy,
    report::Report,
};
use crate::plot::{Axis, Band, Chart, Layout, Panel, Picture, Series};

/// Seconds that are drawn as one point: single ones differ by chance.
const STEP_S: u32 = 2;

impl Report {
    /// The picture of it.
    pub fn pictures(&self) -> Vec<Picture> {
        vec![Picture { name: "overload", svg: self.chart().to_svg() }]
    }

    /// Goodput and attempts over time, with the outage.
    ///
    /// Without [`Policy::Exponential`], whose line would be hidden by that of [`Policy::FullJitter`].
    pub fn chart(&self) -> Chart {
        let settings = &self.settings;
        let drawn = || self.runs.iter().filter(|run| run.policy != Policy::Exponential);
        let panel = |name: &str, of: fn(Mean) -> f64, reference: Option<(f64, String)>| Panel {
            y: Axis::linear(name),
            series: drawn()
                .map(|run| Series { label: run.policy.name().into(), points: self.points(&run.outcome, of) })
                .collect(),
            reference,
        };
        let capacity = (settings.capacity(), "what the server can do".into());
        Chart {
            title: format!("An outage of {} s under a load of {} %: who comes back", settings.outage_s, settings.load),
            x: Axis::linear("seconds"),
            layout: Layout::Stacked,
            panels: vec![
                panel("answers a second that reach a client in time", |mean| mean.goodput, None),
                panel("attempts a second that reach the server", |mean| mean.attempts, Some(capacity)),
            ],
            bands: vec![Band {
                from: settings.before_s.into(),
                to: settings.outage_end_s().into(),
                label: "outage".into(),
            }],
        }
    }

    fn points(&self, outcome: &Outcome, of: fn(Mean) -> f64) -> Vec<(f64, f64)> {
        let middle = |from: u32| f64::from(from) + f64::from(STEP_S) / 2.0;
        let starts = (0..self.settings.watched_s()).step_by(STEP_S as usize);
        starts.map(|from| (middle(from), of(outcome.mean(from..from + STEP_S)))).collect()
    }
}
