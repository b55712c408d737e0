//! The store: each verb is one script on the server.

use std::{fmt, time::Duration};

use ::redis::{IntoConnectionInfo, Value};
use uuid::Uuid;

use super::{
    Connection,
    builder::RedisStoreBuilder,
    error::{self, OpenError},
    keys::Prefix,
    reply,
    script::{self, Script},
};
use crate::store::{ClaimRequest, Claimed, Found, Held, Outcome, ScopedKey, Status, Store, StoreError, Token};

/// Keeps records in Redis.
///
/// [The module's page](crate::store::redis) says what it promises, what Redis may lose, and what it asks for. A clone
/// is another handle on the same connection.
#[derive(Clone)]
pub struct RedisStore {
    connection: Connection,
    prefix: Prefix,
}

impl RedisStore {
    /// Connects to one server, with the [default settings](RedisStoreBuilder): `redis://127.0.0.1/`, or `rediss://`
    /// where a TLS feature of the redis crate is on.
    ///
    /// # Errors
    ///
    /// [`OpenError`], whose [kind](OpenError::kind) says what to change.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub async fn open(address: impl IntoConnectionInfo) -> Result<Self, OpenError> {
        Self::builder(Connection::open(address).await?).open().await
    }

    /// A store on a [`Connection`], the application's own `ConnectionManager` or, with the feature `redis-cluster`,
    /// `ClusterConnection`.
    pub fn builder(connection: impl Into<Connection>) -> RedisStoreBuilder {
        RedisStoreBuilder::new(connection.into())
    }

    pub(super) fn new(connection: Connection, prefix: Prefix) -> Self {
        Self { connection, prefix }
    }

    /// Asks once. Two of the verbs go by the key, and the answer to a release would be another the second time.
    async fn ask<A: AsRef<[u8]>>(&self, script: &Script, key: &ScopedKey, args: &[A]) -> ::redis::RedisResult<Value> {
        let keys = [self.prefix.record(key), self.prefix.fence(key)];
        script.run(&self.connection, &keys, args).await
    }

    /// Asks once more if the connection broke: for verbs that answer the same when they have been applied already.
    async fn ask_again<A: AsRef<[u8]>>(
        &self,
        script: &Script,
        key: &ScopedKey,
        args: &[A],
    ) -> ::redis::RedisResult<Value> {
        match self.ask(script, key, args).await {
            Err(error) if error::broke(&error) => self.ask(script, key, args).await,
            answer => answer,
        }
    }
}

/// Never a record.
impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStore").field("connection", &self.connection).field("prefix", &self.prefix).finish()
    }
}

const NONE: [&[u8]; 0] = [];

impl Store for RedisStore {
    async fn claim(&self, request: &ClaimRequest) -> Result<Claimed, StoreError> {
        // Drawn before the server is asked, so that a claim whose answer was lost is known again by its holder.
        let holder = Uuid::new_v4();
        let (lease, retention) = (reply::millis(request.lease), reply::millis(request.retention));
        let args: [&[u8]; 4] =
            [&request.fingerprint.to_bytes(), holder.as_bytes(), lease.as_bytes(), retention.as_bytes()];
        let answer = self.ask_again(&script::CLAIM, &request.key, &args).await;
        reply::claimed(answer.map_err(error::failed)?, request, holder)
    }

    async fn lookup(&self, request: &ClaimRequest) -> Result<Found, StoreError> {
        let answer = self.ask_again(&script::LOOKUP, &request.key, &[request.fingerprint.to_bytes()]).await;
        reply::found(answer.map_err(error::failed)?, request)
    }

    async fn renew(&self, token: &Token, lease: Duration) -> Result<Held, StoreError> {
        let (fence, lease) = (token.fence().to_string(), reply::millis(lease));
        let args: [&[u8]; 3] = [fence.as_bytes(), token.holder(), lease.as_bytes()];
        reply::held(self.ask_again(&script::RENEW, token.key(), &args).await)
    }

    async fn complete(&self, token: &Token, outcome: Outcome) -> Result<Held, StoreError> {
        let (status, response) = reply::outcome(&outcome);
        let fence = token.fence().to_string();
        let mut args: Vec<&[u8]> = vec![fence.as_bytes(), token.holder(), status.as_str().as_bytes()];
        args.extend(response.as_deref());
        reply::held(self.ask_again(&script::COMPLETE, token.key(), &args).await)
    }

    async fn release(&self, token: &Token) -> Result<Held, StoreError> {
        let fence = token.fence().to_string();
        let args: [&[u8]; 2] = [fence.as_bytes(), token.holder()];
        reply::held(self.ask(&script::RELEASE, token.key(), &args).await)
    }

    async fn status(&self, key: &ScopedKey) -> Result<Status, StoreError> {
        let answer = self.ask_again(&script::STATUS, key, &NONE).await;
        reply::status(answer.map_err(error::failed)?)
    }

    async fn force_release(&self, key: &ScopedKey) -> Result<Held, StoreError> {
        let freed = reply::held(self.ask(&script::FORCE_RELEASE, key, &NONE).await)?;
        if let Held::Yes = freed {
            tracing::warn!("an unfinished key was freed by hand: its holder can complete nothing");
        }
        Ok(freed)
    }

    async fn forget(&self, key: &ScopedKey) -> Result<Held, StoreError> {
        reply::held(self.ask(&script::FORGET, key, &NONE).await)
    }

    /// Redis deletes what is past its retention by itself.
    async fn purge(&self, _batch: u32) -> Result<u64, StoreError> {
        Ok(0)
    }
}
