//! How the words of a store are written in columns, and read from them.

use std::time::{Duration, SystemTime};

use http::StatusCode;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ValueRef};

use crate::store::{Fingerprint, Outcome, StoredResponse, Token};

/// 73 million years. The sum of a time and two lengths stays within a column: SQLite would turn a larger one into a
/// float, which a STRICT table refuses.
const LONGEST: i64 = i64::MAX / 4;

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
pub(super) fn millis(length: Duration) -> i64 {
    i64::try_from(length.as_nanos().div_ceil(1_000_000)).unwrap_or(LONGEST).min(LONGEST)
}

pub(super) fn duration(millis: i64) -> Duration {
    Duration::from_millis(millis.unsigned_abs())
}

pub(super) fn instant(millis: i64) -> SystemTime {
    SystemTime::UNIX_EPOCH + duration(millis)
}

/// What a column holds as bytes; damaged bytes are an error, never an absent record.
pub(super) struct Blob<T>(pub(super) T);

impl FromSql for Blob<Fingerprint> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let bytes = value.as_blob()?;
        let wrong_size = FromSqlError::InvalidBlobSize { expected_size: Fingerprint::LEN, blob_size: bytes.len() };
        Fingerprint::from_bytes(bytes).map(Self).ok_or(wrong_size)
    }
}

impl FromSql for Blob<StoredResponse> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        StoredResponse::from_bytes(value.as_blob()?.to_vec()).map(Self).map_err(FromSqlError::other)
    }
}

/// A status.
pub(super) struct Code(pub(super) StatusCode);

impl FromSql for Code {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        StatusCode::from_u16(u16::column_result(value)?).map(Self).map_err(FromSqlError::other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_shorter_than_a_millisecond_is_not_nothing() {
        assert_eq!(millis(Duration::from_nanos(1)), 1);
        assert_eq!(millis(Duration::from_micros(1_001)), 2);
        assert_eq!(millis(Duration::ZERO), 0);
    }

    #[test]
    fn the_longest_lease_and_retention_fit_a_column() {
        assert!(
            LONGEST.checked_add(millis(Duration::MAX)).and_then(|sum| sum.checked_add(millis(Duration::MAX))).is_some()
        );
    }

    #[test]
    fn damaged_bytes_are_an_error() {
        assert!(Blob::<Fingerprint>::column_result(ValueRef::Blob(&[1, 2, 3])).is_err());
        assert!(Blob::<StoredResponse>::column_result(ValueRef::Blob(&[])).is_err());
        assert!(Code::column_result(ValueRef::Integer(99_999)).is_err());
    }
}
