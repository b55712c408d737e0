//! How the words of a store are written in columns, and read from them.

use std::time::{Duration, SystemTime};

use http::StatusCode;
use sha2::{Digest, Sha256};
use sqlx::{Row, postgres::PgRow};

use super::error::{self, Damaged};
use crate::store::{Differs, Fingerprint, Found, Outcome, ScopedKey, Status, StoreError, StoredResponse, Token};

/// 10,000 years. A time and two lengths of it stay within a `timestamptz`, which ends in the year 294276.
const LONGEST: i64 = 10_000 * 366 * 24 * 3600 * 1_000_000;

/// What a record is filed under.
#[derive(Clone, Copy, Debug)]
pub(super) struct Id([u8; 32]);

impl Id {
    pub(super) fn of(key: &ScopedKey) -> Self {
        Self(Sha256::digest(key.as_bytes()).into())
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// An [`Outcome`] as its columns hold it.
#[derive(Debug)]
pub(super) struct Columns {
    pub(super) status: u16,
    pub(super) response: Option<Vec<u8>>,
}

impl From<&Outcome> for Columns {
    fn from(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Response(response) => {
                Self { status: response.status.as_u16(), response: Some(response.to_bytes()) }
            }
            Outcome::NotReplayable(status) => Self { status: status.as_u16(), response: None },
        }
    }
}

/// Every granted fence came from a column; one that does not fit matches no record.
pub(super) fn fence_column(token: &Token) -> i64 {
    i64::try_from(token.fence()).unwrap_or(i64::MAX)
}

/// Rounded up, so that no lease becomes nothing.
pub(super) fn micros(length: Duration) -> i64 {
    i64::try_from(length.as_nanos().div_ceil(1_000)).unwrap_or(LONGEST).min(LONGEST)
}

/// What a record that is not past its retention says about a request; changes nothing.
pub(super) fn judged(row: &PgRow, asked: &Fingerprint) -> Result<Found, StoreError> {
    if let Some(differs) = differs(row, asked)? {
        return Ok(Found::Mismatch(differs));
    }
    if get::<bool>(row, "ended")? {
        return Ok(match get::<Option<Vec<u8>>>(row, "response")? {
            Some(bytes) => Found::Done(StoredResponse::from_bytes(bytes).map_err(StoreError::permanent)?),
            None => Found::NotReplayable(status_code(row)?),
        });
    }
    let lease_left = get::<i64>(row, "lease_left")?;
    Ok(if get::<bool>(row, "locked")? {
        Found::InFlight { lease_left: Duration::ZERO }
    } else if lease_left > 0 {
        Found::InFlight { lease_left: Duration::from_micros(lease_left.unsigned_abs()) }
    } else {
        Found::Lapsed
    })
}

/// What became of the key of such a record.
pub(super) fn status(row: &PgRow) -> Result<Status, StoreError> {
    let at = SystemTime::UNIX_EPOCH + Duration::from_micros(get::<i64>(row, "at")?.unsigned_abs());
    Ok(if get::<bool>(row, "ended")? {
        Status::Done { status: status_code(row)?, at, replayable: get(row, "replayable")? }
    } else if get::<bool>(row, "running")? {
        Status::InProgress { since: at }
    } else {
        Status::Lapsed { since: at }
    })
}

pub(super) fn get<'r, T>(row: &'r PgRow, column: &str) -> Result<T, StoreError>
where
    T: sqlx::Decode<'r, sqlx::Postgres> + sqlx::Type<sqlx::Postgres>,
{
    row.try_get(column).map_err(error::failed)
}

fn differs(row: &PgRow, asked: &Fingerprint) -> Result<Option<Differs>, StoreError> {
    let recorded = Fingerprint::from_bytes(&get::<Vec<u8>>(row, "fingerprint")?);
    Ok(asked.differs_from(&recorded.ok_or_else(|| StoreError::permanent(Damaged))?))
}

fn status_code(row: &PgRow) -> Result<StatusCode, StoreError> {
    let code = get::<Option<i32>>(row, "status")?.and_then(|code| u16::try_from(code).ok());
    let status = code.and_then(|code| StatusCode::from_u16(code).ok());
    status.ok_or_else(|| StoreError::permanent(Damaged))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_shorter_than_a_microsecond_is_not_nothing() {
        assert_eq!(micros(Duration::from_nanos(1)), 1);
        assert_eq!(micros(Duration::from_nanos(1_001)), 2);
        assert_eq!(micros(Duration::ZERO), 0);
        assert_eq!(micros(Duration::MAX), LONGEST);
    }
}
