//! `redis-server`, as a process that a test may kill, stop and start again.

use std::{
    io::{Read, Write},
    iter,
    net::{Ipv4Addr, TcpStream},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, Weak},
    thread,
    time::Duration,
};

use tempfile::TempDir;

use super::guarded;

/// How often a server that starts is asked, once in ten milliseconds, before it is given up.
const ASKED: usize = 2_000;

/// A server without a password, which writes what it acknowledges to the disk first. Killed when dropped.
#[derive(Debug)]
pub struct RedisServer {
    folder: TempDir,
    port: u16,
    options: Vec<String>,
    process: Option<Child>,
}

impl RedisServer {
    /// Starts one, and returns when it answers.
    ///
    /// # Panics
    ///
    /// If `redis-server` is not installed.
    #[must_use]
    pub fn start() -> Self {
        Self::with([])
    }

    /// Starts one with further options, as a command line has them: `["--maxmemory", "4mb"]`.
    #[must_use]
    pub fn with<const N: usize>(options: [&str; N]) -> Self {
        Self::starting(&options)
    }

    /// The server that tests of one process share, for as long as one of them holds it.
    #[must_use]
    pub fn shared() -> Arc<Self> {
        static SHARED: Mutex<Weak<RedisServer>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock().expect("nobody panics while it is held");
        shared.upgrade().unwrap_or_else(|| {
            let server = Arc::new(Self::start());
            *shared = Arc::downgrade(&server);
            server
        })
    }

    fn starting(options: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let options = options.iter().map(ToString::to_string).collect();
        let mut server = Self { folder, port: 0, options, process: None };
        // Another process may take the port that was free.
        for _ in 0..10 {
            server.port = free_port();
            server.process = Some(server.spawned());
            if server.answers() {
                return server;
            }
            server.kill();
        }
        panic!("redis-server does not start: {}", server.log());
    }

    /// The address, for a client.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/", self.port)
    }

    /// Where it listens.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Ends it as a power cut would: `kill -9`.
    pub fn kill(&mut self) {
        let mut process = self.process.take().expect("it runs");
        process.kill().expect("it lives");
        process.wait().expect("it ends");
    }

    /// Starts it again, on the same port and with what is on its disk, and returns when it answers.
    pub fn start_again(&mut self) {
        assert!(self.process.is_none(), "it runs");
        self.process = Some(self.spawned());
        assert!(self.answers(), "redis-server does not start again: {}", self.log());
    }

    /// It keeps its connections and never answers: `SIGSTOP`.
    pub fn stop_answering(&self) {
        self.signal("-STOP");
    }

    /// It goes on, with all that it was asked meanwhile: `SIGCONT`.
    pub fn go_on(&self) {
        self.signal("-CONT");
    }

    /// Runs a command with `redis-cli`; its answer, line by line.
    pub fn cli<const N: usize>(&self, command: [&str; N]) -> String {
        let mut cli = Command::new("redis-cli");
        let output = cli.args(["-p", &self.port.to_string()]).args(command).output().expect("redis-cli is installed");
        assert!(output.status.success(), "{command:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    fn spawned(&self) -> Child {
        let mut command = Command::new("redis-server");
        command.args(["--port", &self.port.to_string(), "--bind", "127.0.0.1", "--save", ""]);
        command.args(["--appendonly", "yes", "--appendfsync", "always", "--logfile", "log"]);
        command.arg("--dir").arg(self.folder.path()).args(&self.options);
        let spawned = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        spawned.unwrap_or_else(|error| panic!("no redis-server ({error}): apt-get install redis-server"))
    }

    fn answers(&mut self) -> bool {
        for _ in 0..ASKED {
            if pong(self.port) {
                return true;
            }
            let ended = self.process.as_mut().is_some_and(|process| process.try_wait().is_ok_and(|it| it.is_some()));
            if ended {
                return false;
            }
            thread::sleep(Duration::from_millis(10));
        }
        false
    }

    fn signal(&self, signal: &str) {
        let process = self.process.as_ref().expect("it runs");
        let sent = Command::new("kill").args([signal, &process.id().to_string()]).status();
        assert!(sent.expect("there is a kill").success());
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.take() {
            // Both fail when it has ended already.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// Three masters that share the slots, without replicas.
#[derive(Debug)]
pub struct RedisCluster {
    masters: Vec<RedisServer>,
}

impl RedisCluster {
    /// Starts one, and returns when each master knows that all slots are served.
    ///
    /// # Panics
    ///
    /// If `redis-server` is not installed.
    #[must_use]
    pub fn start() -> Self {
        const SLOTS: [(&str, &str); 3] = [("0", "5460"), ("5461", "10922"), ("10923", "16383")];
        let masters: Vec<_> = SLOTS.iter().map(|_| cluster_master()).collect();
        for (master, (first, last)) in masters.iter().zip(SLOTS) {
            master.cli(["cluster", "addslotsrange", first, last]);
            let (port, bus) = (masters[0].port.to_string(), (masters[0].port + 10_000).to_string());
            master.cli(["cluster", "meet", "127.0.0.1", &port, &bus]);
        }
        let formed = |master: &RedisServer| {
            let info = master.cli(["cluster", "info"]);
            info.contains("cluster_state:ok") && info.contains("cluster_known_nodes:3")
        };
        for _ in 0..ASKED {
            if masters.iter().all(formed) {
                return Self { masters };
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("the masters do not find each other");
    }

    /// The masters.
    #[must_use]
    pub fn masters(&self) -> &[RedisServer] {
        &self.masters
    }
}

fn cluster_master() -> RedisServer {
    RedisServer::with(["--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf"])
}

/// Its bus listens ten thousand above it, so it must not be too high for a Cluster.
fn free_port() -> u16 {
    iter::repeat_with(guarded::free_port).find(|port| *port < 55_000).expect("without end")
}

fn pong(port: u16) -> bool {
    let asked = || -> std::io::Result<[u8; 5]> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.write_all(b"PING\r\n")?;
        let mut answer = [0; 5];
        stream.read_exact(&mut answer)?;
        Ok(answer)
    };
    asked().is_ok_and(|answer| &answer == b"+PONG")
}
