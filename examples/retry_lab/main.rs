//! What a retry does after a timeout, without a key and with the same key: a real curl against a server that commits
//! and then delays its answer.
//!
//! `cargo run --example retry_lab`; needs curl.

use std::{error::Error, process::ExitCode};

use clap::Parser;
use lab::retry_lab::{
    curl,
    report::{Table, Verdict},
    trial::{DELAY, Failure, LIMIT, PLAIN_POST, SAME_KEY},
};

/// Shows what a retry does after a timeout, without a key and with the same key.
#[derive(Debug, Parser)]
struct CommandLine;

#[tokio::main]
async fn main() -> ExitCode {
    let CommandLine = CommandLine::parse();
    match run().await {
        Ok(Verdict::AsInTheArticle) => ExitCode::SUCCESS,
        Ok(Verdict::NotAsInTheArticle) => ExitCode::FAILURE,
        Err(failure) => {
            let cause = failure.source().map_or_else(String::new, |cause| format!(": {cause}"));
            eprintln!("error: {failure}{cause}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<Verdict, Failure> {
    println!("{}", curl::version().map_err(Failure::NoCurl)?);
    let [delay, limit] = [DELAY, LIMIT].map(|time| time.as_millis());
    println!(
        "the server commits a job, then answers {delay} ms later; the client waits {limit} ms, then sends it again"
    );
    let mut table = Table::default();
    for trial in [PLAIN_POST, SAME_KEY] {
        let observed = trial.run().await?;
        println!("\n{}:\n{observed}", trial.name);
        table.add(trial, observed.figures);
    }
    println!("\n{table}");
    Ok(table.verdict())
}
