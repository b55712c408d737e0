//! Examples as processes of their own, which a test may kill, and a real curl.

use std::{
    ffi::OsStr,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Output, Stdio},
};

/// The file of an example, built by `cargo test` beside the test that asks.
pub fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test is a file");
    let profile = test.ancestors().nth(2).expect("target/<profile>/deps/<test>");
    let file = profile.join("examples").join(name);
    assert!(file.exists(), "no {}: run `cargo build --example {name}` first", file.display());
    file
}

/// A bug tracker in a process of its own. Killed when dropped.
#[derive(Debug)]
pub struct BugTracker {
    child: Child,
    stdout: BufReader<ChildStdout>,
    url: String,
}

impl BugTracker {
    /// Starts it on a free port, and returns when it listens.
    pub fn start<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Self {
        Self::start_at("127.0.0.1:0", args).unwrap_or_else(|line| panic!("it says {line:?}"))
    }

    /// Starts it at this address, and returns when it listens; or what it prints instead.
    pub fn start_at<A: AsRef<OsStr>>(address: &str, args: impl IntoIterator<Item = A>) -> Result<Self, String> {
        let mut child = Command::new(example("bug_tracker"))
            .args(["--addr", address])
            .args(args)
            // Nobody reads its log.
            .env("RUST_LOG", "off")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let mut stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut line = String::new();
        stdout.read_line(&mut line).expect("it prints");
        match line.trim().strip_prefix("listening on ") {
            Some(url) => Ok(Self { url: url.to_owned(), child, stdout }),
            None => {
                // It has ended by itself, or it never will.
                let _ = child.kill();
                child.wait().expect("it ends");
                Err(line)
            }
        }
    }

    /// The address of a page.
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    /// Files a report with curl.
    pub fn submit(&self, key: &str, report: &str) -> Curl {
        self.curl(["-H", &format!("Idempotency-Key: {key}")], report)
    }

    /// Begins to file a report with curl.
    pub fn start_submitting(&self, key: &str, report: &str) -> Client {
        let key = format!("Idempotency-Key: {key}");
        let url = self.url("/reports");
        Client::start(["-H", &key, "-H", "Content-Type: application/json", "-d", report, &url])
    }

    /// POSTs to `/reports` with curl and these further arguments.
    pub fn curl<A: Into<String>>(&self, args: impl IntoIterator<Item = A>, report: &str) -> Curl {
        let mut all: Vec<String> = args.into_iter().map(Into::into).collect();
        all.extend(["-H", "Content-Type: application/json", "-d", report].map(String::from));
        all.push(self.url("/reports"));
        Curl::run(all)
    }

    /// Ends it as a power cut would: `kill -9`.
    pub fn kill(mut self) {
        self.child.kill().expect("it lives");
        self.child.wait().expect("it ends");
    }

    /// It stands still, and its connections with it: `SIGSTOP`.
    pub fn pause(&self) {
        self.signal("-STOP");
    }

    /// It goes on: `SIGCONT`.
    pub fn resume(&self) {
        self.signal("-CONT");
    }

    /// Ends it as Ctrl-C does, and returns its exit code.
    pub fn interrupt(mut self) -> Option<i32> {
        self.signal("-INT");
        self.child.wait().expect("it ends").code()
    }

    fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.child.id().to_string()]).status();
        assert!(sent.expect("there is a kill").success());
    }
}

impl Drop for BugTracker {
    fn drop(&mut self) {
        // Both fail when it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs the example with arguments that make it end, by a failure or as `submit` does, and returns what it says.
pub fn bug_tracker<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Output {
    Command::new(example("bug_tracker")).args(args).output().expect("it starts")
}

/// Runs it until it serves, and returns all that it prints before.
pub fn printed_until_it_serves(args: &[&str]) -> String {
    let mut tracker = BugTracker::start(args);
    let mut printed = String::new();
    // The last line of its start is the command that lists the reports.
    while !printed.trim_end().ends_with("/reports") {
        let read = tracker.stdout.read_line(&mut printed).expect("it prints");
        assert!(read > 0, "it ended after {printed:?}");
    }
    printed
}

/// A curl that runs.
#[derive(Debug)]
pub struct Client(Child);

impl Client {
    fn start<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Self {
        let mut curl = Command::new("curl");
        curl.args(["-s", "-i"]).args(args).stdout(Stdio::piped());
        Self(curl.spawn().expect("curl is installed"))
    }

    /// Closes its connection.
    pub fn disconnect(mut self) {
        self.0.kill().expect("it lives");
        self.0.wait().expect("it ends");
    }

    /// Waits for what it got.
    pub fn answer(self) -> Curl {
        Curl::of(&self.0.wait_with_output().expect("it ends"))
    }
}

/// What curl got.
#[derive(Clone, Debug)]
pub struct Curl {
    /// The exit code of curl: 28 is a timeout.
    pub exit: i32,
    /// The status; 0 if there was no answer.
    pub status: u16,
    /// The header lines, in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
}

impl Curl {
    /// Runs a real curl.
    pub fn run<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Self {
        Client::start(args).answer()
    }

    fn of(output: &Output) -> Self {
        let text = String::from_utf8_lossy(&output.stdout);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_default();
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)).and_then(|code| code.parse().ok());
        let field = |line: &str| line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned()));
        Self {
            exit: output.status.code().expect("no signal"),
            status: status.unwrap_or_default(),
            headers: lines.filter_map(field).collect(),
            body: body.to_owned(),
        }
    }

    /// The value of a header line, if there is one.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| &**value)
    }

    /// The replay mark.
    pub fn replayed(&self) -> Option<&str> {
        self.header("idempotency-replayed")
    }
}

/// The path of a file in this folder, as an argument.
pub fn in_folder(folder: &Path, name: &str) -> String {
    folder.join(name).to_str().expect("text").to_owned()
}
