//! V33: a disk that fails at the COMMIT.
#![cfg(target_os = "linux")]

use std::{
    fs,
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use lab::process::{Curl, example, in_folder};
use tokio::time::Instant;

/// Too long for a lease of a second.
const FOREVER: Duration = Duration::from_secs(20);

/// Nothing of it is there: no release, so that a repeat waits for the lease.
#[test]
fn v33_an_io_error_before_the_commit_is_unknown_and_releases_nothing() {
    const REPORT: &str = r#"{"run_id":"r","module":"m","title":"t","steps":[]}"#;
    let folder = tempfile::tempdir().unwrap();
    let db = in_folder(folder.path(), "bugs.db");
    let tracker = OnAFailingDisk::start(&["--db", &db, "--delay", "2s", "--lease", "1s", "--client-timeout", "500ms"]);
    let submit = || {
        let key = "Idempotency-Key: a";
        Curl::run(["-H", key, "-H", "Content-Type: application/json", "-d", REPORT, &tracker.url("/reports")])
    };
    let state = || Curl::run([tracker.url("/idempotency?key=a")]).body;
    thread::scope(|scope| {
        let first = scope.spawn(submit);
        let started = Instant::now();
        while !state().contains("in_progress") {
            assert!(started.elapsed() < FOREVER, "it is never claimed");
        }
        tracker.limit_files_to(&fs::metadata(format!("{db}-wal")).unwrap().len().to_string());
        let first = first.join().unwrap();
        assert!(first.status == 503 && first.body.contains("OutcomeUnknown"), "{first:?}");
    });
    assert!(!state().contains("unknown"), "it was released: {}", state());

    tracker.limit_files_to("unlimited");
    let started = Instant::now();
    let taken_over = loop {
        assert!(started.elapsed() < FOREVER, "it is never taken over");
        let repeat = submit();
        if repeat.status != 409 {
            break repeat;
        }
    };
    assert_eq!((taken_over.status, taken_over.replayed()), (201, Some("false")), "{taken_over:?}");
    let reports: Vec<serde_json::Value> = serde_json::from_str(&Curl::run([tracker.url("/reports")]).body).unwrap();
    assert_eq!(reports.len(), 1);
}

/// A bug tracker whose files may be kept from growing: a write beyond the limit is an I/O error.
struct OnAFailingDisk {
    child: Child,
    url: String,
}

impl OnAFailingDisk {
    fn start(args: &[&str]) -> Self {
        // The signal that comes with the error would end the process.
        let mut child = Command::new("sh")
            .args(["-c", r#"trap "" XFSZ; exec "$0" "$@""#])
            .arg(example("bug_tracker"))
            .args(["--addr", "127.0.0.1:0"])
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        // It prints more, to whoever reads.
        thread::spawn(move || stdout.lines().for_each(drop));
        let url = line.trim().strip_prefix("listening on ").unwrap().to_owned();
        Self { child, url }
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    fn limit_files_to(&self, bytes: &str) {
        let mut prlimit = Command::new("prlimit");
        prlimit.args(["--pid", &self.child.id().to_string(), &format!("--fsize={bytes}:unlimited")]);
        assert!(prlimit.status().expect("util-linux is installed").success());
    }
}

impl Drop for OnAFailingDisk {
    fn drop(&mut self) {
        // Both fail when it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
