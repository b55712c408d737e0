//! What is printed: what was run, what came of it, and the article's table.

use std::fmt;

use super::{
    curl::TIMED_OUT,
    trial::{Figures, LIMIT, Observed, Trial},
};

impl fmt::Display for Observed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.undelivered > 0 {
            writeln!(f, "  requests that timed out before the server took them up, not counted: {}", self.undelivered)?;
        }
        writeln!(f, "$ {}", self.first)?;
        writeln!(f, "  exit {TIMED_OUT}: no answer within {} ms", LIMIT.as_millis())?;
        writeln!(f, "  in the database: {}", jobs(self.figures.after_timeout))?;
        writeln!(f, "$ {}", self.retry)?;
        let mark = self.answer.replayed().map_or_else(String::new, |mark| format!(", Idempotency-Replayed: {mark}"));
        writeln!(f, "  {}{mark}, {}", self.answer.status, self.answer.body)?;
        write!(f, "  in the database: {}", jobs(self.figures.after_retry))
    }
}

fn jobs(count: u64) -> String {
    if count == 1 { "1 job".into() } else { format!("{count} jobs") }
}

/// The rows that were seen.
#[derive(Clone, Debug, Default)]
pub struct Table(Vec<(Trial, Figures)>);

/// How the table compares with the article's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Each figure is the article's.
    AsInTheArticle,
    /// At least one is another.
    NotAsInTheArticle,
}

impl Table {
    /// Adds a row.
    pub fn add(&mut self, trial: Trial, seen: Figures) {
        self.0.push((trial, seen));
    }

    /// Compares each figure.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        if self.0.iter().all(|(trial, seen)| *seen == trial.expected) {
            Verdict::AsInTheArticle
        } else {
            Verdict::NotAsInTheArticle
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "            jobs after the timeout  jobs after the retry  id returned")?;
        for (trial, seen) in &self.0 {
            line(f, trial.name, seen)?;
            if *seen != trial.expected {
                line(f, "  expected", &trial.expected)?;
            }
        }
        f.write_str(match self.verdict() {
            Verdict::AsInTheArticle => "as in the article",
            Verdict::NotAsInTheArticle => "not as in the article",
        })
    }
}

fn line(f: &mut fmt::Formatter<'_>, name: &str, figures: &Figures) -> fmt::Result {
    let Figures { after_timeout, after_retry, id } = figures;
    let id = id.map_or_else(|| "none".into(), |id| id.to_string());
    writeln!(f, "{name:<10}  {after_timeout:>22}  {after_retry:>20}  {id:>11}")
}
