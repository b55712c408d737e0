//! The fault matrix of the article: how many reports each server leaves, for each source of keys and each fault.
//!
//! `cargo run --example fault_matrix`; `-- --all` runs every combination, `-- --json` prints each attempt. It exits 1 when
//! a cell is not as the article says, and says which.

use std::process::ExitCode;

use clap::Parser;
use lab::{
    causes::with_causes,
    fault_matrix::{Command, Verdict},
};

#[tokio::main]
async fn main() -> ExitCode {
    match Command::parse().run().await {
        Ok((text, verdict)) => {
            println!("{text}");
            match verdict {
                Verdict::AsInTheArticle => ExitCode::SUCCESS,
                Verdict::NotAsInTheArticle => ExitCode::FAILURE,
            }
        }
        Err(error) => {
            eprintln!("error: {}", with_causes(&*error));
            ExitCode::FAILURE
        }
    }
}
