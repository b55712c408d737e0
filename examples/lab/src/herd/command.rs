//! The table from a terminal.

use std::{convert::Infallible, num::NonZeroUsize, ops::ControlFlow, thread};

use indicatif::{ProgressBar, ProgressStyle};

use super::{
    grid::Grid,
    list::List,
    pace::Pace,
    simulate::Defect,
    size::{Clients, Runs},
    strategy::Strategy,
    table::Table,
};

/// Simulates the herd of the article, and compares it with what the article says.
#[derive(Clone, Debug, clap::Args)]
pub struct Command {
    /// The same seed gives the same output
    #[arg(long, default_value_t = 1)]
    pub seed: u64,

    /// How many clients there are: from 1 to 1000, or a list
    #[arg(long, default_value = "10,50,100")]
    pub clients: List<Clients>,

    /// How often each cell is played: from 1 to 10000
    #[arg(long, default_value_t = Runs::PUBLISHED)]
    pub runs: Runs,

    /// How they wait: one or a list
    #[arg(long, default_value = "none,exponential,proportional,equal,full,decorrelated,downward")]
    pub strategy: List<Strategy>,

    /// How long they wait
    #[command(flatten)]
    pub pace: Pace,

    /// Print it as JSON
    #[arg(long)]
    pub json: bool,

    /// Plant a mistake, to see that it is found
    #[arg(long, value_enum)]
    pub plant: Option<Defect>,
}

impl Command {
    /// Measures on all cores. On a terminal a bar on stderr shows how far it is.
    pub fn measure(&self) -> Table {
        let grid = self.grid();
        let bar = bar(grid.total() as u64);
        let ControlFlow::Continue(table) = Table::measure::<Infallible>(grid, cores(), |_| {
            bar.inc(1);
            ControlFlow::Continue(())
        });
        bar.finish_and_clear();
        table
    }

    /// What to print of it.
    pub fn text(&self, table: &Table) -> String {
        if self.json { format!("{:#}", table.to_json()) } else { table.to_string() }
    }

    fn grid(&self) -> Grid {
        Grid {
            cells: Grid::cells(&self.strategy.0, &self.clients.0),
            runs: self.runs,
            pace: self.pace,
            seed: self.seed,
            planted: self.plant,
        }
    }
}

/// indicatif draws on stderr, and nothing where that is no terminal.
fn bar(total: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:40} {pos} of {len} runs").expect("a template");
    ProgressBar::new(total).with_style(style)
}

fn cores() -> NonZeroUsize {
    thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}
