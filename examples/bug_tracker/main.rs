//! A bug tracker that files each report once: on SQLite, or on the store that `--store` names.
//!
//! `cargo run --example bug_tracker`, then the lines that it prints. `cargo run --example bug_tracker -- submit` files a
//! report as the harness of an agent does; `notifications` is a second service, and `deliver` tells it of each report.
//! `--help` behind each says what can be set. Postgres and Redis take the features of these names:
//! `cargo run --example bug_tracker --features postgres -- --store postgres://USER@HOST/DATABASE`.

#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "redis")]
mod redis;

use std::{
    error::Error,
    io::{IsTerminal, stderr},
    process::ExitCode,
};

use clap::{Parser, Subcommand};
#[cfg(any(feature = "postgres", feature = "redis"))]
use lab::bug_tracker::backend::Address;
use lab::{
    bug_tracker::{Implementation, Options, Server, StartError, outbox::Deliver},
    causes::with_causes,
    harness::Submit,
    notifications,
};
use tracing_subscriber::EnvFilter;

#[derive(Debug, Parser)]
#[command(about = "A bug tracker that files each report once.", args_conflicts_with_subcommands = true)]
struct CommandLine {
    #[command(subcommand)]
    command: Option<Command>,

    #[command(flatten)]
    serve: Options,
}

#[derive(Debug, Subcommand)]
enum Command {
    Submit(Submit),
    Deliver(Deliver),
    Notifications(notifications::Options),
}

#[tokio::main]
async fn main() -> ExitCode {
    let log = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt().with_env_filter(log).with_writer(stderr).with_ansi(stderr().is_terminal()).init();
    let CommandLine { command, serve: options } = CommandLine::parse();
    match command {
        None => ended(serve(&options).await),
        Some(Command::Submit(submit)) => file_a_report(&submit).await,
        Some(Command::Deliver(deliver)) => ended(deliver_notifications(&deliver).await),
        Some(Command::Notifications(options)) => ended(keep_notifications(&options).await),
    }
}

fn ended(result: Result<(), Box<dyn Error>>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", with_causes(&*error));
            ExitCode::FAILURE
        }
    }
}

/// Success is a report that is filed.
async fn file_a_report(submit: &Submit) -> ExitCode {
    let submission = submit.submit().await;
    println!("{}", submit.render(&submission));
    if submission.is_error() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// It may end at any point: what is not recorded is sent again, and recognised.
async fn deliver_notifications(deliver: &Deliver) -> Result<(), Box<dyn Error>> {
    tokio::select! {
        ended = deliver.run() => Ok(ended?),
        () = asked_to_stop() => Ok(()),
    }
}

async fn keep_notifications(options: &notifications::Options) -> Result<(), Box<dyn Error>> {
    let server = notifications::server::Server::start(options).await?;
    println!("listening on http://{}", server.addr()?);
    println!("notifications are kept in {}", options.db.display());
    Ok(server.serve(stopped()).await?)
}

async fn serve(options: &Options) -> Result<(), Box<dyn Error>> {
    let server = start(options).await?;
    let reports = format!("http://{}/reports", server.addr()?);
    println!("listening on http://{}", server.addr()?);
    println!("open http://{}/ in a browser", server.addr()?);
    server.kept().iter().for_each(|line| println!("{line}"));
    println!("file a report, twice with the same key:");
    println!(
        r#"  curl -i {reports} -H 'Idempotency-Key: "run-042:toolu_01"' -H 'Content-Type: application/json' -d '{{"run_id":"run-042","module":"cart","title":"Total is wrong","steps":["add two items"]}}'"#
    );
    match options.implementation {
        Implementation::KeyAtomic => println!("see that there is one:"),
        Implementation::Naive | Implementation::KeySplit => println!("see how many there are:"),
    }
    println!("  curl -i {reports}");
    if options.faults {
        println!("lose the answer to the next report, once it is committed:");
        println!(
            r#"  curl -i http://{}/faults -H 'Content-Type: application/json' -d '{{"lose_response_after_commit":1}}'"#,
            server.addr()?
        );
    }
    server.serve(stopped()).await?;
    println!("stopped");
    Ok(())
}

/// What needs a client for another server is started here, where the features are; the rest by the lab, which says
/// which feature is missing.
async fn start(options: &Options) -> Result<Server, StartError> {
    match options.address()? {
        #[cfg(feature = "postgres")]
        Some(Address::Postgres(url)) => postgres::start(options, &url).await,
        #[cfg(feature = "redis")]
        Some(Address::Redis(url)) => redis::start(options, &url).await,
        _ => Server::start(options).await,
    }
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
