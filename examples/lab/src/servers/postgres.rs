//! A Postgres of one's own, or the one that `TEST_POSTGRES_URL` names.

use std::{
    env,
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
    thread,
    time::Duration,
};

use tempfile::TempDir;

use super::guarded::{Account, Guarded, find, free_port};

/// The one server that the tests of a process share; started by the first that asks, and ended with the process.
///
/// # Panics
///
/// If Postgres is not installed, and `TEST_POSTGRES_URL` is not set.
pub fn shared_url() -> String {
    static SHARED: OnceLock<Postgres> = OnceLock::new();
    match env::var("TEST_POSTGRES_URL") {
        Ok(url) => url,
        Err(_) => SHARED.get_or_init(Postgres::start).url(),
    }
}

/// A server on a free port, with its files in a temporary folder. Ended when dropped, and with the process.
#[derive(Debug)]
pub struct Postgres {
    running: Option<Guarded>,
    port: u16,
    account: Option<Account>,
    folder: TempDir,
}

impl Postgres {
    /// Starts one, and returns when it answers.
    ///
    /// # Panics
    ///
    /// If Postgres is not installed, or does not start.
    pub fn start() -> Self {
        let folder = tempfile::Builder::new().prefix("pg").tempdir().expect("a temporary folder");
        let account = Account::other_than_root();
        if let Some(account) = account {
            account.owns(folder.path());
        }
        let mut server = Self { running: None, port: free_port(), account, folder };
        server.initialize();
        server.run();
        server
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Where a client finds it, as the superuser.
    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// Ends it as a crash would (`pg_ctl stop -m immediate`): each connection breaks.
    pub fn crash(&mut self) {
        self.running = None;
    }

    /// Starts it again, on the same port and files.
    pub fn restart(&mut self) {
        self.crash();
        self.run();
    }

    /// Every process of it stands still: what is asked is never answered, and no connection breaks.
    pub fn pause(&self) {
        self.signal("STOP");
    }

    /// It goes on.
    pub fn resume(&self) {
        self.signal("CONT");
    }

    fn initialize(&self) {
        let mut initdb = self.command("initdb");
        initdb.args(["--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync"]);
        let made = initdb.arg("--pgdata").arg(self.data()).output().expect("initdb starts");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    }

    fn run(&mut self) {
        let mut server = self.command("postgres");
        server.arg("-D").arg(self.data()).arg("-k").arg(self.folder.path());
        server.args(["-h", "127.0.0.1", "-p", &self.port.to_string()]);
        server.args([
            "-c",
            "max_connections=300",
            "-c",
            "max_prepared_transactions=10",
            "-c",
            "deadlock_timeout=100ms",
        ]);
        let log = File::create(self.folder.path().join("log")).expect("a file");
        self.running = Some(Guarded::start(&server, "QUIT", self.account, log));
        self.wait_until_it_answers();
    }

    fn wait_until_it_answers(&self) {
        const PATIENCE: Duration = Duration::from_secs(60);
        const PAUSE: Duration = Duration::from_millis(20);
        let mut waited = Duration::ZERO;
        loop {
            let mut ask = self.command("pg_isready");
            ask.args(["-q", "-h", "127.0.0.1", "-p", &self.port.to_string()]);
            if ask.status().expect("pg_isready starts").success() {
                return;
            }
            let log = || fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
            assert!(waited < PATIENCE, "postgres does not answer: {}", log());
            thread::sleep(PAUSE);
            waited += PAUSE;
        }
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(binary(program));
        command.current_dir(self.folder.path()).env("LC_ALL", "C");
        if let Some(account) = self.account {
            account.runs(&mut command);
        }
        command
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn signal(&self, signal: &str) {
        let Some(pid) = self.running.as_ref().map(Guarded::pid) else { return };
        // The first one makes the others, so it stands still before they are counted.
        let kill = |pid: u32| Command::new("kill").args([format!("-{signal}"), pid.to_string()]).status();
        assert!(kill(pid).expect("there is a kill").success());
        for child in children_of(pid) {
            // One that has ended meanwhile needs no signal.
            let _ = kill(child);
        }
    }
}

/// One of Postgres' programs.
fn binary(name: &str) -> PathBuf {
    // Debian keeps them apart from the others, for each version.
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut versions: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).collect();
    versions.sort();
    let found = find(name, versions.into_iter().rev());
    found.expect("no Postgres to test with: `apt-get install postgresql`, or set TEST_POSTGRES_URL")
}

fn children_of(pid: u32) -> Vec<u32> {
    let children = Path::new("/proc").read_dir().expect("Linux").flatten().filter_map(|entry| {
        let child: u32 = entry.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        // The name, in brackets, may hold anything.
        let parent = stat.rsplit(')').next()?.split_whitespace().nth(1)?.parse::<u32>().ok()?;
        (parent == pid).then_some(child)
    });
    children.collect()
}
