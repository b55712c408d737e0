//! The table for a terminal.

use std::fmt;

use humantime::format_duration;

use super::{
    pace::Pace,
    statistic::LIMIT,
    table::{Compared, Difference, Measured, Table, Verdict},
};

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (grid, pace) = (&self.grid, self.grid.pace);
        let (base, cap) = (format_duration(pace.base()), format_duration(pace.cap()));
        writeln!(
            f,
            "Clients that write one row, all at once: the writes sent (calls), the time until all are done (ms)."
        )?;
        writeln!(f, "Means of {} runs; base {base}, cap {cap}, seed {}.", grid.runs, grid.seed)?;
        writeln!(f, "Beside each: the article's, and the difference in standard errors.\n")?;
        let (strategy, clients) = ("strategy", "clients");
        writeln!(
            f,
            "{strategy:<12}  {clients:>7}   {:>9} {:>9}          {:>9} {:>9}",
            "calls", "article", "ms", "article"
        )?;
        for Measured { cell, calls, ms } in &self.cells {
            write!(f, "{:<12}  {:>7}   ", cell.strategy, cell.clients)?;
            calls.write(f, 1)?;
            write!(f, "  ")?;
            ms.write(f, 0)?;
            writeln!(f)?;
        }
        if pace != Pace::PUBLISHED {
            let (base, cap) = (format_duration(Pace::PUBLISHED.base()), format_duration(Pace::PUBLISHED.cap()));
            write!(f, "\nnot compared: the article's base is {base}, its cap {cap}")?;
            return Ok(());
        }
        match self.verdict() {
            Verdict::AsInTheArticle => write!(f, "\nas in the article, within {LIMIT} standard errors"),
            Verdict::NotCompared => write!(f, "\nnot compared: the article has none of these cells"),
            Verdict::NotAsInTheArticle => {
                f.write_str("\nNOT as in the article:")?;
                self.differences().iter().try_for_each(|difference| write!(f, "\n  {difference}"))
            }
        }
    }
}

impl Compared {
    fn write(&self, f: &mut fmt::Formatter<'_>, decimals: usize) -> fmt::Result {
        write!(f, "{:>9.decimals$}", self.ours.mean)?;
        match self.published.zip(self.standard_errors()) {
            Some((published, errors)) => write!(f, " {:>9} {:>8}", published.printed, format!("({errors:+.1})")),
            None => write!(f, " {:>9} {:>8}", "-", "-"),
        }
    }
}

/// `full, 50 clients: 340.1 calls, published 333, off by +9.9 standard errors`
impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cell, figure, mean, published, standard_errors } = self;
        write!(f, "{}, {} clients: {mean:.1} {figure}, ", cell.strategy, cell.clients)?;
        write!(f, "published {published}, off by {standard_errors:+.1} standard errors")
    }
}
