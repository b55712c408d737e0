//! The verbs, each one statement: what is sent, and what its answer means.

use std::time::Duration;

use sqlx::{PgConnection, postgres::PgRow};
use uuid::Uuid;

use super::{
    columns::{self, Columns, Id, fence_column, get, micros},
    error,
    names::Names,
    statement::{Sending, Statement, Value},
};
use crate::store::{ClaimRequest, Claimed, Found, Held, ScopedKey, Status, StoreError, Token};

/// The statements of a store, with the names of its tables in them.
#[derive(Debug)]
pub(super) struct Records {
    names: Names,
    claim: Statement,
    lookup: Statement,
    renew: Statement,
    complete: Statement,
    finish: Statement,
    release: Statement,
    erase: Statement,
    purge: Statement,
    status: Statement,
}

/// An answer, or that another transaction came between: ask again.
#[derive(Debug)]
pub(super) enum Asked<T> {
    Answer(T),
    Again,
}

/// Whether a record was finished in a transaction that is not the store's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finished {
    Now,
    /// By this token, before.
    Before,
    /// Another holder has the key, or nobody.
    Passed,
}

/// Which records [`Records::erase`] takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Erase {
    Unfinished,
    Any,
}

/// What one renewal asks.
#[derive(Debug)]
pub(super) struct Renewal {
    pub(super) id: Id,
    pub(super) token: Token,
    pub(super) lease: Duration,
}

impl Records {
    pub(super) fn new(names: Names, sending: Sending) -> Self {
        let statement = |text: &str| Statement::new(text, &names, sending);
        Self {
            claim: statement(include_str!("claim.sql")),
            lookup: statement(include_str!("lookup.sql")),
            renew: statement(include_str!("renew.sql")),
            complete: statement(include_str!("complete.sql")),
            finish: statement(include_str!("finish.sql")),
            release: statement(include_str!("release.sql")),
            erase: statement(include_str!("erase.sql")),
            purge: statement(include_str!("purge.sql")),
            status: statement(include_str!("status.sql")),
            names,
        }
    }

    pub(super) fn names(&self) -> &Names {
        &self.names
    }

    /// Asked again and again, it tells how often before.
    pub(super) async fn claim(
        &self,
        connection: &mut PgConnection,
        request: &ClaimRequest,
        asked_before: u32,
    ) -> Result<Asked<Claimed>, StoreError> {
        let id = Id::of(&request.key);
        let holder = Uuid::new_v4();
        let values = [
            Value::Bytes(id.as_bytes()),
            Value::Bytes(&request.fingerprint.to_bytes()),
            Value::Bytes(holder.as_bytes()),
            Value::Int(micros(request.lease)),
            Value::Int(micros(request.retention)),
            Value::Int(self.names.number(id.as_bytes())),
            Value::Bytes(request.key.as_bytes()),
        ];
        let Some(row) = settled(self.claim.fetch_one(connection, &values).await)? else { return Ok(Asked::Again) };
        if let Some(fence) = get::<Option<i64>>(&row, "fence")? {
            let attempt = u32::try_from(get::<i64>(&row, "attempt")?).unwrap_or(u32::MAX);
            let token = Token::held_by(request.key.clone(), fence.unsigned_abs(), holder);
            return Ok(Asked::Answer(Claimed::Acquired { token, attempt }));
        }
        // A door that was shut: a claim that came at the same time is being granted.
        let opened = get::<Option<bool>>(&row, "opened")?;
        if opened == Some(false) {
            return Ok(Asked::Answer(Claimed::InFlight { lease_left: Duration::ZERO }));
        }
        if opened == Some(true) {
            // Still locked: not by a statement of the store's own, which ends within milliseconds.
            let locked = asked_before > 1 && get::<Option<bool>>(&row, "locked")? == Some(true);
            let in_flight = Asked::Answer(Claimed::InFlight { lease_left: Duration::ZERO });
            return Ok(if locked { in_flight } else { Asked::Again });
        }
        Ok(match columns::judged(&row, &request.fingerprint)? {
            Found::Done(response) => Asked::Answer(Claimed::Done(response)),
            Found::NotReplayable(status) => Asked::Answer(Claimed::NotReplayable(status)),
            Found::InFlight { lease_left } => Asked::Answer(Claimed::InFlight { lease_left }),
            Found::Mismatch(differs) => Asked::Answer(Claimed::Mismatch(differs)),
            Found::Absent | Found::Lapsed => Asked::Again,
        })
    }

    pub(super) async fn lookup(
        &self,
        connection: &mut PgConnection,
        request: &ClaimRequest,
    ) -> Result<Found, StoreError> {
        let id = Id::of(&request.key);
        let values = [Value::Bytes(id.as_bytes()), Value::Bytes(&request.fingerprint.to_bytes())];
        match self.lookup.fetch_optional(connection, &values).await.map_err(error::failed)? {
            Some(row) => columns::judged(&row, &request.fingerprint),
            None => Ok(Found::Absent),
        }
    }

    /// Answers in the order of what is asked.
    pub(super) async fn renew(
        &self,
        connection: &mut PgConnection,
        asked: &[Renewal],
    ) -> Result<Vec<Asked<Held>>, StoreError> {
        let values = [
            Value::BytesList(asked.iter().map(|one| one.id.as_bytes()).collect()),
            Value::IntList(asked.iter().map(|one| fence_column(&one.token)).collect()),
            Value::BytesList(asked.iter().map(|one| &one.token.holder()[..]).collect()),
            Value::IntList(asked.iter().map(|one| micros(one.lease)).collect()),
        ];
        match settled(self.renew.fetch_all(connection, &values).await)? {
            Some(rows) => rows.iter().map(held).collect(),
            None => Ok(asked.iter().map(|_| Asked::Again).collect()),
        }
    }

    pub(super) async fn complete(
        &self,
        connection: &mut PgConnection,
        token: &Token,
        outcome: &Columns,
    ) -> Result<Asked<Held>, StoreError> {
        let id = Id::of(token.key());
        let row = self.complete.fetch_one(connection, &finishing(&id, token, outcome)).await;
        settled(row)?.map_or(Ok(Asked::Again), |row| held(&row))
    }

    /// Inside a transaction that is not the store's.
    pub(super) async fn finish(
        &self,
        connection: &mut PgConnection,
        token: &Token,
        outcome: &Columns,
    ) -> sqlx::Result<Finished> {
        use sqlx::Row as _;
        let id = Id::of(token.key());
        // Again by a new snapshot: another transaction of this claim may have committed while this one waited for it.
        for _ in 0..2 {
            let row = self.finish.fetch_one(&mut *connection, &finishing(&id, token, outcome)).await?;
            if row.try_get("changed")? {
                return Ok(Finished::Now);
            }
            if row.try_get("before")? {
                return Ok(Finished::Before);
            }
        }
        Ok(Finished::Passed)
    }

    pub(super) async fn release(
        &self,
        connection: &mut PgConnection,
        token: &Token,
    ) -> Result<Asked<Held>, StoreError> {
        let id = Id::of(token.key());
        let values = [Value::Bytes(id.as_bytes()), Value::Int(fence_column(token)), Value::Bytes(token.holder())];
        let row = self.release.fetch_one(connection, &values).await;
        settled(row)?.map_or(Ok(Asked::Again), |row| held(&row))
    }

    pub(super) async fn erase(
        &self,
        connection: &mut PgConnection,
        key: &ScopedKey,
        which: Erase,
    ) -> Result<Asked<Held>, StoreError> {
        let id = Id::of(key);
        let values = [Value::Bytes(id.as_bytes()), Value::Bool(which == Erase::Any)];
        let row = self.erase.fetch_one(connection, &values).await;
        settled(row)?.map_or(Ok(Asked::Again), |row| held(&row))
    }

    pub(super) async fn purge(&self, connection: &mut PgConnection, batch: u32) -> Result<u64, StoreError> {
        let row = self.purge.fetch_one(connection, &[Value::Int(batch.into())]).await.map_err(error::failed)?;
        Ok(get::<i64>(&row, "purged")?.unsigned_abs())
    }

    pub(super) async fn status(&self, connection: &mut PgConnection, key: &ScopedKey) -> Result<Status, StoreError> {
        let id = Id::of(key);
        let row = self.status.fetch_optional(connection, &[Value::Bytes(id.as_bytes())]).await;
        row.map_err(error::failed)?.map_or(Ok(Status::Unknown), |row| columns::status(&row))
    }
}

fn finishing<'a>(id: &'a Id, token: &'a Token, outcome: &'a Columns) -> [Value<'a>; 5] {
    [
        Value::Bytes(id.as_bytes()),
        Value::Int(fence_column(token)),
        Value::Bytes(token.holder()),
        Value::Int(outcome.status.into()),
        Value::MaybeBytes(outcome.response.as_deref()),
    ]
}

/// `None` where another transaction was in the way.
fn settled<T>(answer: sqlx::Result<T>) -> Result<Option<T>, StoreError> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(error) if error::is_conflict(&error) => Ok(None),
        Err(error) => Err(error::failed(error)),
    }
}

/// `seen` and not changed: an open transaction has the record, or it changed since it was seen.
fn held(row: &PgRow) -> Result<Asked<Held>, StoreError> {
    Ok(if get(row, "changed")? {
        Asked::Answer(Held::Yes)
    } else if get(row, "seen")? {
        Asked::Again
    } else {
        Asked::Answer(Held::No)
    })
}
