//! The herd of the article: many clients write one row at once, those that fail wait and begin again, in seven ways.
//!
//! `cargo run --release --example herd_simulator`; `-- --help` for seed, clients, runs, strategies, base and cap, `-- --json` for
//! a program to read. It exits 1 when a cell is off by more than four standard errors from the article's, and says which.

use std::process::ExitCode;

use clap::Parser;
use lab::{
    herd::{Command, Verdict},
    terminal,
};

#[derive(Debug, Parser)]
#[command(about = "Many clients write one row at once; those that fail wait and begin again.")]
struct CommandLine {
    #[command(flatten)]
    herd: Command,
}

fn main() -> ExitCode {
    let (text, verdict) = CommandLine::parse().herd.run();
    if let Err(error) = terminal::print(&text) {
        eprintln!("error: {error}");
        return ExitCode::FAILURE;
    }
    match verdict {
        Verdict::AsInTheArticle | Verdict::NotCompared => ExitCode::SUCCESS,
        Verdict::NotAsInTheArticle => ExitCode::FAILURE,
    }
}
