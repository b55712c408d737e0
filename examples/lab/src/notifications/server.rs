//! Opens the database, listens, and serves.

use std::{io, net::SocketAddr, path::PathBuf};

use axum::Router;
use tokio::net::TcpListener;
use tower_idempotency::{IdempotencyLayer, SqliteStore};

use super::{app, table};
use crate::bug_tracker::StartError;

/// A second service for the bug tracker: keeps notifications, each once.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Where to listen
    #[arg(long, default_value = "127.0.0.1:3001")]
    pub addr: SocketAddr,

    /// The SQLite file that holds notifications and keys; another one than the bug tracker's
    #[arg(long)]
    pub db: PathBuf,
}

/// A service that listens.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    app: Router,
    layer: IdempotencyLayer<SqliteStore>,
}

impl Server {
    /// Opens the database and listens.
    pub async fn start(options: &Options) -> Result<Self, StartError> {
        let listener = TcpListener::bind(options.addr)
            .await
            .map_err(|source| StartError::Listen { addr: options.addr, source })?;
        let store = match table::open(&options.db).await {
            Ok(store) => store,
            Err(source) => return Err(StartError::Database { db: options.db.clone(), source: source.into() }),
        };
        let layer = app::idempotency(store);
        Ok(Self { listener, app: app::app(layer.clone(), options.db.clone()), layer })
    }

    /// The address it listens on.
    pub fn addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `stop`; then ends what is open.
    pub async fn serve(self, stop: impl Future<Output = ()> + Send + 'static) -> io::Result<()> {
        axum::serve(self.listener, self.app).with_graceful_shutdown(stop).await?;
        self.layer.drained().await;
        Ok(())
    }
}
