//! The herd of the article: many clients write one row at once, those that fail wait and begin again, in seven ways.
//!
//! `cargo run --release --example herd_simulator`; `-- --help` for seed, clients, runs, strategies, base and cap, `-- --json` for
//! a program to read. It exits 1 when a cell is off by more than four standard errors from the article's, and says which.
//!
//! `-- overload` is a server in an outage: with which retries it comes back. It exits 1 when it does otherwise than its page
//! says. `--svg DIR` draws either.

use std::{
    io,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Parser, Subcommand};
use lab::{herd, overload, plot::Picture, terminal};

#[derive(Debug, Parser)]
#[command(about = "Many clients write one row at once; those that fail wait and begin again.")]
#[command(args_conflicts_with_subcommands = true)]
struct CommandLine {
    #[command(subcommand)]
    command: Option<Command>,

    #[command(flatten)]
    herd: herd::Command,

    /// Draw it too, into this folder
    #[arg(long, global = true, value_name = "DIR")]
    svg: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    Overload(overload::Command),
}

fn main() -> ExitCode {
    let CommandLine { command, herd, svg } = CommandLine::parse();
    let ended = match command {
        None => the_herd(&herd, svg.as_deref()),
        Some(Command::Overload(overload)) => an_outage(&overload, svg.as_deref()),
    };
    ended.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::FAILURE
    })
}

fn the_herd(command: &herd::Command, svg: Option<&Path>) -> io::Result<ExitCode> {
    let table = command.measure();
    terminal::print(&command.text(&table))?;
    draw(svg, || table.pictures())?;
    Ok(match table.verdict() {
        herd::Verdict::AsInTheArticle | herd::Verdict::NotCompared => ExitCode::SUCCESS,
        herd::Verdict::NotAsInTheArticle => ExitCode::FAILURE,
    })
}

fn an_outage(command: &overload::Command, svg: Option<&Path>) -> io::Result<ExitCode> {
    let report = command.measure().map_err(io::Error::other)?;
    terminal::print(&command.text(&report))?;
    draw(svg, || report.pictures())?;
    Ok(match report.verdict() {
        overload::Verdict::AsExpected | overload::Verdict::NotJudged => ExitCode::SUCCESS,
        overload::Verdict::NotAsExpected => ExitCode::FAILURE,
    })
}

/// Where they are goes to stderr, since stdout may be JSON.
fn draw(svg: Option<&Path>, pictures: impl FnOnce() -> Vec<Picture>) -> io::Result<()> {
    let Some(folder) = svg else { return Ok(()) };
    for picture in pictures() {
        let saved = picture.save(folder);
        let file = saved.map_err(|error| io::Error::other(format!("{}: {error}", folder.display())))?;
        eprintln!("drawn: {}", file.display());
    }
    Ok(())
}
