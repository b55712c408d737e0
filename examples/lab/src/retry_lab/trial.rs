//! One row of the article's table: a request that times out after its commit, and its retry.

use std::{error::Error, fmt, io, time::Duration};

use tower::BoxError;

use super::{
    app::DEMO_CLIENT,
    curl::{self, Post},
    server::Server,
    table::{Job, Witness},
};
use crate::process::Curl;

/// How long the server takes to answer what it has committed.
pub const DELAY: Duration = Duration::from_millis(350);
/// How long the client of the first request waits.
pub const LIMIT: Duration = Duration::from_millis(50);
/// How long the client of the retry waits.
const LONG: Duration = Duration::from_secs(10);
/// How long the commit may take to be seen.
const BOUND: Duration = Duration::from_secs(2);
/// How often a first request may fail to reach the server in time, as it does now and then on a busy machine.
const TRIES: u32 = 10;

/// A way to send a request and to send it again.
#[derive(Clone, Copy, Debug)]
pub struct Trial {
    /// What it is called in the table.
    pub name: &'static str,
    /// The path that is posted to.
    pub path: &'static str,
    /// The keys of the request and of its retry.
    pub keys: [Option<&'static str>; 2],
    /// The row of the article.
    pub expected: Figures,
}

/// Without a key the retry creates a second job.
pub const PLAIN_POST: Trial = Trial {
    name: "plain POST",
    path: "/unsafe-jobs",
    keys: [None, None],
    expected: Figures { after_timeout: 1, after_retry: 2, id: Some(2) },
};

/// With the same key the retry gets the answer that the first request did not live to see.
pub const SAME_KEY: Trial = Trial {
    name: "same key",
    path: "/jobs",
    keys: [Some("demo-report-1"), Some("demo-report-1")],
    expected: Figures { after_timeout: 1, after_retry: 1, id: Some(1) },
};

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    /// Jobs once the first request has timed out.
    pub after_timeout: u64,
    /// Jobs once the retry has been answered.
    pub after_retry: u64,
    /// The job that the retry was told of, if it was told of one.
    pub id: Option<i64>,
}

/// What was sent and what came of it.
#[derive(Clone, Debug)]
pub struct Observed {
    /// First requests before this one that timed out too early to do anything. They say nothing about a retry.
    pub undelivered: u32,
    /// The request that timed out.
    pub first: Post,
    /// The same request again.
    pub retry: Post,
    /// The answer to the retry.
    pub answer: Curl,
    /// What was counted.
    pub figures: Figures,
}

impl Trial {
    /// Runs it, until a first request has been committed.
    pub async fn run(&self) -> Result<Observed, Failure> {
        for undelivered in 0..TRIES {
            match self.run_once(undelivered).await {
                Err(Failure::NeverCommitted) => {}
                ended => return ended,
            }
        }
        Err(Failure::NeverCommitted)
    }

    /// Runs it on a server and a database of its own.
    async fn run_once(&self, undelivered: u32) -> Result<Observed, Failure> {
        let folder = tempfile::tempdir().map_err(set_up)?;
        let db = folder.path().join("jobs.db");
        let server = Server::open(&db, DELAY, DEMO_CLIENT).await.map_err(Failure::SetUp)?;
        let witness = Witness::open(&db).map_err(set_up)?;
        let [first, retry] = [(self.keys[0], LIMIT), (self.keys[1], LONG)].map(|(key, max_time)| Post {
            url: server.url(self.path),
            key: key.map(Into::into),
            body: r#"{"task":"demo-report"}"#.into(),
            max_time,
        });

        let timed_out = first.run().await;
        if timed_out.exit != curl::TIMED_OUT {
            return Err(Failure::NoTimeout(timed_out.exit));
        }
        // What the client cannot know, the database does: only now is it sure that a retry is a second request.
        let committed = witness.jobs_once_there_is_one(BOUND).await.map_err(set_up)?;
        let after_timeout = committed.ok_or(Failure::NeverCommitted)?;
        let answer = retry.run().await;
        let after_retry = witness.jobs().map_err(set_up)?;
        server.stop().await.map_err(set_up)?;

        let id = serde_json::from_str(&answer.body).ok().map(|job: Job| job.job_id);
        Ok(Observed { undelivered, first, retry, answer, figures: Figures { after_timeout, after_retry, id } })
    }
}

/// Why a trial has no figures.
#[derive(Debug)]
pub enum Failure {
    /// There is no curl to run.
    NoCurl(io::Error),
    /// The server or its database could not be used.
    SetUp(BoxError),
    /// The first request ended with this exit code of curl.
    NoTimeout(i32),
    /// No first request did anything within its limit.
    NeverCommitted,
}

fn set_up(error: impl Into<BoxError>) -> Failure {
    Failure::SetUp(error.into())
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCurl(_) => f.write_str(
                "there is no curl to run, and this lab needs a real one: `apt install curl`, `brew install curl`, or \
                 https://curl.se/download.html",
            ),
            Self::SetUp(_) => f.write_str("the server or its database cannot be used"),
            Self::NoTimeout(exit) => write!(f, "curl was to time out (exit 28), and ended with {exit}"),
            Self::NeverCommitted => f.write_str(
                "each curl gave up before the server had taken its request up: run it again on a less busy machine",
            ),
        }
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::NoCurl(error) => Some(error),
            Self::SetUp(error) => Some(&**error),
            Self::NoTimeout(_) | Self::NeverCommitted => None,
        }
    }
}
