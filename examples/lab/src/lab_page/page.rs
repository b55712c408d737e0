//! The routes of the page, and what they share.

use std::sync::Arc;

use axum::{Json, Router, extract::State, routing::get};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::{Info, assets, herd, reports, steps};
use crate::bug_tracker::{backend::ReportTable, filed::Filed};

/// How many may listen to the list of reports at the same time.
pub const LISTENERS: usize = 32;

/// The page of one server. Clones share it.
#[derive(Clone, Debug)]
pub struct LabPage {
    pub(super) info: Info,
    pub(super) reports: Arc<dyn ReportTable>,
    pub(super) filed: Filed,
    pub(super) listeners: Arc<Semaphore>,
    pub(super) closing: CancellationToken,
}

impl LabPage {
    /// Shows these reports.
    pub fn new(info: Info, reports: Arc<dyn ReportTable>, filed: Filed) -> Self {
        let listeners = Arc::new(Semaphore::new(LISTENERS));
        Self { info, reports, filed, listeners, closing: CancellationToken::new() }
    }

    /// Ends what is sent for as long as a page is open.
    pub fn close(&self) {
        self.closing.cancel();
    }

    /// `/`, and everything below `/lab`.
    pub fn routes(&self) -> Router {
        Router::new()
            .route("/lab/info", get(info))
            .route("/lab/reports/events", get(reports::events))
            .with_state(self.clone())
            .merge(herd::routes(&self.closing))
            .merge(steps::routes(&self.closing))
            .merge(assets::routes())
    }
}

async fn info(State(page): State<LabPage>) -> Json<Info> {
    Json(page.info)
}
