//! The first article's `key_atomic` as one writes it by hand, with its fence and without it: what a lapsed lease costs.
//!
//! 1. In one transaction: look the key up, and claim it with a fence that is one higher.
//! 2. The work.
//! 3. In another one: file the report, and finish the key, if the fence is still the own one.
//!
//! Nothing renews the lease, and bodies are not compared.

use std::time::Duration;

use axum::{
    Json, Router,
    extract::State,
    response::{IntoResponse, Response},
    routing::post,
};
use deadpool_sqlite::Pool;
use http::{HeaderMap, StatusCode};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior::Immediate};
use tokio::time::Instant;

use crate::{
    app::Hold,
    bug_tracker::{
        problem::Problem,
        reports::{NewReport, ReportId},
        table,
    },
    watch::{Before, Event, Watch},
};

/// What step 3 does with the fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fence {
    /// Whoever was passed files nothing.
    Compared,
    /// Whoever comes files its report.
    Ignored,
}

/// A bug tracker by hand.
#[derive(Clone, Debug)]
pub struct HandWritten {
    /// The database of reports; the keys go there too.
    pub pool: Pool,
    /// How long a claim lasts.
    pub lease: Duration,
    /// Whether holders that were passed are told apart.
    pub fence: Fence,
    /// Where the first run of each key is held: between its claim and its report.
    pub hold: Hold,
}

/// How step 1 ends.
enum Claimed {
    Acquired { fence: i64 },
    Answered(Answer),
}

/// What the client is told.
enum Answer {
    Filed { report_id: i64 },
    Replayed { report_id: i64 },
    InFlight,
}

impl HandWritten {
    /// Makes the table of keys, and the application.
    pub async fn app(self) -> Result<Router, Problem> {
        table::read(&self.pool, |connection| {
            connection.execute_batch(
                "CREATE TABLE keys_by_hand (
                    key       TEXT PRIMARY KEY,
                    fence     INTEGER NOT NULL,
                    locked_at INTEGER NOT NULL, -- milliseconds since the server began
                    report_id INTEGER           -- NULL: unfinished
                ) STRICT",
            )
        })
        .await?;
        let tracker = (self, Instant::now());
        Ok(Router::new().route("/reports", post(submit)).with_state(tracker))
    }
}

async fn submit(
    State((tracker, begun)): State<(HandWritten, Instant)>,
    watch: Watch,
    headers: HeaderMap,
    report: NewReport,
) -> Result<Response, Problem> {
    let HandWritten { pool, lease, fence: compare, hold } = tracker;
    let key = headers.get("idempotency-key").and_then(|key| key.to_str().ok()).map(str::to_owned);
    let key = key.ok_or_else(|| Problem::bad_request("A report needs an Idempotency-Key."))?;

    let now = begun.elapsed();
    let claimed = table::read(&pool, {
        let key = key.clone();
        move |connection| claim(connection, &key, now, lease)
    });
    let fence = match claimed.await? {
        Claimed::Acquired { fence } => fence,
        Claimed::Answered(answer) => return Ok(answer.into_response()),
    };
    // Each claim of a key goes one up, from 1.
    watch.saw(Event::Claimed { fence: fence.unsigned_abs(), run: u32::try_from(fence).expect("not that many") });
    watch.saw(Event::Working);
    if fence == 1 {
        hold.pass().await;
    }
    watch.hold(Before::Writing).await;
    let watching = watch.clone();
    let finished = table::read(&pool, move |connection| finish(connection, &key, fence, compare, &report, &watching));
    let finished = finished.await?;
    watch.saw(match (&finished, compare) {
        (Answer::Filed { .. }, Fence::Compared) => Event::Committed,
        (Answer::Filed { .. }, Fence::Ignored) => Event::CommittedUnfenced,
        (Answer::Replayed { .. } | Answer::InFlight, _) => Event::FencedOut,
    });
    Ok(finished.into_response())
}

/// Step 1.
fn claim(connection: &Connection, key: &str, now: Duration, lease: Duration) -> rusqlite::Result<Claimed> {
    let tx = Transaction::new_unchecked(connection, Immediate)?;
    let record: Option<(i64, i64, Option<i64>)> = tx
        .query_row("SELECT fence, locked_at, report_id FROM keys_by_hand WHERE key = ?1", [key], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
        .optional()?;
    let now = milliseconds(now);
    let before = match record {
        Some((_, _, Some(report_id))) => return Ok(Claimed::Answered(Answer::Replayed { report_id })),
        Some((_, locked_at, None)) if now < locked_at + milliseconds(lease) => {
            return Ok(Claimed::Answered(Answer::InFlight));
        }
        Some((fence, _, None)) => fence,
        None => 0,
    };
    let fence = before + 1;
    tx.execute("INSERT OR REPLACE INTO keys_by_hand VALUES (?1, ?2, ?3, NULL)", (key, fence, now))?;
    tx.commit()?;
    Ok(Claimed::Acquired { fence })
}

/// Step 3.
fn finish(
    connection: &Connection,
    key: &str,
    fence: i64,
    compare: Fence,
    report: &NewReport,
    watch: &Watch,
) -> rusqlite::Result<Answer> {
    let tx = Transaction::new_unchecked(connection, Immediate)?;
    let report_id = table::insert(&tx, report)?;
    watch.saw(Event::ReportInserted { report_id });
    let finished = match compare {
        Fence::Compared => tx.execute(
            "UPDATE keys_by_hand SET report_id = ?1 WHERE key = ?2 AND report_id IS NULL AND fence = ?3",
            (report_id, key, fence),
        )?,
        Fence::Ignored => tx.execute("UPDATE keys_by_hand SET report_id = ?1 WHERE key = ?2", (report_id, key))?,
    };
    if finished == 1 {
        tx.commit()?;
        return Ok(Answer::Filed { report_id });
    }
    tx.rollback()?;
    let query = "SELECT report_id FROM keys_by_hand WHERE key = ?1";
    let report_id: Option<i64> = connection.query_row(query, [key], |row| row.get(0))?;
    Ok(report_id.map_or(Answer::InFlight, |report_id| Answer::Replayed { report_id }))
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let filed = |report_id, replayed| {
            (StatusCode::CREATED, [("idempotency-replayed", replayed)], Json(ReportId { report_id })).into_response()
        };
        match self {
            Self::Filed { report_id } => filed(report_id, "false"),
            Self::Replayed { report_id } => filed(report_id, "true"),
            Self::InFlight => StatusCode::CONFLICT.into_response(),
        }
    }
}

fn milliseconds(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).expect("not that long")
}
