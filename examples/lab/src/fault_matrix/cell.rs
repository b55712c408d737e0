//! One scene, played with one row.

use std::{path::Path, sync::Arc, time::Duration};

use tokio::sync::oneshot;
use tokio_util::task::AbortOnDropHandle;
use tower::BoxError;

use super::{
    client::{Client, reworded, unchanged, used_up},
    row::Row,
    scene::Scene,
};
use crate::{
    bug_tracker::{
        Options, Server,
        faults::{Faults, Meeting, NewCounters},
        reports::Report,
    },
    harness::Submission,
    watch::Witness,
};

/// What came of a scene.
#[derive(Clone, Debug)]
pub struct Cell {
    /// What went wrong.
    pub scene: Scene,
    /// Each call of the tool, with its attempts.
    pub submissions: Vec<Submission>,
    /// What is in the file afterwards.
    pub reports: Vec<Report>,
    /// Whether it did go wrong: a cell without its fault proves nothing.
    pub struck: Struck,
}

/// Whether a fault struck.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Struck {
    /// The cell shows what it does.
    Yes,
    /// No request came to where it strikes.
    No,
}

/// Starts a server, plays the scene, stops the server, and reads the file.
pub async fn play(row: Row, scene: Scene) -> Result<Cell, BoxError> {
    let folder = tempfile::tempdir()?;
    let db = folder.path().join("bug_tracker.db");
    let server = Server::start(&options(row, &db)).await?;
    play_on(server, row, scene, None).await
}

/// The same on a server that has been started, before a witness if there is one.
pub async fn play_on(
    server: Server,
    row: Row,
    scene: Scene,
    witness: Option<Arc<dyn Witness>>,
) -> Result<Cell, BoxError> {
    let (faults, reports) = (server.faults().clone(), server.reports());
    let client = Client { bug_tracker: server.addr()?.into(), key_source: row.key_source, witness: witness.clone() };
    let server = match witness {
        Some(witness) => server.watched(witness),
        None => server,
    };
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = AbortOnDropHandle::new(tokio::spawn(server.serve(async { stopped.await.unwrap_or_default() })));

    let (submissions, struck) = act(scene, &client, &faults).await;

    // It fails when the server has ended already, which says why.
    let _ = stop.send(());
    serving.await??;
    let reports = reports.all().await.map_err(|problem| format!("{problem:?}"))?;
    Ok(Cell { scene, submissions, reports, struck })
}

/// The server of a row, on this file.
pub fn options(row: Row, db: &Path) -> Options {
    Options {
        addr: ([127, 0, 0, 1], 0).into(),
        store: None,
        db: Some(db.to_owned()),
        delay: Duration::ZERO,
        lease: Duration::from_secs(10),
        client_timeout: Duration::from_secs(2),
        notify_url: None,
        implementation: row.implementation,
        faults: false,
    }
}

async fn act(scene: Scene, client: &Client, faults: &Faults) -> (Vec<Submission>, Struck) {
    let one = Some(1);
    match scene {
        Scene::LostResponse => {
            faults.set(NewCounters { lose_response_after_commit: one, ..NewCounters::default() });
            (vec![client.submit().await], used_up(faults))
        }
        Scene::Crash => {
            faults.set(NewCounters { crash_mid_request: one, ..NewCounters::default() });
            (vec![client.submit().await], used_up(faults))
        }
        Scene::Concurrent => {
            let meeting = Meeting::of(2);
            faults.arrange(meeting.clone());
            let both = client.submit_from_two_workers().await;
            (both.into(), if meeting.took_place() { Struck::Yes } else { Struck::No })
        }
        Scene::NewId => client.submit_again(&unchanged(), faults).await,
        Scene::NewTitle => client.submit_again(&reworded(), faults).await,
    }
}
