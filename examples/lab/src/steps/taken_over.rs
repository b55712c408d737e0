//! A slow request, and the repeat that takes its key over.
//!
//! The layer of the crate renews the lease of a handler that lives, so it is made to lapse: the database takes no renewal,
//! as that of a process that is paused. The layer cannot do without its fence; the server without one is the article's,
//! by hand.

use std::{future::Future, io, path::Path, pin::Pin, sync::Arc, time::Duration};

use rusqlite::Connection;
use tokio::{net::TcpListener, sync::oneshot};
use tokio_util::task::AbortOnDropHandle;
use tower::BoxError;

use super::{
    choice::Fencing,
    order::Order,
    recorder::{Recorder, Step},
    rows::KeyTable,
};
use crate::{
    app::Hold,
    bug_tracker::{Implementation, Options, Server, table},
    fault_matrix::{
        Row,
        cell::{self, Struck},
        client::Client,
    },
    hand_written::{Fence, HandWritten},
    harness::{BaseUrl, KeySource},
    watch::{Event, Witness, door},
    withheld::withhold_renewals,
};

/// Short, since it is waited for.
const LEASE: Duration = Duration::from_millis(300);

/// A server that listens, and ends when it is told to.
pub(super) struct Serving {
    address: BaseUrl,
    stop: oneshot::Sender<()>,
    ended: AbortOnDropHandle<io::Result<()>>,
}

/// Starts the server, before a recorder that keeps the order.
pub(super) async fn serve(db: &Path, fencing: Fencing) -> Result<(Arc<Recorder>, Serving), BoxError> {
    let open = |table| Recorder::open(db, table, Order::TakenOver { lease: LEASE }).map(Arc::new);
    match fencing {
        Fencing::On => {
            // The slow request is no attempt that its client has given up.
            let client_timeout = LEASE / 2;
            let atomic = cell::options(Row::new(Implementation::KeyAtomic, KeySource::None), db);
            let server = Server::start(&Options { lease: LEASE, client_timeout, ..atomic }).await?;
            withhold_renewals(&Connection::open(db)?)?;
            let recorder = open(KeyTable::Crate)?;
            let address = server.addr()?.into();
            let server = server.watched(Arc::clone(&recorder) as Arc<dyn Witness>);
            Ok((recorder, Serving::start(address, |stop| Box::pin(server.serve(stop)))))
        }
        Fencing::Off => {
            let (pool, _) = table::open(db).await?;
            let hold = Hold::new();
            // The recorder's order holds them instead.
            hold.let_go(2);
            let by_hand = HandWritten { pool, lease: LEASE, fence: Fence::Ignored, hold };
            let app = by_hand.app().await.map_err(|problem| format!("{problem:?}"))?;
            let recorder = open(KeyTable::ByHand)?;
            let app = door::watched(app, Arc::clone(&recorder) as Arc<dyn Witness>);
            let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
            let address = listener.local_addr()?.into();
            let serve =
                |stop| -> Serve { Box::pin(axum::serve(listener, app).with_graceful_shutdown(stop).into_future()) };
            Ok((recorder, Serving::start(address, serve)))
        }
    }
}

/// Two workers file one report; then the server ends. How many reports there are, and whether a claim was taken over.
pub(super) async fn act(
    db: &Path,
    key_source: KeySource,
    serving: Serving,
    recorder: &Arc<Recorder>,
) -> Result<(usize, Struck), BoxError> {
    let Serving { address, stop, ended } = serving;
    let witness = Arc::clone(recorder) as Arc<dyn Witness>;
    Client { bug_tracker: address, key_source, witness: Some(witness) }.submit_from_two_workers().await;
    // It fails when the server has ended already, which says why.
    let _ = stop.send(());
    ended.await??;
    let reports = table::all(&Connection::open(db)?)?.len();
    let took_over = |step: &Step| matches!(step.event, Event::Claimed { run: 2.., .. });
    let struck = if recorder.steps()?.iter().any(took_over) { Struck::Yes } else { Struck::No };
    Ok((reports, struck))
}

type Stop = Pin<Box<dyn Future<Output = ()> + Send>>;
type Serve = Pin<Box<dyn Future<Output = io::Result<()>> + Send>>;

impl Serving {
    fn start(address: BaseUrl, serve: impl FnOnce(Stop) -> Serve) -> Self {
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = serve(Box::pin(async { stopped.await.unwrap_or_default() }));
        Self { address, stop, ended: AbortOnDropHandle::new(tokio::spawn(serving)) }
    }
}
