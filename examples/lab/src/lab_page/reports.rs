//! The list of reports, sent again whenever it has changed.

use std::{convert::Infallible, time::Duration};

use axum::{
    extract::State,
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use deadpool_sqlite::Pool;
use futures_util::{StreamExt, stream};
use serde::Serialize;
use tokio::{
    sync::{OwnedSemaphorePermit, watch},
    time::timeout,
};

use super::{LabPage, page::LISTENERS};
use crate::bug_tracker::{problem::Problem, reports::Report, table};

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

impl List {
    async fn read(pool: &Pool) -> Result<Self, Problem> {
        let query = |connection: &_| Ok((table::latest(connection, SHOWN)?, table::count(connection)?));
        let (reports, total) = table::read(pool, query).await?;
        Ok(Self { total, reports })
    }

    fn newest(&self) -> Option<i64> {
        self.reports.first().map(|report| report.id)
    }
}

/// `GET /lab/reports/events`. It ends when the database fails: a browser connects again by itself.
pub(super) async fn events(State(page): State<LabPage>) -> Result<Response, Problem> {
    let Ok(permit) = page.listeners.clone().try_acquire_owned() else {
        return Err(Problem::busy(format!("{LISTENERS} pages are open already. Close one.")));
    };
    let listener = Listener { filed: page.filed.subscribe(), pool: page.pool, sent: Sent::Nothing, _permit: permit };
    let lists = stream::unfold(listener, |mut listener| async {
        let list = listener.next().await.ok()?;
        Some((Ok::<_, Infallible>(event(&list)), listener))
    });
    let lists = lists.take_until(page.closing.cancelled_owned());
    Ok(Sse::new(lists).keep_alive(KeepAlive::default()).into_response())
}

struct Listener {
    filed: watch::Receiver<()>,
    pool: Pool,
    sent: Sent,
    _permit: OwnedSemaphorePermit,
}

/// Reports are added and never changed, so the newest one says which list it was.
enum Sent {
    Nothing,
    ListUpTo(Option<i64>),
}

impl Listener {
    /// Waits for a list that was not sent yet.
    async fn next(&mut self) -> Result<List, Problem> {
        if let Sent::ListUpTo(newest) = self.sent {
            while table::read(&self.pool, table::newest).await? == newest {
                // Elapsed: another process may have filed one. The sender lives as long as the page.
                let _ = timeout(LOOK_AGAIN, self.filed.changed()).await;
            }
        }
        let list = List::read(&self.pool).await?;
        self.sent = Sent::ListUpTo(list.newest());
        Ok(list)
    }
}

fn event(list: &List) -> Event {
    Event::default().event("reports").json_data(list).expect("a list is JSON")
}
