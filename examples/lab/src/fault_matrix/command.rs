//! The matrix from a terminal.

use tower::BoxError;

use super::{
    row::{Defect, Row},
    table::Table,
};

/// Measures the fault matrix of the article, and compares it with what the article says.
#[derive(Clone, Copy, Debug, clap::Parser)]
#[command(about = "How many reports each server leaves, for each source of keys and each fault.")]
pub struct Command {
    /// Each server with each source of keys, not only the five rows of the article
    #[arg(long)]
    pub all: bool,

    /// Print it as JSON, with each attempt
    #[arg(long)]
    pub json: bool,

    /// Plant a mistake, to see that it is found
    #[arg(long, value_enum)]
    pub plant: Option<Defect>,
}

/// How the matrix compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Each cell is as the article says.
    AsInTheArticle,
    /// At least one is not, and the output says which.
    NotAsInTheArticle,
}

impl Command {
    /// Measures, and returns what to print.
    pub async fn run(&self) -> Result<(String, Verdict), BoxError> {
        let rows = if self.all { Row::all() } else { Row::PUBLISHED.to_vec() };
        let table = Table::measure(&rows, self.plant).await?;
        let text = if self.json { format!("{:#}", table.to_json()) } else { table.to_string() };
        let verdict = if table.differences().is_empty() { Verdict::AsInTheArticle } else { Verdict::NotAsInTheArticle };
        Ok((text, verdict))
    }
}
