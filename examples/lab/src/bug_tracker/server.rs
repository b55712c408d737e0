//! Opens the database, listens, serves, and shuts down.

use std::{
    error::Error,
    fmt, io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use http::Uri;
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;
use tower_idempotency::{IdempotencyLayer, SqliteStore};

use super::{
    Implementation,
    app::{self, FaultsPage, Tracker},
    faults::Faults,
    filed::Filed,
    outbox::{self, RowKey, Sender, Until, Worker},
    table,
};
use crate::{
    lab_page::{
        Info, LabPage,
        info::{self, Limits},
    },
    watch::{Witness, door},
};

/// The command line of the bug tracker.
#[derive(Clone, Debug, clap::Parser)]
#[command(about = "A bug tracker that files each report once.")]
pub struct Options {
    /// Where to listen
    #[arg(long, default_value = "127.0.0.1:3000")]
    pub addr: SocketAddr,

    /// The SQLite file that holds reports and keys [default: a new file in a temporary folder]
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

/// A bug tracker that listens.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    app: axum::Router,
    page: LabPage,
    faults: Faults,
    layer: IdempotencyLayer<SqliteStore>,
    worker: Option<Worker>,
    db: PathBuf,
}

impl Server {
    /// Opens the database and listens.
    pub async fn start(options: &Options) -> Result<Self, StartError> {
        let Options { lease, client_timeout, .. } = *options;
        // The repeat of a client that gave up would take over a report whose server had only paused for that long.
        if lease <= client_timeout {
            return Err(StartError::LeaseTooShort { lease, client_timeout });
        }
        if options.notify_url.is_some() && options.implementation != Implementation::KeyAtomic {
            return Err(StartError::NoOutbox { implementation: options.implementation });
        }
        let listener = TcpListener::bind(options.addr)
            .await
            .map_err(|source| StartError::Listen { addr: options.addr, source })?;
        let db = match &options.db {
            Some(db) => db.clone(),
            // Kept, so that a tracker that was killed can be started again on it.
            None => tempfile::Builder::new()
                .prefix("bug_tracker-")
                .tempdir()
                .map_err(StartError::TemporaryFolder)?
                .keep()
                .join("bug_tracker.db"),
        };
        let (pool, store) = match table::open(&db).await {
            Ok(opened) => opened,
            Err(source) => return Err(StartError::Database { db, source }),
        };
        let layer = app::idempotency(store, options.lease);
        let faults = Faults::default();
        let notify = |url: &Uri| Worker::new(pool.clone(), Sender::new(url.clone(), RowKey::Sent));
        let worker = options.notify_url.as_ref().map(notify);
        let faults_page = if options.faults { FaultsPage::Open } else { FaultsPage::Closed };
        let filed = Filed::default();
        let page = LabPage::new(page_info(options, faults_page), pool.clone(), filed.clone());
        let tracker = Tracker { pool, delay: options.delay, faults: faults.clone(), filed };
        let app = app::app_of(options.implementation, layer.clone(), tracker, faults_page, page.routes());
        Ok(Self { listener, app, page, faults, layer, worker, db })
    }

    /// The address it listens on.
    pub fn addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// The file that holds reports and keys.
    pub fn db(&self) -> &Path {
        &self.db
    }

    /// Its faults.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// The same before a witness, who sees each request and what the handlers do with it.
    #[must_use]
    pub fn watched(self, witness: Arc<dyn Witness>) -> Self {
        Self { app: door::watched(self.app, witness), ..self }
    }

    /// Serves until `stop`; then ends what is open, and waits for the reports whose clients have left.
    pub async fn serve(self, stop: impl Future<Output = ()> + Send + 'static) -> io::Result<()> {
        let _delivering = self.worker.map(|worker| AbortOnDropHandle::new(tokio::spawn(worker.run(Until::Dropped))));
        let page = self.page;
        let stop = async move {
            stop.await;
            page.close();
        };
        axum::serve(self.listener, self.app).with_graceful_shutdown(stop).await?;
        self.layer.drained().await;
        Ok(())
    }
}

fn page_info(options: &Options, faults: FaultsPage) -> Info {
    let Options { implementation, delay, lease, client_timeout, .. } = *options;
    Info { version: info::version(), implementation, faults, delay, lease, client_timeout, limits: Limits::ALL }
}

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
            Self::Database { db, .. } => write!(f, "cannot use the database {}", db.display()),
            Self::TemporaryFolder(_) => f.write_str("cannot make a temporary folder for the database"),
            Self::Listen { addr, .. } => write!(f, "cannot listen on {addr} (--addr chooses another address)"),
        }
    }
}

impl Error for StartError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::LeaseTooShort { .. } | Self::NoOutbox { .. } => None,
            Self::Database { source, .. } => Some(&**source),
            Self::TemporaryFolder(source) | Self::Listen { source, .. } => Some(source),
        }
    }
}
