//! A server's process: under an account other than root's, and gone with whoever started it.

use std::{
    env,
    fs::{self, File},
    io::{BufRead, BufReader},
    net::TcpListener,
    os::unix::{
        fs::{MetadataExt, chown},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

/// Runs a server until its input ends: then the process that started it is gone, however it ended. A server that
/// stands still is woken to take the signal.
const UNTIL_LEFT: &str = r#"
signal=$0
"$@" &
server=$!
echo $server
cat > /dev/null
kill -$signal $server; kill -CONT $server
wait $server
"#;

/// A server that runs. Ended when dropped.
#[derive(Debug)]
pub(super) struct Guarded {
    guard: Child,
    pid: u32,
}

impl Guarded {
    /// Starts it. This signal ends it at once.
    pub(super) fn start(server: &Command, signal: &str, account: Option<Account>, log: File) -> Self {
        let mut guard = Command::new("sh");
        guard.arg("-c").arg(UNTIL_LEFT).arg(signal).arg(server.get_program()).args(server.get_args());
        guard.envs(server.get_envs().filter_map(|(name, value)| Some((name, value?))));
        if let Some(folder) = server.get_current_dir() {
            guard.current_dir(folder);
        }
        if let Some(account) = account {
            account.runs(&mut guard);
        }
        let mut guard = guard.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log).spawn().expect("sh starts");
        let mut pid = String::new();
        BufReader::new(guard.stdout.take().expect("it is piped")).read_line(&mut pid).expect("it prints");
        Self { guard, pid: pid.trim().parse().expect("a pid") }
    }

    pub(super) fn pid(&self) -> u32 {
        self.pid
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        // It fails if it has ended already.
        let _ = self.guard.wait();
    }
}

/// As whom a server runs that refuses root.
#[derive(Clone, Copy, Debug)]
pub(super) struct Account {
    user: u32,
    group: u32,
}

impl Account {
    pub(super) fn other_than_root() -> Option<Self> {
        let me = fs::metadata("/proc/self").expect("Linux").uid();
        if me != 0 {
            return None;
        }
        let known = fs::read_to_string("/etc/passwd").expect("a list of accounts");
        let find = |name: &str| {
            let line = known.lines().find(|line| line.split(':').next() == Some(name))?;
            let mut fields = line.split(':').skip(2).map(str::parse);
            Some(Self { user: fields.next()?.ok()?, group: fields.next()?.ok()? })
        };
        Some(find("postgres").or_else(|| find("nobody")).expect("an account other than root's"))
    }

    pub(super) fn runs(self, command: &mut Command) {
        command.uid(self.user).gid(self.group);
    }

    pub(super) fn owns(self, folder: &Path) {
        chown(folder, Some(self.user), Some(self.group)).expect("root may");
    }
}

/// A program, along `PATH` and then in these folders.
pub(super) fn find(name: &str, further: impl IntoIterator<Item = PathBuf>) -> Option<PathBuf> {
    let path: Vec<PathBuf> = env::var_os("PATH").iter().flat_map(env::split_paths).collect();
    path.into_iter().chain(further).map(|folder| folder.join(name)).find(|file| file.exists())
}

pub(super) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port").port()
}
