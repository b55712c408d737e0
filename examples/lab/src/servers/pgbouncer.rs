//! A PgBouncer of one's own, in transaction mode.

use std::{
    fs::{self, File},
    net::{Ipv4Addr, TcpStream},
    path::PathBuf,
    process::Command,
    thread,
    time::Duration,
};

use tempfile::TempDir;

use super::guarded::{Account, Guarded, find, free_port};

/// A pooler in front of a Postgres, on a free port, for every database there. Ended when dropped, and with the process.
#[derive(Debug)]
pub struct PgBouncer {
    _running: Guarded,
    url: String,
    _folder: TempDir,
}

impl PgBouncer {
    /// Starts one before the server at this address, with so many connections to each of its databases, and returns when
    /// it listens.
    ///
    /// # Panics
    ///
    /// If PgBouncer is not installed, or does not start.
    pub fn before(server: &str, connections: usize) -> Self {
        Self::with(server, connections, &[])
    }

    /// As [`before`](Self::before), with further settings.
    ///
    /// # Panics
    ///
    /// As `before`.
    pub fn with(server: &str, connections: usize, settings: &[(&str, &str)]) -> Self {
        let folder = tempfile::Builder::new().prefix("pgbouncer").tempdir().expect("a temporary folder");
        let account = Account::other_than_root();
        if let Some(account) = account {
            account.owns(folder.path());
        }
        let (scheme, user, password, rest) = parts(server);
        let (address, database) = rest.split_once('/').unwrap_or((rest, user));
        let (host, server_port) = address.rsplit_once(':').unwrap_or((address, "5432"));
        let (file, port) = (|name: &str| folder.path().join(name), free_port());
        let settings: String = settings.iter().map(|(name, value)| format!("{name} = {value}\n")).collect();
        let ini = format!(
            "[databases]\n* = host={host} port={server_port}\n\
             [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n\
             auth_type = trust\nauth_file = {users}\npool_mode = transaction\ndefault_pool_size = {connections}\n\
             max_client_conn = 500\nserver_idle_timeout = 2\nignore_startup_parameters = extra_float_digits\n\
             {settings}",
            users = file("users").display(),
        );
        fs::write(file("pgbouncer.ini"), ini).expect("a file");
        fs::write(file("users"), format!("\"{user}\" \"{password}\"\n")).expect("a file");
        let mut command = Command::new(binary());
        command.arg("--quiet").arg(file("pgbouncer.ini")).current_dir(folder.path());
        let log = File::create(file("log")).expect("a file");
        let running = Guarded::start(&command, "TERM", account, log);
        let url = format!("{scheme}://{user}@127.0.0.1:{port}/{database}");
        wait_until_it_listens(port, || fs::read_to_string(file("log")).unwrap_or_default());
        Self { _running: running, url, _folder: folder }
    }

    /// Where a client finds it, in place of the server's address.
    pub fn url(&self) -> &str {
        &self.url
    }
}

/// Whether the PgBouncer that is installed supports prepared statements: 1.21 and later.
pub fn knows_prepared_statements() -> bool {
    let told = Command::new(binary()).arg("--version").output().expect("pgbouncer starts");
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    let version = told.split_whitespace().nth(1).unwrap_or_else(|| panic!("a version: {told:?}"));
    let mut numbers = version.split('.').map(|number| number.parse::<u32>().unwrap_or(0));
    (numbers.next(), numbers.next()) >= (Some(1), Some(21))
}

/// Scheme, account, password and the rest of an address.
fn parts(url: &str) -> (&str, &str, &str, &str) {
    let (scheme, rest) = url.split_once("://").expect("a URL");
    let (account, rest) = rest.split_once('@').unwrap_or(("postgres", rest));
    let (user, password) = account.split_once(':').unwrap_or((account, ""));
    (scheme, user, password, rest)
}

fn binary() -> PathBuf {
    // Where Debian puts it, and where not every account looks.
    let found = find("pgbouncer", ["/usr/sbin".into()]);
    found.expect("no PgBouncer to test with: `apt-get install pgbouncer`")
}

fn wait_until_it_listens(port: u16, log: impl Fn() -> String) {
    const PATIENCE: Duration = Duration::from_secs(60);
    const PAUSE: Duration = Duration::from_millis(20);
    let mut waited = Duration::ZERO;
    while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
        assert!(waited < PATIENCE, "pgbouncer does not listen: {}", log());
        thread::sleep(PAUSE);
        waited += PAUSE;
    }
}
