//! The policies compared.

use std::fmt;

use serde::Serialize;
use serde_json::json;

use super::{
    outcome::{Outcome, Recovery},
    policy::Policy,
    settings::{Abandoned, Settings, TooMany},
    simulate::side_by_side,
    sweep::Sweep,
};

/// One run for each policy, and a sweep if one was asked for.
#[derive(Clone, Debug)]
pub struct Report {
    /// Of all of them.
    pub settings: Settings,
    /// One for each policy, in their order.
    pub runs: Vec<Run>,
    /// If it was asked for.
    pub sweep: Option<Sweep>,
}

/// A policy and what it led to.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    /// What the clients did.
    pub policy: Policy,
    /// What it led to.
    pub outcome: Outcome,
}

/// How the runs compare with what they are to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It recovers without retries and with a budget, and stays down without one.
    AsExpected,
    /// Not so, and the output says with which policy.
    NotAsExpected,
    /// Nothing is expected of these settings: any but the seed differs from the default.
    NotJudged,
}

impl Report {
    /// Plays each policy.
    ///
    /// # Errors
    ///
    /// If too many requests would come in.
    pub fn measure(settings: &Settings) -> Result<Self, TooMany> {
        settings.check()?;
        let outcomes = side_by_side(&Policy::ALL.map(|policy| (*settings, policy)));
        let runs = Policy::ALL.into_iter().zip(outcomes).map(|(policy, outcome)| Run { policy, outcome }).collect();
        Ok(Self { settings: *settings, runs, sweep: None })
    }

    /// Compares each run with what is expected of it.
    pub fn verdict(&self) -> Verdict {
        let judged = Settings { seed: Settings::DEFAULT.seed, ..self.settings } == Settings::DEFAULT;
        match (judged, self.runs.iter().all(Run::is_as_expected)) {
            (false, _) => Verdict::NotJudged,
            (true, true) => Verdict::AsExpected,
            (true, false) => Verdict::NotAsExpected,
        }
    }

    /// All of it for machines, each second too.
    pub fn to_json(&self) -> String {
        let Self { settings, runs, sweep } = self;
        format!("{:#}", json!({ "settings": settings, "runs": runs, "sweep": sweep, "verdict": self.verdict() }))
    }

    /// Stretches before, during and after the outage: ten seconds each, the first of them right before it.
    fn stretches(&self) -> impl Iterator<Item = u32> {
        const STRETCH_S: u32 = Recovery::STRETCH_S as u32;
        let first = self.settings.before_s.saturating_sub(STRETCH_S);
        (first..=self.settings.watched_s() - STRETCH_S).step_by(STRETCH_S as usize)
    }
}

impl Run {
    fn is_as_expected(&self) -> bool {
        let recovered = matches!(self.outcome.recovery, Recovery::AfterSeconds(_));
        recovered == matches!(self.policy, Policy::NoRetry | Policy::Budgeted)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.settings(f)?;
        self.summary(f)?;
        self.course(f)?;
        if let Some(sweep) = &self.sweep {
            writeln!(f, "{sweep}\n")?;
        }
        match self.verdict() {
            Verdict::AsExpected => f.write_str("as expected: down for good without a budget, and only then"),
            Verdict::NotAsExpected => f.write_str("not as expected"),
            Verdict::NotJudged => f.write_str("not the default settings: nothing is expected"),
        }
    }
}

impl Report {
    fn settings(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Settings { workers, service_ms, queue, abandoned, errors, load, timeout_ms, attempts, clients, .. } =
            self.settings;
        let Settings { seed, before_s, .. } = self.settings;
        let abandoned = match abandoned {
            Abandoned::Served => "are served all the same",
            Abandoned::Dropped => "are dropped when their turn comes",
        };
        let (capacity, arrivals) = (self.settings.capacity(), self.settings.arrivals_per_second());
        writeln!(
            f,
            "server   {workers} workers, {service_ms} ms a request: {capacity:.1} a second; {queue} may wait,"
        )?;
        writeln!(f, "         those whose client has left {abandoned}; {errors} % end in an error")?;
        writeln!(f, "load     {arrivals:.1} requests a second ({load} %), from {clients} client(s), seed {seed}")?;
        writeln!(f, "retries  {attempts} attempts of {timeout_ms} ms each, 100 ms backoff doubled each time")?;
        writeln!(f, "outage   nothing is served from second {before_s} to {}", self.settings.outage_end_s())?;
        writeln!(f, "healthy  once every {} s from then on have", Recovery::STRETCH_S)?;
        writeln!(f, "         {} % of what came in answered\n", Recovery::SHARE_PERCENT)
    }

    fn summary(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Settings { before_s, .. } = self.settings;
        let end = self.settings.watched_s();
        let last = end - Recovery::STRETCH_S as u32..end;
        writeln!(f, "{:<24}{:<18}{:>8}{:>21}", "", "", "failed", "in the last 10 s")?;
        writeln!(
            f,
            "{:<24}{:<18}{:>8}{:>10}{:>11}{:>8}",
            "", "healthy again", "before", "answers/s", "attempts/s", "queue"
        )?;
        for run in &self.runs {
            let Run { policy, outcome } = run;
            let (failed, mean) = (outcome.failed_percent(0..before_s), outcome.mean(last.clone()));
            write!(f, "{:<24}{:<18}{failed:>6.2} %", policy.name(), outcome.recovery.to_string())?;
            write!(f, "{:>10.1}{:>11.1}{:>8.0}", mean.goodput, mean.attempts, mean.queue)?;
            let differs = self.verdict() == Verdict::NotAsExpected && !run.is_as_expected();
            writeln!(f, "{}", if differs { "  <- differs" } else { "" })?;
        }
        writeln!(f)
    }

    fn course(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "answers a second that reached a client in time, over 10 s from second ...")?;
        write!(f, "{:<24}", "")?;
        for from in self.stretches() {
            write!(f, "{from:>5}")?;
        }
        for Run { policy, outcome } in &self.runs {
            write!(f, "\n{:<24}", policy.name())?;
            for from in self.stretches() {
                write!(f, "{:>5.0}", outcome.mean(from..from + Recovery::STRETCH_S as u32).goodput)?;
            }
        }
        writeln!(f, "\n")
    }
}

impl fmt::Display for Recovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AfterSeconds(seconds) => write!(f, "after {seconds} s"),
            Self::NotWithinSeconds(seconds) => write!(f, "not in {seconds} s"),
        }
    }
}
