//! One scene, played with one row.

use std::{path::Path, time::Duration};

use rusqlite::Connection;
use tokio::sync::oneshot;
use tokio_util::task::AbortOnDropHandle;
use tower::BoxError;

use super::{row::Row, scene::Scene};
use crate::{
    bug_tracker::{
        Options, Server,
        faults::{Counters, Faults, Meeting, NewCounters},
        reports::{NewReport, Report},
        table,
    },
    harness::{BaseUrl, Harness, KeySource, Settings, Submission, ToolCall},
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
    let client = Client { bug_tracker: server.addr()?.into(), key_source: row.key_source };
    let faults = server.faults().clone();
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = AbortOnDropHandle::new(tokio::spawn(server.serve(async { stopped.await.unwrap_or_default() })));

    let (submissions, struck) = act(scene, &client, &faults).await;

    // It fails when the server has ended already, which says why.
    let _ = stop.send(());
    serving.await??;
    let reports = table::all(&Connection::open(&db)?)?;
    Ok(Cell { scene, submissions, reports, struck })
}

fn options(row: Row, db: &Path) -> Options {
    Options {
        addr: ([127, 0, 0, 1], 0).into(),
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
            (vec![client.submit(&report(), FIRST_CALL).await], used_up(faults))
        }
        Scene::Crash => {
            faults.set(NewCounters { crash_mid_request: one, ..NewCounters::default() });
            (vec![client.submit(&report(), FIRST_CALL).await], used_up(faults))
        }
        Scene::Concurrent => {
            let meeting = Meeting::of(2);
            faults.arrange(meeting.clone());
            let report = report();
            let (one, other) = tokio::join!(client.submit(&report, FIRST_CALL), client.submit(&report, FIRST_CALL));
            (vec![one, other], if meeting.took_place() { Struck::Yes } else { Struck::No })
        }
        Scene::NewId => client.submits_again(&report(), faults).await,
        Scene::NewTitle => {
            let reworded = NewReport { title: "The sum in the cart is off".to_owned(), ..report() };
            client.submits_again(&reworded, faults).await
        }
    }
}

fn used_up(faults: &Faults) -> Struck {
    if faults.counters() == Counters::default() { Struck::Yes } else { Struck::No }
}

const RUN: &str = "run-042";
const FIRST_CALL: &str = "toolu_01";
const SECOND_CALL: &str = "toolu_02";

fn report() -> NewReport {
    NewReport {
        run_id: RUN.to_owned(),
        module: "cart".to_owned(),
        title: "Total is wrong".to_owned(),
        steps: vec!["add two items".to_owned()],
    }
}

struct Client {
    bug_tracker: BaseUrl,
    key_source: KeySource,
}

impl Client {
    /// Each call of the tool in a worker of its own.
    async fn submit(&self, report: &NewReport, tool_use_id: &str) -> Submission {
        self.submit_with(self.settings(), report, tool_use_id).await
    }

    /// The first call ends with an unknown result, and the model does not query, but submits this.
    async fn submits_again(&self, second: &NewReport, faults: &Faults) -> (Vec<Submission>, Struck) {
        faults.set(NewCounters { lose_response_after_commit: Some(1), ..NewCounters::default() });
        let gives_up = self.settings().max_attempts(1);
        let first = self.submit_with(gives_up, &report(), FIRST_CALL).await;
        let struck = used_up(faults);
        // A first one that was refused has not used it up.
        faults.set(NewCounters { lose_response_after_commit: Some(0), ..NewCounters::default() });
        (vec![first, self.submit(second, SECOND_CALL).await], struck)
    }

    async fn submit_with(&self, settings: Settings, report: &NewReport, tool_use_id: &str) -> Submission {
        let call = ToolCall { run_id: RUN.to_owned(), tool_use_id: tool_use_id.to_owned() };
        Harness::new(&self.bug_tracker, settings).submit(report, &call).await
    }

    /// No attempt times out here, however slow the host: that would be another scene.
    fn settings(&self) -> Settings {
        Settings::new(self.key_source).attempt_timeout(Duration::from_secs(60))
    }
}
