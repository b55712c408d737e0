//! Two services on one file, and what is found in it afterwards.

use std::{collections::BTreeMap, net::SocketAddr, path::Path};

use lab::{
    exchange::Answer,
    process::{BugTracker, in_folder},
};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::client::file_at_once;

/// Two bug trackers on one file.
pub(crate) struct Office {
    folder: TempDir,
    pub(crate) trackers: [BugTracker; 2],
}

impl Office {
    /// Each with arguments of its own.
    pub(crate) fn open(args: [&[&str]; 2]) -> Self {
        let folder = TempDir::new().unwrap();
        let db = in_folder(folder.path(), "bugs.db");
        // Shorter than the leases here.
        let of_both = ["--db", &db, "--client-timeout", "500ms"];
        let trackers = args.map(|args| BugTracker::start([&of_both, args].concat()));
        Self { folder, trackers }
    }

    pub(crate) fn addresses(&self) -> [SocketAddr; 2] {
        self.trackers.each_ref().map(address)
    }

    pub(crate) fn db(&self) -> std::path::PathBuf {
        self.folder.path().join("bugs.db")
    }
}

pub(crate) fn address(tracker: &BugTracker) -> SocketAddr {
    tracker.url("").strip_prefix("http://").unwrap().parse().unwrap()
}

/// The reports that a foreign connection finds: title, and the ids under it.
pub(crate) fn reports(db: &Path) -> BTreeMap<String, Vec<i64>> {
    let connection = Connection::open(db).unwrap();
    let mut query = connection.prepare("SELECT title, id FROM reports ORDER BY id").unwrap();
    let mut reports = BTreeMap::<String, Vec<i64>>::new();
    for row in query.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap() {
        let (title, id): (String, _) = row.unwrap();
        reports.entry(title).or_default().push(id);
    }
    reports
}

/// The id in a 201; `None` for a 409. Nothing else may be answered to a report: a lock is no reason for a 5xx.
pub(crate) fn acknowledged(answer: &Answer) -> Option<i64> {
    match answer.status.as_u16() {
        201 => {
            let body: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
            Some(body["report_id"].as_i64().unwrap())
        }
        409 => None,
        _ => panic!("{answer:?}"),
    }
}

/// Files the report of each key at both services at the same instant, and returns the acknowledged ids of each key.
pub(crate) async fn file_each_at_both(services: [SocketAddr; 2], keys: &[String]) -> BTreeMap<String, Vec<i64>> {
    let reports: Vec<_> = keys.iter().flat_map(|key| services.map(|service| (service, key.as_str()))).collect();
    let answers = file_at_once(&reports).await;
    let mut ids = BTreeMap::<String, Vec<i64>>::new();
    for ((_, key), answer) in reports.iter().zip(&answers) {
        ids.entry((*key).to_owned()).or_default().extend(acknowledged(answer));
    }
    ids
}
