//! The verbs, as functions of a connection and the time: what is judged and what is written.
//!
//! Times are milliseconds since the Unix epoch. None of these functions begins or ends a transaction.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Result, Row, named_params};

use super::columns::{Blob, Code, Columns, duration, fence_column, instant, millis};
use crate::store::{ClaimRequest, Claimed, Differs, Found, Held, Outcome, ScopedKey, Status, Token};

/// What a record says about a request.
pub(super) enum Judged {
    /// No record, or one past its retention.
    Absent,
    /// Unfinished, its lease has lapsed, and this many runs were claimed.
    Lapsed { attempt: u32 },
    /// Unfinished, and its lease runs.
    Running { lease_left: Duration },
    /// Unfinished, and its lease shows more than its own length left: the clock was set back.
    Overlong { lease: Duration },
    /// Finished.
    Ended(Outcome),
    /// Another request has this key.
    Differs(Differs),
}

impl Judged {
    /// The answer to a claim, where that changes nothing.
    pub(super) fn settled(self) -> Option<Claimed> {
        match self {
            Self::Absent | Self::Lapsed { .. } | Self::Overlong { .. } => None,
            Self::Running { lease_left } => Some(Claimed::InFlight { lease_left }),
            Self::Ended(Outcome::Response(response)) => Some(Claimed::Done(response)),
            Self::Ended(Outcome::NotReplayable(status)) => Some(Claimed::NotReplayable(status)),
            Self::Differs(differs) => Some(Claimed::Mismatch(differs)),
        }
    }
}

impl From<Judged> for Found {
    fn from(judged: Judged) -> Self {
        match judged {
            Judged::Absent => Self::Absent,
            Judged::Lapsed { .. } => Self::Lapsed,
            Judged::Running { lease_left } => Self::InFlight { lease_left },
            Judged::Overlong { lease } => Self::InFlight { lease_left: lease },
            Judged::Ended(Outcome::Response(response)) => Self::Done(response),
            Judged::Ended(Outcome::NotReplayable(status)) => Self::NotReplayable(status),
            Judged::Differs(differs) => Self::Mismatch(differs),
        }
    }
}

/// Judges in the order of the store's rule 2, and changes nothing.
pub(super) fn judge(connection: &Connection, request: &ClaimRequest, now: i64) -> Result<Judged> {
    const SQL: &str = "
        SELECT fingerprint, ended_at, status, response, lease_until, lease, attempt
        FROM tower_idempotency_records WHERE key = :key AND expires_at > :now";
    let judged = connection
        .prepare_cached(SQL)?
        .query_row(named_params! { ":key": request.key.as_bytes(), ":now": now }, |row| {
            let Blob(recorded) = row.get("fingerprint")?;
            if let Some(differs) = request.fingerprint.differs_from(&recorded) {
                return Ok(Judged::Differs(differs));
            }
            if row.get::<_, Option<i64>>("ended_at")?.is_some() {
                return outcome(row).map(Judged::Ended);
            }
            let lease_left: i64 = row.get::<_, i64>("lease_until")?.saturating_sub(now);
            let lease: i64 = row.get("lease")?;
            Ok(if lease_left <= 0 {
                Judged::Lapsed { attempt: row.get("attempt")? }
            } else if lease_left > lease {
                Judged::Overlong { lease: duration(lease) }
            } else {
                Judged::Running { lease_left: duration(lease_left) }
            })
        })
        .optional()?;
    Ok(judged.unwrap_or(Judged::Absent))
}

/// Grants a lease, or says why not.
pub(super) fn claim(connection: &Connection, request: &ClaimRequest, now: i64) -> Result<Claimed> {
    match judge(connection, request, now)? {
        Judged::Absent => grant(connection, request, 1, now),
        Judged::Lapsed { attempt } => grant(connection, request, attempt.saturating_add(1), now),
        Judged::Overlong { lease } => {
            cut_lease(connection, &request.key, now)?;
            Ok(Claimed::InFlight { lease_left: lease })
        }
        judged => Ok(judged.settled().expect("the other judgements change nothing")),
    }
}

/// Lets the lease of an unfinished record run for `lease` from now.
pub(super) fn renew(connection: &Connection, token: &Token, lease: Duration, now: i64) -> Result<Held> {
    const SQL: &str = "
        UPDATE tower_idempotency_records
        SET lease = :lease, lease_until = :now + :lease, expires_at = :now + :lease + retention
        WHERE key = :key AND fence = :fence AND holder = :holder AND ended_at IS NULL AND expires_at > :now";
    let changed = connection.prepare_cached(SQL)?.execute(named_params! {
        ":key": token.key().as_bytes(),
        ":fence": fence_column(token),
        ":holder": token.holder(),
        ":lease": millis(lease),
        ":now": now,
    })?;
    Ok(held(changed))
}

/// Finishes a record; `Yes` too if this token finished it with this outcome before.
pub(super) fn complete(connection: &Connection, token: &Token, outcome: &Columns, now: i64) -> Result<Held> {
    const SQL: &str = "
        SELECT 1 FROM tower_idempotency_records
        WHERE key = :key AND fence = :fence AND holder = :holder AND ended_at IS NOT NULL AND expires_at > :now
            AND status = :status AND response IS :response";
    if let Held::Yes = finish(connection, token, outcome, now)? {
        return Ok(Held::Yes);
    }
    let finished_before = connection.prepare_cached(SQL)?.exists(named_params! {
        ":key": token.key().as_bytes(),
        ":fence": fence_column(token),
        ":holder": token.holder(),
        ":status": outcome.status,
        ":response": outcome.response,
        ":now": now,
    })?;
    Ok(held(finished_before.into()))
}

/// Finishes an unfinished record; a commit demands one (the store's rule 3).
pub(super) fn finish(connection: &Connection, token: &Token, outcome: &Columns, now: i64) -> Result<Held> {
    const SQL: &str = "
        UPDATE tower_idempotency_records
        SET ended_at = :now, status = :status, response = :response, expires_at = :now + retention
        WHERE key = :key AND fence = :fence AND holder = :holder AND ended_at IS NULL AND expires_at > :now";
    let changed = connection.prepare_cached(SQL)?.execute(named_params! {
        ":key": token.key().as_bytes(),
        ":fence": fence_column(token),
        ":holder": token.holder(),
        ":status": outcome.status,
        ":response": outcome.response,
        ":now": now,
    })?;
    Ok(held(changed))
}

/// Gives an unfinished key back.
pub(super) fn release(connection: &Connection, token: &Token, now: i64) -> Result<Held> {
    const SQL: &str = "
        DELETE FROM tower_idempotency_records
        WHERE key = :key AND fence = :fence AND holder = :holder AND ended_at IS NULL AND expires_at > :now";
    let changed = connection.prepare_cached(SQL)?.execute(named_params! {
        ":key": token.key().as_bytes(),
        ":fence": fence_column(token),
        ":holder": token.holder(),
        ":now": now,
    })?;
    Ok(held(changed))
}

/// Frees an unfinished key whoever holds it.
pub(super) fn force_release(connection: &Connection, key: &ScopedKey, now: i64) -> Result<Held> {
    const SQL: &str = "
        DELETE FROM tower_idempotency_records WHERE key = :key AND ended_at IS NULL AND expires_at > :now";
    let named = named_params! { ":key": key.as_bytes(), ":now": now };
    connection.prepare_cached(SQL)?.execute(named).map(held)
}

/// Erases a record.
pub(super) fn forget(connection: &Connection, key: &ScopedKey, now: i64) -> Result<Held> {
    const SQL: &str = "DELETE FROM tower_idempotency_records WHERE key = :key AND expires_at > :now";
    let named = named_params! { ":key": key.as_bytes(), ":now": now };
    connection.prepare_cached(SQL)?.execute(named).map(held)
}

/// Deletes at most `batch` records past their retention.
pub(super) fn purge(connection: &Connection, batch: u32, now: i64) -> Result<u64> {
    const SQL: &str = "
        DELETE FROM tower_idempotency_records WHERE rowid IN (
            SELECT rowid FROM tower_idempotency_records WHERE expires_at <= :now ORDER BY expires_at LIMIT :batch)";
    let deleted = connection.prepare_cached(SQL)?.execute(named_params! { ":now": now, ":batch": batch })?;
    Ok(deleted as u64)
}

/// What has become of a key.
pub(super) fn status(connection: &Connection, key: &ScopedKey, now: i64) -> Result<Status> {
    const SQL: &str = "
        SELECT ended_at, status, response IS NOT NULL AS replayable, lease_until, claimed_at
        FROM tower_idempotency_records WHERE key = :key AND expires_at > :now";
    let status = connection
        .prepare_cached(SQL)?
        .query_row(named_params! { ":key": key.as_bytes(), ":now": now }, |row| {
            let since = instant(row.get("claimed_at")?);
            Ok(if let Some(ended_at) = row.get("ended_at")? {
                let Code(status) = row.get("status")?;
                Status::Done { status, at: instant(ended_at), replayable: row.get("replayable")? }
            } else if row.get::<_, i64>("lease_until")? > now {
                Status::InProgress { since }
            } else {
                Status::Lapsed { since }
            })
        })
        .optional()?;
    Ok(status.unwrap_or(Status::Unknown))
}

fn grant(connection: &Connection, request: &ClaimRequest, attempt: u32, now: i64) -> Result<Claimed> {
    const NEXT_FENCE: &str = "UPDATE tower_idempotency_fence SET last = last + 1 RETURNING last";
    // Replaces the record that was passed, and one past its retention that no purge has deleted yet.
    const SQL: &str = "
        INSERT OR REPLACE INTO tower_idempotency_records
            (key, fingerprint, fence, holder, attempt, claimed_at, lease, lease_until, retention, expires_at)
        VALUES (:key, :fingerprint, :fence, :holder, :attempt, :now, :lease, :now + :lease, :retention,
            :now + :lease + :retention)";
    let fence: i64 = connection.prepare_cached(NEXT_FENCE)?.query_row([], |row| row.get(0))?;
    let token = Token::new(request.key.clone(), fence.unsigned_abs());
    connection.prepare_cached(SQL)?.execute(named_params! {
        ":key": request.key.as_bytes(),
        ":fingerprint": request.fingerprint.to_bytes(),
        ":fence": fence,
        ":holder": token.holder(),
        ":attempt": attempt,
        ":now": now,
        ":lease": millis(request.lease),
        ":retention": millis(request.retention),
    })?;
    Ok(Claimed::Acquired { token, attempt })
}

fn cut_lease(connection: &Connection, key: &ScopedKey, now: i64) -> Result<()> {
    const SQL: &str = "
        UPDATE tower_idempotency_records
        SET lease_until = :now + lease, expires_at = :now + lease + retention
        WHERE key = :key";
    let named = named_params! { ":key": key.as_bytes(), ":now": now };
    connection.prepare_cached(SQL)?.execute(named).map(drop)
}

fn outcome(row: &Row<'_>) -> Result<Outcome> {
    Ok(match row.get("response")? {
        Some(Blob(response)) => Outcome::Response(response),
        None => {
            let Code(status) = row.get("status")?;
            Outcome::NotReplayable(status)
        }
    })
}

fn held(changed: usize) -> Held {
    if changed == 1 { Held::Yes } else { Held::No }
}
