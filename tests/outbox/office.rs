//! The files of both services, and processes of the example on them.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
};

use lab::process::{BugTracker, Curl, example, in_folder};
use rusqlite::Connection;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A folder with a file for each service.
pub(crate) struct Office {
    _folder: TempDir,
    pub(crate) bugs: String,
    pub(crate) notes: String,
}

impl Office {
    pub(crate) fn open() -> Self {
        let folder = TempDir::new().unwrap();
        let [bugs, notes] = ["bugs.db", "notes.db"].map(|name| in_folder(folder.path(), name));
        Self { _folder: folder, bugs, notes }
    }

    pub(crate) fn tracker<'a>(&'a self, args: impl IntoIterator<Item = &'a str>) -> BugTracker {
        BugTracker::start(["--db", &self.bugs, "--delay", "0s"].into_iter().chain(args))
    }

    /// The second service in a process of its own, and the address of its page.
    pub(crate) fn notifications(&self) -> (Process, String) {
        let mut service = Process::start(["notifications", "--addr", "127.0.0.1:0", "--db", &self.notes]);
        let line = service.line();
        let address = line.strip_prefix("listening on ").unwrap_or_else(|| panic!("it says {line:?}"));
        let url = format!("{address}/notifications");
        (service, url)
    }

    /// A worker in a process of its own, when it has opened the file.
    pub(crate) fn worker<'a>(&'a self, url: &'a str, args: impl IntoIterator<Item = &'a str>) -> Process {
        let mut worker = Process::start(["deliver", "--db", &self.bugs, "--notify-url", url].into_iter().chain(args));
        assert!(worker.line().starts_with("delivering "));
        worker
    }

    /// For each row of the outbox the answer that settled it.
    pub(crate) fn answers(&self) -> Vec<Option<u16>> {
        answers(&self.bugs)
    }
}

pub(crate) fn answers(bugs: impl AsRef<Path>) -> Vec<Option<u16>> {
    let connection = Connection::open(bugs).unwrap();
    let mut query = connection.prepare("SELECT answer FROM outbox ORDER BY id").unwrap();
    query.query_map((), |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

/// A process of the example. Killed when dropped.
pub(crate) struct Process {
    child: Child,
    stdout: BufReader<ChildStdout>,
}

impl Process {
    pub(crate) fn start<'a>(args: impl IntoIterator<Item = &'a str>) -> Self {
        let mut command = Command::new(example("bug_tracker"));
        command.args(args).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("it starts");
        let stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        Self { child, stdout }
    }

    /// Waits for its next line.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("it prints");
        line.trim().to_owned()
    }

    /// `kill -9`.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("it lives");
        self.child.wait().expect("it ends");
    }

    /// Waits for its end.
    pub(crate) fn succeeds(mut self) {
        assert!(self.child.wait().expect("it ends").success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail when it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A report with this title.
pub(crate) fn report(title: &str) -> String {
    json!({ "run_id": "r", "module": "m", "title": title, "steps": [] }).to_string()
}

/// Files reports, whose titles are their keys.
pub(crate) fn file(tracker: &BugTracker, titles: &[&str]) {
    for title in titles {
        assert_eq!(tracker.submit(title, &report(title)).status, 201);
    }
}

/// The titles that the second service was notified of, in its order.
pub(crate) fn notified(url: &str) -> Vec<String> {
    let list: Vec<Value> = serde_json::from_str(&Curl::run([url]).body).expect("a list");
    list.iter().map(|notification| notification["title"].as_str().unwrap().to_owned()).collect()
}
