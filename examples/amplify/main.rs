//! How attempts multiply, counted at the bottom: five services over HTTP, a harness around an SDK, a layer that sees another
//! one, budgets, and a hint that changes nothing.
//!
//! `cargo run --example amplify`; `--json` for a program to read. Exits with 1 if a figure is not as it has to be.

use std::process::ExitCode;

use clap::Parser;
use lab::{
    amplify::{figures::measure, report::Verdict},
    causes::with_causes,
};

#[derive(Debug, Parser)]
#[command(about = "Counts how attempts multiply.")]
struct CommandLine {
    /// Print JSON
    #[arg(long)]
    json: bool,

    /// How many requests the budgets are measured with; without a budget each is 243 calls
    #[arg(long, default_value_t = 10)]
    requests: u32,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let CommandLine { json, requests } = CommandLine::parse();
    let report = match measure(requests).await {
        Ok(report) => report,
        Err(error) => {
            eprintln!("error: {}", with_causes(&*error));
            return ExitCode::FAILURE;
        }
    };
    if json {
        println!("{}", report.to_json());
    } else {
        println!("{report}");
    }
    match report.verdict() {
        Verdict::AsExpected => ExitCode::SUCCESS,
        Verdict::NotAsExpected => ExitCode::FAILURE,
    }
}
