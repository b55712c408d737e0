//! Opening: settings, and what the server has to be like.

use ::redis::Value;

use super::{
    Connection, RedisStore,
    error::{OpenError, OpenErrorKind},
    keys::Prefix,
};

/// The first with `PEXPIRETIME`.
const OLDEST: u32 = 7;

/// Settings of a [`RedisStore`].
///
/// # Default
///
/// - [`prefix`](Self::prefix): `idempotency:`
/// - [`records_may_be_evicted`](Self::records_may_be_evicted): no, such a server is refused
#[derive(Debug)]
#[must_use]
pub struct RedisStoreBuilder {
    connection: Connection,
    prefix: String,
    eviction: Eviction,
}

/// What becomes of a server that evicts.
#[derive(Debug)]
enum Eviction {
    Refused,
    Accepted,
}

impl RedisStoreBuilder {
    pub(super) fn new(connection: Connection) -> Self {
        Self { connection, prefix: "idempotency:".into(), eviction: Eviction::Refused }
    }

    /// What stands before every key, `idempotency:` by default. It may hold no brace.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Opens a server though its `maxmemory-policy` is not `noeviction`, which is refused by default. **A record that
    /// is evicted lets its request run a second time**, at any moment and without a trace.
    pub fn records_may_be_evicted(mut self) -> Self {
        self.eviction = Eviction::Accepted;
        self
    }

    /// Asks the server what it is like, on a Cluster each master, and opens the store.
    ///
    /// # Errors
    ///
    /// [`OpenError`], whose [kind](OpenError::kind) says what to change.
    pub async fn open(self) -> Result<RedisStore, OpenError> {
        let prefix = Prefix::parse(&self.prefix).ok_or(OpenErrorKind::Prefix)?;
        match self.connection.ask(&::redis::cmd("INFO")).await {
            Ok(info) => texts(&info).into_iter().try_for_each(|server| self.eviction.judge(server))?,
            Err(error) if matches!(error.code(), Some("NOPERM" | "ERR")) => tracing::warn!(
                %error,
                "this Redis server does not tell its settings: it may evict records or forget them at a restart"
            ),
            Err(error) => return Err(OpenError::because(error)),
        }
        Ok(RedisStore::new(self.connection, prefix))
    }
}

impl Eviction {
    /// Judges one server by its `INFO`.
    fn judge(&self, info: &str) -> Result<(), OpenErrorKind> {
        let tells = |name: &str| info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let version = tells("redis_version").unwrap_or_default();
        let major = version.split('.').next().and_then(|major| major.parse::<u32>().ok());
        // Valkey shows 7.2.4 here, whatever its own version; who shows nothing is left to the scripts.
        if major.is_some_and(|major| major < OLDEST) {
            return Err(OpenErrorKind::TooOld(version.into()));
        }
        match (tells("maxmemory_policy"), self) {
            (None | Some("noeviction"), _) => {}
            (Some(policy), Self::Refused) => return Err(OpenErrorKind::Evicts(policy.into())),
            (Some(policy), Self::Accepted) => {
                tracing::warn!(
                    policy,
                    "this Redis server evicts records when memory is short: such a request may run again"
                );
            }
        }
        if tells("aof_enabled") == Some("0") {
            tracing::warn!(
                "this Redis server has no append-only file: requests that it forgets at a restart may run again"
            );
        }
        Ok(())
    }
}

/// One text, or on a Cluster one of each master.
fn texts(info: &Value) -> Vec<&str> {
    match info {
        Value::BulkString(text) => std::str::from_utf8(text).into_iter().collect(),
        Value::SimpleString(text) | Value::VerbatimString { text, .. } => vec![text],
        Value::Map(masters) => masters.iter().flat_map(|(_, info)| texts(info)).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_judged_by_what_it_tells() {
        let judge = |info: &str| Eviction::Refused.judge(info);

        assert_eq!(judge("redis_version:7.0.15\r\nmaxmemory_policy:noeviction\r\naof_enabled:1\r\n"), Ok(()));
        assert_eq!(judge("redis_version:6.2.7\r\n"), Err(OpenErrorKind::TooOld("6.2.7".into())));
        assert_eq!(judge("redis_version:10.0.0\r\n"), Ok(()));
        assert_eq!(judge("maxmemory_policy:volatile-ttl\r\n"), Err(OpenErrorKind::Evicts("volatile-ttl".into())));
        assert_eq!(judge("something else"), Ok(()));
        assert_eq!(Eviction::Accepted.judge("maxmemory_policy:allkeys-lru\r\n"), Ok(()));
    }
}
