//! The outage from a terminal.

use super::{
    report::Report,
    settings::{Settings, TooMany},
    sweep::Sweep,
};

/// Plays an outage, and shows whether the server comes back.
#[derive(Clone, Copy, Debug, clap::Parser)]
#[command(about = "An outage of seconds: with which retries the server comes back, and with which it never does.")]
pub struct Command {
    /// The server, its load and its clients
    #[command(flatten)]
    pub settings: Settings,

    /// Try loads from 20 to 90 % too
    #[arg(long)]
    pub sweep: bool,

    /// Print it as JSON, with each second
    #[arg(long)]
    pub json: bool,
}

impl Command {
    /// Plays it.
    ///
    /// # Errors
    ///
    /// If too many requests would come in.
    pub fn measure(&self) -> Result<Report, TooMany> {
        let mut report = Report::measure(&self.settings)?;
        if self.sweep {
            report.sweep = Some(Sweep::measure(&self.settings)?);
        }
        Ok(report)
    }

    /// What to print of it.
    pub fn text(&self, report: &Report) -> String {
        if self.json { report.to_json() } else { report.to_string() }
    }
}
