//! What Redis' errors mean for a caller.

use std::{error::Error, fmt};

use ::redis::{ErrorKind, RedisError};

use crate::store::StoreError;

/// Why a server could not be opened as a store. Keeps its source.
#[derive(Debug)]
pub struct OpenError {
    kind: OpenErrorKind,
    source: Option<RedisError>,
}

/// What an [`OpenError`] asks of whoever gave the address, the prefix or the server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenErrorKind {
    /// The prefix holds a brace, which would be a Cluster's hash tag.
    Prefix,
    /// The server is not there, or does not let us in; the source tells.
    Connection,
    /// The server evicts records when memory is short, by this policy. Set `maxmemory-policy` to `noeviction`.
    Evicts(String),
    /// The server has this version; the scripts need 7.0.
    TooOld(String),
    /// Something else, which the source tells.
    Failed,
}

impl OpenError {
    /// What it asks of whoever opens the store.
    #[must_use]
    pub fn kind(&self) -> &OpenErrorKind {
        &self.kind
    }

    pub(super) fn connecting(source: RedisError) -> Self {
        Self { kind: OpenErrorKind::Connection, source: Some(source) }
    }

    pub(super) fn because(source: RedisError) -> Self {
        let kind = match source.kind() {
            ErrorKind::Io | ErrorKind::AuthenticationFailed => OpenErrorKind::Connection,
            _ if matches!(source.code(), Some("NOAUTH" | "WRONGPASS")) => OpenErrorKind::Connection,
            _ => OpenErrorKind::Failed,
        };
        Self { kind, source: Some(source) }
    }
}

impl From<OpenErrorKind> for OpenError {
    fn from(kind: OpenErrorKind) -> Self {
        Self { kind, source: None }
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cannot keep idempotency keys in Redis: ")?;
        match &self.kind {
            OpenErrorKind::Prefix => f.write_str("the prefix holds a brace"),
            OpenErrorKind::Connection => f.write_str("the server cannot be reached"),
            OpenErrorKind::Evicts(policy) => {
                write!(
                    f,
                    "maxmemory-policy is {policy}, which deletes records when memory is short; set it to noeviction"
                )
            }
            OpenErrorKind::TooOld(version) => write!(f, "the server has version {version}, and 7.0 is needed"),
            OpenErrorKind::Failed => f.write_str("the server refuses"),
        }
    }
}

impl Error for OpenError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_ref().map(|source| source as _)
    }
}

/// An error of Redis as the layer sees it.
pub(super) fn failed(error: RedisError) -> StoreError {
    if is_transient(&error) { StoreError::transient(error) } else { StoreError::permanent(error) }
}

/// What is only a matter of time: the connection, and what a server answers that loads, is full, cannot save, runs
/// another script or has changed its part.
fn is_transient(error: &RedisError) -> bool {
    match error.kind() {
        ErrorKind::Io
        | ErrorKind::ClusterConnectionNotFound
        | ErrorKind::MasterNameNotFoundBySentinel
        | ErrorKind::NoValidReplicasFoundBySentinel => true,
        _ if error.detail().is_some_and(|detail| detail.starts_with("max number of clients")) => true,
        _ => matches!(
            error.code(),
            Some(
                "OOM"
                    | "LOADING"
                    | "BUSY"
                    | "READONLY"
                    | "MASTERDOWN"
                    | "NOREPLICAS"
                    | "MISCONF"
                    | "TRYAGAIN"
                    | "CLUSTERDOWN"
                    | "MOVED"
                    | "ASK"
            )
        ),
    }
}

/// Whether the connection broke, so that nobody knows what became of the command.
pub(super) fn broke(error: &RedisError) -> bool {
    error.is_io_error() && !error.is_timeout()
}

#[cfg(test)]
mod tests {
    use std::io;

    use ::redis::{ServerErrorKind, Value};

    use super::*;

    /// As the server would answer it.
    fn answered(line: &str) -> RedisError {
        match ::redis::parse_redis_value(format!("-{line}\r\n").as_bytes()) {
            Ok(Value::ServerError(error)) => error.into(),
            other => panic!("an error: {other:?}"),
        }
    }

    #[test]
    fn what_passes_is_transient() {
        for line in [
            "OOM command not allowed when used memory > 'maxmemory'. script: 0a1b, on @user_script:1.",
            "LOADING Redis is loading the dataset in memory",
            "BUSY Redis is busy running a script.",
            "READONLY You can't write against a read only replica.",
            "MASTERDOWN Link with MASTER is down",
            "NOREPLICAS Not enough good replicas to write.",
            "MISCONF Redis is configured to save RDB snapshots",
            "TRYAGAIN Multiple keys request during rehashing of slot",
            "CLUSTERDOWN The cluster is down",
            "ERR max number of clients reached",
        ] {
            assert!(failed(answered(line)).is_transient(), "{line}");
        }
        for kind in [io::ErrorKind::ConnectionRefused, io::ErrorKind::TimedOut, io::ErrorKind::BrokenPipe] {
            assert!(failed(io::Error::from(kind).into()).is_transient(), "{kind}");
        }
    }

    #[test]
    fn what_stays_is_permanent() {
        for line in [
            "NOAUTH Authentication required.",
            "WRONGPASS invalid username-password pair or user is disabled.",
            "NOPERM this user has no permissions to run the 'evalsha' command",
            "WRONGTYPE Operation against a key holding the wrong kind of value",
            "ERR user_script:1: attempt to index a nil value",
            "CROSSSLOT Keys in request don't hash to the same slot",
        ] {
            assert!(!failed(answered(line)).is_transient(), "{line}");
        }
        assert!(!failed((ErrorKind::AuthenticationFailed, "wrong password").into()).is_transient());
    }

    #[test]
    fn only_a_broken_connection_is_asked_again() {
        assert!(broke(&io::Error::from(io::ErrorKind::BrokenPipe).into()));
        assert!(!broke(&io::Error::from(io::ErrorKind::TimedOut).into()), "the time is the caller's");
        assert!(!broke(&answered("OOM full")));
        assert_ne!(answered("OOM full").kind(), ErrorKind::Server(ServerErrorKind::ResponseError));
    }
}
