//! The command line.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use http::Uri;

use super::{
    Implementation, StartError,
    backend::{Address, Asked},
    outbox,
};

/// The command line of the bug tracker.
#[derive(Clone, Debug, clap::Parser)]
#[command(about = "A bug tracker that files each report once.")]
pub struct Options {
    /// Where to listen
    #[arg(long, default_value = "127.0.0.1:3000")]
    pub addr: SocketAddr,

    /// Where the keys are kept: memory, sqlite:FILE, postgres://USER@HOST/DATABASE or redis://HOST [default: sqlite:FILE, with the
    /// file of --db]
    #[arg(long)]
    pub store: Option<Asked>,

    /// The SQLite file that holds reports and keys; with --store memory or redis://… the reports only
    /// [default: a new file in a temporary folder]
    #[arg(long)]
    pub db: Option<PathBuf>,

    /// How long it takes to replay the reproduction steps of a report
    #[arg(long, default_value = "300ms", value_parser = humantime::parse_duration)]
    pub delay: Duration,

    /// How long a repeat waits for a server that died
    #[arg(long, default_value = "10s", value_parser = lease)]
    pub lease: Duration,

    /// What the server does with keys
    #[arg(long, value_enum, default_value_t)]
    pub implementation: Implementation,

    /// Let clients set faults: POST /faults
    #[arg(long)]
    pub faults: bool,

    /// How long a client waits for an answer before it sends the report again; the lease has to be longer
    #[arg(long, default_value = "2s", value_parser = humantime::parse_duration)]
    pub client_timeout: Duration,

    /// Where to POST a notification of each report [default: nowhere; those of key_atomic wait in the database]
    #[arg(long, value_parser = outbox::sender::notify_url)]
    pub notify_url: Option<Uri>,
}

fn lease(text: &str) -> Result<Duration, String> {
    let lease = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    let allowed = Duration::from_millis(100)..=Duration::from_secs(3600);
    if allowed.contains(&lease) { Ok(lease) } else { Err("between 100ms and 1h".into()) }
}

impl Options {
    /// Where the keys are, or none for the default: SQLite, in a file that nobody has named.
    pub fn address(&self) -> Result<Option<Address>, StartError> {
        let asked = self.store.as_ref().map(Address::parse).transpose().map_err(StartError::UnknownStore)?;
        match (asked, &self.db) {
            (Some(address @ (Address::Sqlite(_) | Address::Postgres(_))), Some(_)) => {
                Err(StartError::TwoPlaces { store: address })
            }
            (None, Some(db)) => Ok(Some(Address::Sqlite(db.clone()))),
            (asked, _) => Ok(asked),
        }
    }

    /// The file of `--db`, or a new one.
    pub fn file(&self) -> Result<PathBuf, StartError> {
        match &self.db {
            Some(db) => Ok(db.clone()),
            // Kept, so that a tracker that was killed can be started again on it.
            None => Ok(tempfile::Builder::new()
                .prefix("bug_tracker-")
                .tempdir()
                .map_err(StartError::TemporaryFolder)?
                .keep()
                .join("bug_tracker.db")),
        }
    }
}
