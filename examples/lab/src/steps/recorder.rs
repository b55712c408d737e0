//! The witness of a play, who writes it down.

use std::{
    collections::HashMap,
    path::Path,
    pin::Pin,
    sync::{Mutex, MutexGuard},
    time::Duration,
};

use rusqlite::Connection;
use serde::Serialize;
use tokio::{sync::watch, time::Instant};

use super::{
    order::Order,
    rows::{KeyRow, KeyTable, Marked, ReportRow, Snapshot},
};
use crate::watch::{Before, Event, Found, Name, Side, Witness};

/// One thing that happened, and the tables after it.
#[derive(Clone, Debug, Serialize)]
pub struct Step {
    /// 1 for the first.
    pub number: usize,
    /// Since the play began.
    pub at_ms: f64,
    /// Which request.
    #[serde(flatten)]
    pub request: Name,
    /// Who tells of it.
    pub side: Side,
    /// What.
    #[serde(flatten)]
    pub event: Event,
    /// What is in the table of reports; not what an open transaction has written.
    pub reports: Vec<Marked<ReportRow>>,
    /// What is in the table of keys.
    pub keys: Vec<Marked<KeyRow>>,
}

/// Writes each step down, and keeps an order.
#[derive(Debug)]
pub struct Recorder {
    order: Order,
    kept: Mutex<Kept>,
    changed: watch::Sender<()>,
}

#[derive(Debug)]
struct Kept {
    file: Connection,
    table: KeyTable,
    begun: Instant,
    before: Snapshot,
    known: HashMap<Name, Known>,
    steps: Vec<Step>,
    failed: Option<rusqlite::Error>,
    over: bool,
}

/// What a request has told before it is answered.
#[derive(Clone, Debug, Default)]
struct Known {
    key: Option<String>,
    looked_up: bool,
    claimed: bool,
    fenced_out: bool,
}

impl Recorder {
    /// Of what happens on this file, whose tables are there.
    pub fn open(db: &Path, table: KeyTable, order: Order) -> rusqlite::Result<Self> {
        let file = Connection::open(db)?;
        file.execute_batch("PRAGMA query_only = ON; PRAGMA busy_timeout = 5000;")?;
        let before = Snapshot::read(&file, table)?;
        let (begun, known, steps) = (Instant::now(), HashMap::new(), Vec::new());
        let kept = Kept { file, table, begun, before, known, steps, failed: None, over: false };
        Ok(Self { order, kept: Mutex::new(kept), changed: watch::Sender::new(()) })
    }

    /// What happened; a failure if the tables could not be read once.
    pub fn steps(&self) -> rusqlite::Result<Vec<Step>> {
        let mut kept = self.kept();
        match kept.failed.take() {
            Some(error) => Err(error),
            None => Ok(kept.steps.clone()),
        }
    }

    /// Holds nobody any more.
    pub fn let_all_go(&self) {
        self.kept().over = true;
        self.changed.send_replace(());
    }

    /// Waits until this has happened, or the play is over.
    pub(super) async fn until(&self, happened: impl Fn(&[Step]) -> bool) {
        let holds = |(): &()| {
            let kept = self.kept();
            kept.over || happened(&kept.steps)
        };
        self.changed.subscribe().wait_for(holds).await.expect("the sender is here");
    }

    /// When a claim of this client was granted, and to which request, if one was.
    pub(super) fn claim_of(&self, client: u32) -> Option<(Instant, Name)> {
        let kept = self.kept();
        let claim = |step: &&Step| step.request.client == client && matches!(step.event, Event::Claimed { .. });
        let step = kept.steps.iter().find(claim)?;
        // At the granting, or a little later.
        Some((kept.begun + Duration::from_secs_f64(step.at_ms / 1000.0), step.request))
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().expect("no panic while it is held")
    }
}

/// A read of a few rows, on the task of whoever tells: what it does next has not happened yet.
impl Witness for Recorder {
    fn saw(&self, request: Name, event: Event) {
        self.kept().write(request, event);
        self.changed.send_replace(());
    }

    fn hold(&self, request: Name, before: Before) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(self.order.hold(self, request, before))
    }
}

impl Kept {
    fn write(&mut self, request: Name, event: Event) {
        let known = self.known.entry(request).or_default();
        match &event {
            Event::Sent { key, .. } => known.key.clone_from(key),
            Event::LookedUp { .. } => known.looked_up = true,
            Event::Claimed { .. } => known.claimed = true,
            Event::FencedOut => known.fenced_out = true,
            _ => {}
        }
        let known = known.clone();
        if let Err(error) = self.write_down(request, event, &known) {
            self.failed.get_or_insert(error);
        }
    }

    fn write_down(&mut self, request: Name, event: Event, known: &Known) -> rusqlite::Result<()> {
        let now = Snapshot::read(&self.file, self.table)?;
        if let Event::Answered { status, replayed, .. } = event
            && let Some(done) = self.unsaid(status, replayed, known, &now)
        {
            // What is in the tables now is of this.
            self.push(request, done, now.clone());
        }
        self.push(request, event, now);
        Ok(())
    }

    /// What the layer of the crate has done before it answers; it says so only by its answer, and by what is in its table.
    fn unsaid(&self, status: u16, replayed: bool, known: &Known, now: &Snapshot) -> Option<Event> {
        let gone = |key: &String| self.before.has_key(key) && !now.has_key(key);
        match status {
            _ if known.claimed && replayed && !known.fenced_out => Some(Event::FencedOut),
            _ if known.claimed && known.key.as_ref().is_some_and(gone) => Some(Event::Released),
            _ if known.claimed || known.looked_up => None,
            _ if replayed => Some(Event::LookedUp { found: Found::Done }),
            409 => Some(Event::LookedUp { found: Found::InProgress }),
            400 => Some(Event::Refused),
            _ => None,
        }
    }

    fn push(&mut self, request: Name, event: Event, now: Snapshot) {
        self.steps.push(Step {
            number: self.steps.len() + 1,
            at_ms: self.begun.elapsed().as_secs_f64() * 1000.0,
            request,
            side: event.side(),
            event,
            reports: now.reports_since(&self.before),
            keys: now.keys_since(&self.before),
        });
        self.before = now;
    }
}
