//! A server of the lab, on a free port of this host.

use std::{io, path::Path, time::Duration};

use axum::Router;
use tokio::{net::TcpListener, sync::oneshot};
use tokio_util::task::AbortOnDropHandle;
use tower::BoxError;
use tower_idempotency::{IdempotencyLayer, SqliteStore};

use super::{
    app::{self, Client, Lab},
    table,
};

/// A server that listens. Dropped it takes no further connections.
#[derive(Debug)]
pub struct Server {
    url: String,
    idempotency: IdempotencyLayer<SqliteStore>,
    serving: AbortOnDropHandle<io::Result<()>>,
    stop: oneshot::Sender<()>,
}

impl Server {
    /// Opens the file of jobs and keys, and serves.
    pub async fn open(db: &Path, delay: Duration, client: Client) -> Result<Self, BoxError> {
        let idempotency = app::idempotency(table::open(db).await?);
        let app = app::app(idempotency.clone(), Lab { db: db.to_owned(), delay }, client);
        Ok(Self::serve(app, idempotency).await?)
    }

    /// Serves an app of your own behind a layer of your own.
    pub async fn serve(app: Router, idempotency: IdempotencyLayer<SqliteStore>) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let (stop, stopped) = oneshot::channel();
        let stopped = async { stopped.await.unwrap_or_default() };
        let serving = tokio::spawn(async { axum::serve(listener, app).with_graceful_shutdown(stopped).await });
        Ok(Self { url, idempotency, serving: AbortOnDropHandle::new(serving), stop })
    }

    /// The address of a page.
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    /// Answers what is open, and ends the keyed requests whose clients have left.
    pub async fn stop(self) -> io::Result<()> {
        // It fails when the server has ended already.
        let _ = self.stop.send(());
        self.serving.await??;
        self.idempotency.drained().await;
        Ok(())
    }
}
