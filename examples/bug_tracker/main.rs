//! A bug tracker that files each report once, on SQLite.
//!
//! `cargo run --example bug_tracker`, then the two lines that it prints.

use std::{
    error::Error,
    io::{IsTerminal, stderr},
    process::ExitCode,
};

use clap::Parser;
use lab::bug_tracker::{Options, Server};
use tracing_subscriber::EnvFilter;

#[tokio::main]
async fn main() -> ExitCode {
    let log = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt().with_env_filter(log).with_writer(stderr).with_ansi(stderr().is_terminal()).init();
    match run(&Options::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", whole(&*error));
            ExitCode::FAILURE
        }
    }
}

async fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let server = Server::start(options).await?;
    let reports = format!("http://{}/reports", server.addr()?);
    println!("listening on http://{}", server.addr()?);
    println!("reports and keys are kept in {}", server.db().display());
    println!("file a report, twice with the same key:");
    println!(
        r#"  curl -i {reports} -H 'Idempotency-Key: "run-042:toolu_01"' -H 'Content-Type: application/json' -d '{{"run_id":"run-042","module":"cart","title":"Total is wrong","steps":["add two items"]}}'"#
    );
    println!("see that there is one:");
    println!("  curl -i {reports}");
    server.serve(stopped()).await?;
    println!("stopped");
    Ok(())
}

/// Ctrl-C, or what a supervisor sends. A second Ctrl-C stops without waiting.
async fn stopped() {
    asked_to_stop().await;
    println!("stopping, once the requests have ended (Ctrl-C again stops now)");
    tokio::spawn(async {
        asked_to_stop().await;
        std::process::exit(130);
    });
}

async fn asked_to_stop() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut terminate = signal(SignalKind::terminate()).expect("a handler of SIGTERM can be set");
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminate.recv() => {}
        }
    }
    #[cfg(not(unix))]
    let _ = tokio::signal::ctrl_c().await;
}

/// An error with all its causes.
fn whole(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
