//! What the scripts answer, in the words of a store.

use std::{
    error::Error,
    fmt,
    time::{Duration, SystemTime},
};

use ::redis::{RedisResult, Value};
use http::StatusCode;
use uuid::Uuid;

use super::error;
use crate::store::{
    ClaimRequest, Claimed, Fingerprint, Found, Held, Outcome, Status, StoreError, StoredResponse, Token,
};

/// 35 thousand years in milliseconds. The sum of a time and two lengths stays a whole number in Lua's floats.
const LONGEST: u64 = 1 << 50;

/// Rounded up, so that no lease becomes nothing.
pub(super) fn millis(length: Duration) -> String {
    u64::try_from(length.as_nanos().div_ceil(1_000_000)).unwrap_or(LONGEST).min(LONGEST).to_string()
}

/// What `complete` tells of an outcome: the status and, if it is kept, the response.
pub(super) fn outcome(outcome: &Outcome) -> (StatusCode, Option<Vec<u8>>) {
    match outcome {
        Outcome::Response(response) => (response.status, Some(response.to_bytes())),
        Outcome::NotReplayable(status) => (*status, None),
    }
}

pub(super) fn claimed(reply: Value, request: &ClaimRequest, holder: Uuid) -> Result<Claimed, StoreError> {
    let mut words = Words::of(reply)?;
    Ok(match &words.next()?[..] {
        b"granted" => {
            let token = Token::held_by(request.key.clone(), words.number()?, holder);
            let attempt = u32::try_from(words.number()?).unwrap_or(u32::MAX);
            Claimed::Acquired { token, attempt }
        }
        b"in_flight" => Claimed::InFlight { lease_left: Duration::from_millis(words.number()?) },
        b"mismatch" => match request.fingerprint.differs_from(&words.fingerprint()?) {
            Some(differs) => Claimed::Mismatch(differs),
            None => return Err(unknown()),
        },
        b"ended" => match words.outcome()? {
            Outcome::Response(response) => Claimed::Done(response),
            Outcome::NotReplayable(status) => Claimed::NotReplayable(status),
        },
        _ => return Err(unknown()),
    })
}

pub(super) fn found(reply: Value, request: &ClaimRequest) -> Result<Found, StoreError> {
    let mut words = Words::of(reply)?;
    Ok(match &words.next()?[..] {
        b"absent" => Found::Absent,
        b"lapsed" => Found::Lapsed,
        b"in_flight" => Found::InFlight { lease_left: Duration::from_millis(words.number()?) },
        b"mismatch" => match request.fingerprint.differs_from(&words.fingerprint()?) {
            Some(differs) => Found::Mismatch(differs),
            None => return Err(unknown()),
        },
        b"ended" => match words.outcome()? {
            Outcome::Response(response) => Found::Done(response),
            Outcome::NotReplayable(status) => Found::NotReplayable(status),
        },
        _ => return Err(unknown()),
    })
}

pub(super) fn status(reply: Value) -> Result<Status, StoreError> {
    let mut words = Words::of(reply)?;
    Ok(match &words.next()?[..] {
        b"unknown" => Status::Unknown,
        b"in_progress" => Status::InProgress { since: words.instant()? },
        b"lapsed" => Status::Lapsed { since: words.instant()? },
        b"done" => Status::Done { status: words.status()?, at: words.instant()?, replayable: words.number()? == 1 },
        _ => return Err(unknown()),
    })
}

pub(super) fn held(reply: RedisResult<Value>) -> Result<Held, StoreError> {
    match reply.map_err(error::failed)? {
        Value::Int(1) => Ok(Held::Yes),
        Value::Int(0) => Ok(Held::No),
        _ => Err(unknown()),
    }
}

/// The members of an answer, one after the other.
struct Words(std::vec::IntoIter<Value>);

impl Words {
    fn of(reply: Value) -> Result<Self, StoreError> {
        match reply {
            Value::Array(words) => Ok(Self(words.into_iter())),
            _ => Err(unknown()),
        }
    }

    fn next(&mut self) -> Result<Vec<u8>, StoreError> {
        match self.0.next() {
            Some(Value::BulkString(bytes)) => Ok(bytes),
            Some(Value::Int(number)) => Ok(number.to_string().into_bytes()),
            _ => Err(unknown()),
        }
    }

    fn number(&mut self) -> Result<u64, StoreError> {
        std::str::from_utf8(&self.next()?).ok().and_then(|digits| digits.parse().ok()).ok_or_else(unknown)
    }

    fn instant(&mut self) -> Result<SystemTime, StoreError> {
        Ok(SystemTime::UNIX_EPOCH + Duration::from_millis(self.number()?))
    }

    fn status(&mut self) -> Result<StatusCode, StoreError> {
        StatusCode::from_bytes(&self.next()?).map_err(StoreError::permanent)
    }

    fn fingerprint(&mut self) -> Result<Fingerprint, StoreError> {
        Fingerprint::from_bytes(&self.next()?).ok_or_else(unknown)
    }

    fn outcome(&mut self) -> Result<Outcome, StoreError> {
        let status = self.status()?;
        match self.0.next() {
            Some(Value::BulkString(bytes)) => {
                StoredResponse::from_bytes(bytes).map(Outcome::Response).map_err(StoreError::permanent)
            }
            Some(Value::Nil) => Ok(Outcome::NotReplayable(status)),
            _ => Err(unknown()),
        }
    }
}

/// Damaged records are an error, never absent ones.
fn unknown() -> StoreError {
    StoreError::permanent(UnknownReply)
}

#[derive(Debug)]
struct UnknownReply;

impl fmt::Display for UnknownReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the server's answer is none that a script of this store gives")
    }
}

impl Error for UnknownReply {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_shorter_than_a_millisecond_is_not_nothing() {
        assert_eq!(millis(Duration::from_nanos(1)), "1");
        assert_eq!(millis(Duration::from_micros(1_001)), "2");
        assert_eq!(millis(Duration::ZERO), "0");
    }

    #[test]
    fn the_longest_times_stay_whole_numbers_in_lua() {
        let largest = (1_u64 << 41) + 2 * millis(Duration::MAX).parse::<u64>().unwrap();

        assert!(largest < 1 << 52, "FOR_EVER in record.lua");
    }

    #[test]
    fn an_answer_of_another_form_is_an_error_and_never_a_no() {
        for reply in [Value::Nil, Value::Okay, Value::Int(2), Value::Array(vec![])] {
            assert!(!held(Ok(reply.clone())).unwrap_err().is_transient(), "{reply:?}");
            assert!(status(reply).is_err());
        }
    }
}
