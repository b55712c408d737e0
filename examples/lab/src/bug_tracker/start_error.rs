//! Why a bug tracker could not start, in one line that never shows a password.

use std::{error::Error, fmt, io, net::SocketAddr, path::PathBuf, time::Duration};

use super::{
    Implementation,
    backend::{Address, address::UnknownStore},
};

/// Why a bug tracker could not start.
#[derive(Debug)]
pub enum StartError {
    /// The lease lapses before the client of a report gives up.
    LeaseTooShort {
        /// How long a claim lasts unless it is renewed.
        lease: Duration,
        /// How long a client waits.
        client_timeout: Duration,
    },
    /// Notifications were asked for, and only `key_atomic` has an outbox.
    NoOutbox {
        /// The server that was asked for.
        implementation: Implementation,
    },
    /// `--store` is none that there is.
    UnknownStore(UnknownStore),
    /// `--db` beside a store that holds the reports too.
    TwoPlaces {
        /// The store.
        store: Address,
    },
    /// What only SQLite has was asked for on another store.
    OnlyOnSqlite {
        /// The option.
        option: String,
    },
    /// This build has no client for the store.
    NotBuilt {
        /// The feature that has one.
        feature: &'static str,
    },
    /// The store could not be used.
    Store {
        /// Its address.
        store: Address,
        /// Why.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The database could not be used.
    Database {
        /// Its file.
        db: PathBuf,
        /// Why.
        source: Box<dyn Error + Send + Sync>,
    },
    /// No folder for the default file.
    TemporaryFolder(io::Error),
    /// It could not listen on this address.
    Listen {
        /// The address.
        addr: SocketAddr,
        /// Why.
        source: io::Error,
    },
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LeaseTooShort { lease, client_timeout } => {
                let (lease, client_timeout) =
                    (humantime::format_duration(*lease), humantime::format_duration(*client_timeout));
                write!(
                    f,
                    "a lease of {lease} is not longer than the {client_timeout} that a client waits: make --lease \
                     longer, or --client-timeout shorter if the clients do not wait that long"
                )
            }
            Self::NoOutbox { implementation } => {
                write!(f, "{implementation} has no outbox: --notify-url goes with --implementation key_atomic")
            }
            Self::UnknownStore(_) => f.write_str("no such store"),
            Self::TwoPlaces { store } => {
                write!(f, "--store {store} holds reports and keys, so there is nothing for --db to hold: leave one out")
            }
            Self::OnlyOnSqlite { option } => write!(f, "{option} goes with SQLite only: leave --store out"),
            Self::NotBuilt { feature } => write!(
                f,
                "this build has no client for {feature}: \
                 cargo run --example bug_tracker --features {feature} -- --store {feature}://..."
            ),
            Self::Store { store, .. } => write!(f, "cannot keep keys in {store}"),
            Self::Database { db, .. } => write!(f, "cannot use the database {}", db.display()),
            Self::TemporaryFolder(_) => f.write_str("cannot make a temporary folder for the database"),
            Self::Listen { addr, .. } => write!(f, "cannot listen on {addr} (--addr chooses another address)"),
        }
    }
}

impl Error for StartError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::LeaseTooShort { .. }
            | Self::NoOutbox { .. }
            | Self::TwoPlaces { .. }
            | Self::OnlyOnSqlite { .. }
            | Self::NotBuilt { .. } => None,
            Self::UnknownStore(source) => Some(source),
            Self::Store { source, .. } | Self::Database { source, .. } => Some(&**source),
            Self::TemporaryFolder(source) | Self::Listen { source, .. } => Some(source),
        }
    }
}
