//! The list of reports, sent again whenever it has changed.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{
    extract::State,
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use futures_util::{StreamExt, stream};
use serde::Serialize;
use tokio::{
    sync::{OwnedSemaphorePermit, watch},
    time::timeout,
};

use super::{LabPage, page::LISTENERS};
use crate::bug_tracker::{
    backend::{Latest, ReportTable},
    problem::Problem,
    reports::Report,
};

/// How many reports are sent: the newest.
pub const SHOWN: u32 = 200;

/// How soon a report shows that another process has filed.
pub const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// What a list holds.
#[derive(Clone, Debug, Serialize)]
struct List {
    total: i64,
    /// The newest first.
    reports: Vec<Report>,
}

/// `GET /lab/reports/events`. It ends when the database fails: a browser connects again by itself.
pub(super) async fn events(State(page): State<LabPage>) -> Result<Response, Problem> {
    let Ok(permit) = page.listeners.clone().try_acquire_owned() else {
        return Err(Problem::busy(format!("{LISTENERS} pages are open already. Close one.")));
    };
    let listener =
        Listener { filed: page.filed.subscribe(), reports: page.reports, sent: Sent::Nothing, _permit: permit };
    let lists = stream::unfold(listener, |mut listener| async {
        let list = listener.next().await.ok()?;
        Some((Ok::<_, Infallible>(event(&list)), listener))
    });
    let lists = lists.take_until(page.closing.cancelled_owned());
    Ok(Sse::new(lists).keep_alive(KeepAlive::default()).into_response())
}

struct Listener {
    filed: watch::Receiver<()>,
    reports: Arc<dyn ReportTable>,
    sent: Sent,
    _permit: OwnedSemaphorePermit,
}

/// Reports are added and never changed, so the mark says which list it was.
enum Sent {
    Nothing,
    ListAt(i64),
}

impl Listener {
    /// Waits for a list that was not sent yet.
    async fn next(&mut self) -> Result<List, Problem> {
        if let Sent::ListAt(mark) = self.sent {
            while self.reports.mark().await? == mark {
                // Elapsed: another process may have filed one. The sender lives as long as the page.
                let _ = timeout(LOOK_AGAIN, self.filed.changed()).await;
            }
        }
        let Latest { reports, total, mark } = self.reports.latest(SHOWN).await?;
        self.sent = Sent::ListAt(mark);
        Ok(List { total, reports })
    }
}

fn event(list: &List) -> Event {
    Event::default().event("reports").json_data(list).expect("a list is JSON")
}
