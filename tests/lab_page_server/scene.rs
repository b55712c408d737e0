//! A bug tracker with its page, in process.

use std::{path::PathBuf, time::Duration};

use axum::{Router, body::BodyDataStream};
use futures_util::StreamExt;
use http::StatusCode;
use lab::{
    bug_tracker::{
        Implementation,
        app::{self, FaultsPage, Tracker},
        backend::{Backend, Sqlite},
        faults::Faults,
        filed::Filed,
        table,
    },
    exchange::{Answer, get, post, send},
    lab_page::{
        Info, LabPage,
        info::{Limits, version},
    },
};
use serde_json::Value;
use tempfile::TempDir;
use tokio::time::timeout;
use tower::ServiceExt;

pub(crate) const LEASE: Duration = Duration::from_secs(10);

pub(crate) struct Scene {
    pub(crate) app: Router,
    pub(crate) page: LabPage,
    pub(crate) db: PathBuf,
    _folder: TempDir,
}

impl Scene {
    pub(crate) async fn of(implementation: Implementation) -> Self {
        Self::with(implementation, FaultsPage::Closed).await
    }

    pub(crate) async fn with(implementation: Implementation, faults: FaultsPage) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let db = folder.path().join("bugs.db");
        let (pool, store) = table::open(&db).await.unwrap();
        let (delay, filed) = (Duration::ZERO, Filed::default());
        let client_timeout = Duration::from_secs(2);
        let limits = Limits::ALL;
        let info = Info { version: version(), implementation, faults, delay, lease: LEASE, client_timeout, limits };
        let backend = Sqlite::new(pool);
        let page = LabPage::new(info, backend.reports(), filed.clone());
        let tracker = Tracker { backend, delay, faults: Faults::default(), filed };
        let app = app::app_of(implementation, app::idempotency(store, LEASE), tracker, faults, page.routes());
        Self { app, page, db, _folder: folder }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        send(&self.app, get(path)).await
    }

    pub(crate) async fn file(&self, key: &str, title: &str) -> Answer {
        let report = format!(r#"{{"run_id":"run-042","module":"cart","title":"{title}","steps":[]}}"#);
        let answer = send(&self.app, post(key, report)).await;
        assert_eq!(answer.status, StatusCode::CREATED, "{answer:?}");
        answer
    }

    /// Listens to the list of reports.
    pub(crate) async fn listen(&self) -> Lists {
        let response = self.app.clone().oneshot(get("/lab/reports/events")).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Lists(response.into_body().into_data_stream())
    }

    /// Files reports behind the server's back, as another process does.
    pub(crate) fn file_elsewhere(&self, count: u32) {
        let connection = rusqlite::Connection::open(&self.db).unwrap();
        let insert = "INSERT INTO reports (run_id, module, title, steps) VALUES ('r', 'm', 'from elsewhere', '[]')";
        for _ in 0..count {
            connection.execute(insert, ()).unwrap();
        }
    }
}

/// The lists that a listener is sent.
pub(crate) struct Lists(BodyDataStream);

impl Lists {
    /// The next one, or none if they have ended.
    pub(crate) async fn next(&mut self) -> Option<List> {
        timeout(Duration::from_secs(30), self.next_list()).await.expect("in time")
    }

    async fn next_list(&mut self) -> Option<List> {
        loop {
            let bytes = self.0.next().await?.expect("no failure");
            let event = std::str::from_utf8(&bytes).unwrap();
            if let Some(data) = event.strip_prefix("event: reports\ndata: ") {
                return Some(List(serde_json::from_str(data).unwrap()));
            }
            assert!(event.starts_with(':'), "neither a list nor a comment: {event:?}");
        }
    }
}

pub(crate) struct List(Value);

impl List {
    pub(crate) fn total(&self) -> u64 {
        self.0["total"].as_u64().unwrap()
    }

    /// The numbers of the reports.
    pub(crate) fn ids(&self) -> Vec<u64> {
        self.0["reports"].as_array().unwrap().iter().map(|report| report["id"].as_u64().unwrap()).collect()
    }

    pub(crate) fn titles(&self) -> Vec<&str> {
        self.0["reports"].as_array().unwrap().iter().map(|report| report["title"].as_str().unwrap()).collect()
    }
}
