//! Opens the store, listens, serves, and shuts down.

use std::{fmt, io, net::SocketAddr, path::PathBuf, sync::Arc};

use axum::Router;
use futures_util::{FutureExt, future::BoxFuture};
use http::Uri;
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;
use tower_idempotency::{IdempotencyLayer, MemoryStore};

use super::{
    Implementation, Options, StartError,
    app::{self, FaultsPage, Tracker},
    backend::{Address, Backend, Beside, Opened, ReportTable, Sqlite},
    faults::Faults,
    filed::Filed,
    outbox::{RowKey, Sender, Until, Worker},
    table,
};
use crate::{
    lab_page::{
        Info, LabPage,
        info::{self, Limits},
    },
    watch::{Witness, door},
};

/// A bug tracker that listens.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    app: Router,
    page: LabPage,
    faults: Faults,
    reports: Arc<dyn ReportTable>,
    drained: Drained,
    worker: Option<Worker>,
    kept: Vec<String>,
}

impl Server {
    /// Opens a store that needs no further client, and listens.
    pub async fn start(options: &Options) -> Result<Self, StartError> {
        match options.address()? {
            Some(Address::Memory) => Self::start_on(options, in_memory(options)).await,
            Some(Address::Postgres(_)) => Err(StartError::NotBuilt { feature: "postgres" }),
            Some(Address::Redis(_)) => Err(StartError::NotBuilt { feature: "redis" }),
            Some(Address::Sqlite(file)) => Self::start_on_sqlite(options, file).await,
            None => Self::start_on_sqlite(options, options.file()?).await,
        }
    }

    /// Listens, and serves what is opened then.
    pub async fn start_on<B: Backend>(
        options: &Options,
        opening: impl Future<Output = Result<Opened<B>, StartError>>,
    ) -> Result<Self, StartError> {
        if options.implementation != Implementation::KeyAtomic {
            let option = format!("--implementation {}", options.implementation);
            return Err(StartError::OnlyOnSqlite { option });
        }
        if options.notify_url.is_some() {
            return Err(StartError::OnlyOnSqlite { option: "--notify-url".into() });
        }
        let listener = listen(options).await?;
        Ok(Self::of(options, listener, opening.await?, app::app_on))
    }

    async fn start_on_sqlite(options: &Options, file: PathBuf) -> Result<Self, StartError> {
        if options.notify_url.is_some() && options.implementation != Implementation::KeyAtomic {
            return Err(StartError::NoOutbox { implementation: options.implementation });
        }
        let listener = listen(options).await?;
        let (pool, store) = match table::open(&file).await {
            Ok(opened) => opened,
            Err(source) => return Err(StartError::Database { db: file, source }),
        };
        let notify = |url: &Uri| Worker::new(pool.clone(), Sender::new(url.clone(), RowKey::Sent));
        let worker = options.notify_url.as_ref().map(notify);
        let kept = vec![format!("reports and keys are kept in {}", file.display())];
        let opened = Opened { store, backend: Sqlite::new(pool), kept };
        let app =
            |layer, tracker, faults, further| app::app_of(options.implementation, layer, tracker, faults, further);
        Ok(Self { worker, ..Self::of(options, listener, opened, app) })
    }

    fn of<B: Backend>(
        options: &Options,
        listener: TcpListener,
        opened: Opened<B>,
        app: impl FnOnce(IdempotencyLayer<B::Store>, Tracker<B>, FaultsPage, Router) -> Router,
    ) -> Self {
        let Opened { store, backend, kept } = opened;
        let (faults, filed) = (Faults::default(), Filed::default());
        let faults_page = if options.faults { FaultsPage::Open } else { FaultsPage::Closed };
        let reports = backend.reports();
        let page = LabPage::new(page_info(options, faults_page), Arc::clone(&reports), filed.clone());
        let tracker = Tracker { backend, delay: options.delay, faults: faults.clone(), filed };
        let layer = app::idempotency(store, options.lease);
        let app = app(layer.clone(), tracker, faults_page, page.routes());
        let drained = Drained(async move { layer.drained().await }.boxed());
        Self { listener, app, page, faults, reports, drained, worker: None, kept }
    }

    /// The address it listens on.
    pub fn addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// What is kept where, line by line.
    pub fn kept(&self) -> &[String] {
        &self.kept
    }

    /// Its reports, and those of other processes that share them.
    pub fn reports(&self) -> Arc<dyn ReportTable> {
        Arc::clone(&self.reports)
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
        self.drained.0.await;
        Ok(())
    }
}

async fn listen(options: &Options) -> Result<TcpListener, StartError> {
    let Options { addr, lease, client_timeout, .. } = *options;
    // The repeat of a client that gave up would take over a report whose server had only paused for that long.
    if lease <= client_timeout {
        return Err(StartError::LeaseTooShort { lease, client_timeout });
    }
    TcpListener::bind(addr).await.map_err(|source| StartError::Listen { addr, source })
}

async fn in_memory(options: &Options) -> Result<Opened<Beside<MemoryStore>>, StartError> {
    let db = options.file()?;
    let opened = Beside::open(MemoryStore::new(), &db, "in the memory of this process, and are gone with it").await;
    opened.map_err(|source| StartError::Database { db, source })
}

fn page_info(options: &Options, faults: FaultsPage) -> Info {
    let Options { implementation, delay, lease, client_timeout, .. } = *options;
    Info { version: info::version(), implementation, faults, delay, lease, client_timeout, limits: Limits::ALL }
}

/// Resolves when the layer has ended what its clients have left behind.
struct Drained(BoxFuture<'static, ()>);

impl fmt::Debug for Drained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Drained(..)")
    }
}
