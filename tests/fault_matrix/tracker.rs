//! A bug tracker on a port and a file of its own.

use std::{future::pending, io, net::SocketAddr, time::Duration};

use lab::{
    bug_tracker::{
        Implementation, Options, Server,
        faults::{Faults, NewCounters},
        reports::NewReport,
        table,
    },
    harness::{Harness, KeySource, Settings, Submission, ToolCall},
};
use rusqlite::Connection;
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_util::task::AbortOnDropHandle;

pub(crate) struct Tracker {
    pub(crate) address: SocketAddr,
    pub(crate) faults: Faults,
    folder: TempDir,
    _serving: AbortOnDropHandle<io::Result<()>>,
}

impl Tracker {
    /// Without the page that sets faults.
    pub(crate) async fn start(implementation: Implementation) -> Self {
        Self::start_with(|options| Options { implementation, ..options }).await
    }

    /// With it.
    pub(crate) async fn with_faults_page() -> Self {
        Self::start_with(|options| Options { faults: true, ..options }).await
    }

    async fn start_with(change: impl FnOnce(Options) -> Options) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = Options {
            store: None,
            addr: ([127, 0, 0, 1], 0).into(),
            db: Some(folder.path().join("bugs.db")),
            delay: Duration::ZERO,
            lease: Duration::from_secs(10),
            client_timeout: Duration::from_secs(2),
            notify_url: None,
            implementation: Implementation::KeyAtomic,
            faults: false,
        };
        let server = Server::start(&change(options)).await.unwrap();
        let (address, faults) = (server.addr().unwrap(), server.faults().clone());
        let serving = AbortOnDropHandle::new(tokio::spawn(server.serve(pending())));
        Self { address, faults, folder, _serving: serving }
    }

    pub(crate) fn lose_responses(&self, count: u32) {
        self.faults.set(NewCounters { lose_response_after_commit: Some(count), ..NewCounters::default() });
    }

    pub(crate) fn crash(&self, count: u32) {
        self.faults.set(NewCounters { crash_mid_request: Some(count), ..NewCounters::default() });
    }

    /// One call of the tool. No attempt times out, however slow the host.
    pub(crate) async fn submit(&self, key_source: KeySource, attempts: u32) -> Submission {
        let settings = Settings::new(key_source).attempt_timeout(Duration::from_secs(60)).max_attempts(attempts);
        let call = ToolCall { run_id: "run-042".into(), tool_use_id: "toolu_01".into() };
        Harness::new(&self.address.into(), settings).submit(&report(), &call).await
    }

    /// All bytes that come for this request until the server closes the connection.
    pub(crate) async fn raw(&self, request: &str) -> String {
        let mut connection = TcpStream::connect(self.address).await.unwrap();
        connection.write_all(request.as_bytes()).await.unwrap();
        let mut read = Vec::new();
        // A reset ends it as well as a close; what came before it counts.
        let _ = connection.read_to_end(&mut read).await;
        String::from_utf8(read).unwrap()
    }

    /// How many reports are committed, seen from outside.
    pub(crate) fn reports(&self) -> usize {
        table::all(&self.connection()).unwrap().len()
    }

    /// How many keys `key_split` has registered.
    pub(crate) fn split_keys(&self) -> i64 {
        self.connection().query_one("SELECT count(*) FROM split_keys", (), |row| row.get(0)).unwrap()
    }

    fn connection(&self) -> Connection {
        Connection::open(self.folder.path().join("bugs.db")).unwrap()
    }
}

fn report() -> NewReport {
    NewReport {
        run_id: "run-042".into(),
        module: "cart".into(),
        title: "Total is wrong".into(),
        steps: vec!["add two items".into()],
    }
}

/// A POST of JSON as bytes; the server is asked to close the connection after its answer.
pub(crate) fn post(path: &str, key: Option<&str>, body: &str) -> String {
    let key = key.map_or_else(String::new, |key| format!("idempotency-key: {key}\r\n"));
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nhost: lab\r\nconnection: close\r\ncontent-type: application/json\r\n{key}\
         content-length: {length}\r\n\r\n{body}"
    )
}

pub(crate) const REPORT: &str =
    r#"{"run_id":"run-042","module":"cart","title":"Total is wrong","steps":["add two items"]}"#;

/// How each attempt ended.
pub(crate) fn ends(submission: &Submission) -> Vec<String> {
    submission.attempts.iter().map(|attempt| attempt.end.to_string()).collect()
}

/// Whether the answer to each attempt was a stored one.
pub(crate) fn replays(submission: &Submission) -> Vec<bool> {
    submission.attempts.iter().map(|attempt| attempt.replayed).collect()
}
