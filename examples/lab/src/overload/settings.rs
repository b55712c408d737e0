//! What can be set, and within which bounds.

use std::{fmt, time::Duration};

use serde::Serialize;

/// A server, the requests that come in, and how long to watch. The bounds are those of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::Args)]
pub struct Settings {
    /// What arrivals and delays are drawn from
    #[arg(long, default_value_t = Self::DEFAULT.seed)]
    pub seed: u64,

    /// Requests that the server works on at the same time
    #[arg(long, default_value_t = Self::DEFAULT.workers, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub workers: u32,

    /// How long a worker takes for one, in milliseconds
    #[arg(long, default_value_t = Self::DEFAULT.service_ms, value_parser = clap::value_parser!(u32).range(1..=60_000))]
    pub service_ms: u32,

    /// Requests that may wait for a worker; a further one is answered 503 at once
    #[arg(long, default_value_t = Self::DEFAULT.queue, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub queue: u32,

    /// What becomes of a waiting request whose client has given up
    #[arg(long, value_enum, default_value_t = Self::DEFAULT.abandoned)]
    pub abandoned: Abandoned,

    /// Requests of which a worker makes an error, by chance, in percent: what retries are good for
    #[arg(long, default_value_t = Self::DEFAULT.errors, value_parser = clap::value_parser!(u32).range(0..=50))]
    pub errors: u32,

    /// Requests that come in, in percent of what the workers can do
    #[arg(long, default_value_t = Self::DEFAULT.load, value_parser = clap::value_parser!(u32).range(1..=99))]
    pub load: u32,

    /// How long a client waits for the answer to one attempt, in milliseconds
    #[arg(long, default_value_t = Self::DEFAULT.timeout_ms, value_parser = clap::value_parser!(u32).range(1..=60_000))]
    pub timeout_ms: u32,

    /// Attempts of one request, the first one included, where there are retries
    #[arg(long, default_value_t = Self::DEFAULT.attempts, value_parser = clap::value_parser!(u32).range(2..=10))]
    pub attempts: u32,

    /// Processes that send the requests in turn, each with a budget of its own
    #[arg(long, default_value_t = Self::DEFAULT.clients, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub clients: u32,

    /// Seconds before the outage
    #[arg(long, default_value_t = Self::DEFAULT.before_s, value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub before_s: u32,

    /// Seconds in which no worker begins anything
    #[arg(long, default_value_t = Self::DEFAULT.outage_s, value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub outage_s: u32,

    /// Seconds that are watched after the outage
    #[arg(long, default_value_t = Self::DEFAULT.after_s, value_parser = clap::value_parser!(u32).range(10..=3600))]
    pub after_s: u32,
}

/// What becomes of a waiting request whose client has given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Abandoned {
    /// A worker does it, for nobody: as a server that reads its connections one after the other.
    Served,
    /// It is thrown away when its turn comes, which costs nothing.
    Dropped,
}

/// More requests than are worth waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany {
    /// So many would come in.
    pub requests: u64,
}

impl Settings {
    /// 100 requests a second can be served, 75 come in.
    pub const DEFAULT: Self = Self {
        seed: 1,
        workers: 10,
        service_ms: 100,
        queue: 500,
        abandoned: Abandoned::Served,
        errors: 1,
        load: 75,
        timeout_ms: 1000,
        attempts: 4,
        clients: 1,
        before_s: 20,
        outage_s: 20,
        after_s: 120,
    };

    /// The most that a run may bring in.
    pub const MOST_REQUESTS: u64 = 1_000_000;

    /// Refuses what would run for minutes.
    ///
    /// # Errors
    ///
    /// If more than [`MOST_REQUESTS`](Self::MOST_REQUESTS) would come in.
    pub fn check(&self) -> Result<(), TooMany> {
        let requests = (self.arrivals_per_second() * f64::from(self.watched_s())) as u64;
        if requests <= Self::MOST_REQUESTS { Ok(()) } else { Err(TooMany { requests }) }
    }

    /// Requests a second that the workers can do.
    pub fn capacity(&self) -> f64 {
        f64::from(self.workers) * 1000.0 / f64::from(self.service_ms)
    }

    /// Requests a second that come in, on average.
    pub fn arrivals_per_second(&self) -> f64 {
        self.capacity() * f64::from(self.load) / 100.0
    }

    /// The second that begins with the outage's end.
    pub fn outage_end_s(&self) -> u32 {
        self.before_s + self.outage_s
    }

    /// Seconds in all.
    pub fn watched_s(&self) -> u32 {
        self.outage_end_s() + self.after_s
    }

    pub(super) fn service_time(&self) -> Duration {
        Duration::from_millis(self.service_ms.into())
    }

    pub(super) fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms.into())
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl fmt::Display for TooMany {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} requests would come in, more than {}", self.requests, Settings::MOST_REQUESTS)
    }
}

impl std::error::Error for TooMany {}
