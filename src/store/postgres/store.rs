//! The store: each verb on a connection of the application's pool, asked again where another transaction came between.

use std::{future::Future, sync::Arc, time::Duration};

use sqlx::{PgPool, Postgres, pool::PoolConnection};

use super::{
    builder::PostgresStoreBuilder,
    columns::{Columns, Id},
    error::{self, Locked, MigrateError},
    migration,
    records::{Asked, Erase, Records, Renewal},
    renewals::Renewals,
};
use crate::store::{ClaimRequest, Claimed, Found, Held, Outcome, ScopedKey, Status, Store, StoreError, Token};

/// Keeps records in Postgres, and commits the handler's writes together with the completion of its key.
///
/// [The module's page](crate::store::postgres) says what it promises and what it asks for. A clone is another handle on
/// the same store.
#[derive(Clone, Debug)]
pub struct PostgresStore {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    pool: PgPool,
    records: Records,
    renewals: Renewals,
}

impl PostgresStore {
    /// A store in the application's database, with the [default settings](PostgresStoreBuilder). Nothing is asked of the
    /// server yet.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime: the pool for renewals is made.
    #[must_use]
    pub fn new(pool: PgPool) -> Self {
        PostgresStoreBuilder::new(pool).build().expect("the default names are names")
    }

    /// Settings for a store in the application's database.
    pub fn builder(pool: PgPool) -> PostgresStoreBuilder {
        PostgresStoreBuilder::new(pool)
    }

    /// Makes the schema and the tables, if they are not there. Safe to call at every start, and by several processes at once.
    ///
    /// # Errors
    ///
    /// [`MigrateError`]: the table has another layout, or the server refused.
    pub async fn migrate(&self) -> Result<(), MigrateError> {
        migration::run(&self.inner.pool, self.inner.records.names()).await
    }

    /// What [`migrate`](Self::migrate) runs on an empty database, to be run by hand or kept among the application's own
    /// migrations. It may stand in a transaction.
    #[must_use]
    pub fn migration(&self) -> String {
        migration::text(self.inner.records.names())
    }

    pub(super) fn with(pool: PgPool, records: Records) -> Self {
        let renewals = Renewals::new(&pool);
        Self { inner: Arc::new(Inner { pool, records, renewals }) }
    }

    pub(super) fn pool(&self) -> &PgPool {
        &self.inner.pool
    }

    pub(super) fn records(&self) -> &Records {
        &self.inner.records
    }

    async fn lend(&self) -> Result<Lent, StoreError> {
        Lent::of(self.pool()).await
    }

    async fn erase(&self, key: &ScopedKey, which: Erase) -> Result<Held, StoreError> {
        let erase = || async move {
            let mut lent = self.lend().await?;
            let answer = self.records().erase(&mut lent.connection, key, which).await;
            lent.back(answer)
        };
        known(until_settled(erase).await?)
    }
}

impl Store for PostgresStore {
    async fn claim(&self, request: &ClaimRequest) -> Result<Claimed, StoreError> {
        let mut asked = 0;
        let claim = || {
            let asked_before = asked;
            asked += 1;
            async move {
                let mut lent = self.lend().await?;
                let answer = self.records().claim(&mut lent.connection, request, asked_before).await;
                lent.back(answer)
            }
        };
        let claimed = until_settled(claim).await?;
        Ok(claimed.unwrap_or(Claimed::InFlight { lease_left: Duration::ZERO }))
    }

    async fn lookup(&self, request: &ClaimRequest) -> Result<Found, StoreError> {
        let mut lent = self.lend().await?;
        let answer = self.records().lookup(&mut lent.connection, request).await;
        lent.back(answer)
    }

    async fn renew(&self, token: &Token, lease: Duration) -> Result<Held, StoreError> {
        let renewal = || Renewal { id: Id::of(token.key()), token: token.clone(), lease };
        let renew = || self.inner.renewals.renew(self.records(), renewal);
        known(until_settled(renew).await?)
    }

    async fn complete(&self, token: &Token, outcome: Outcome) -> Result<Held, StoreError> {
        let columns = &Columns::from(&outcome);
        let complete = || async move {
            let mut lent = self.lend().await?;
            let answer = self.records().complete(&mut lent.connection, token, columns).await;
            lent.back(answer)
        };
        known(until_settled(complete).await?)
    }

    async fn release(&self, token: &Token) -> Result<Held, StoreError> {
        let release = || async move {
            let mut lent = self.lend().await?;
            let answer = self.records().release(&mut lent.connection, token).await;
            lent.back(answer)
        };
        known(until_settled(release).await?)
    }

    async fn status(&self, key: &ScopedKey) -> Result<Status, StoreError> {
        let mut lent = self.lend().await?;
        let answer = self.records().status(&mut lent.connection, key).await;
        lent.back(answer)
    }

    async fn force_release(&self, key: &ScopedKey) -> Result<Held, StoreError> {
        let freed = self.erase(key, Erase::Unfinished).await?;
        if let Held::Yes = freed {
            tracing::warn!("an unfinished key was freed by hand: its holder can complete nothing");
        }
        Ok(freed)
    }

    async fn forget(&self, key: &ScopedKey) -> Result<Held, StoreError> {
        self.erase(key, Erase::Any).await
    }

    async fn purge(&self, batch: u32) -> Result<u64, StoreError> {
        let mut lent = self.lend().await?;
        let answer = self.records().purge(&mut lent.connection, batch).await;
        lent.back(answer)
    }
}

/// Asks until another transaction no longer comes between, a few times: a statement of the store's own ends within
/// milliseconds, a handler's transaction may not.
async fn until_settled<T, F>(mut ask: impl FnMut() -> F) -> Result<Option<T>, StoreError>
where
    F: Future<Output = Result<Asked<T>, StoreError>>,
{
    const PAUSES: [u64; 5] = [1, 4, 16, 32, 64];
    for pause in PAUSES {
        if let Asked::Answer(answer) = ask().await? {
            return Ok(Some(answer));
        }
        tokio::time::sleep(Duration::from_millis(pause)).await;
    }
    match ask().await? {
        Asked::Answer(answer) => Ok(Some(answer)),
        Asked::Again => Ok(None),
    }
}

/// Whether it holds is not known while the record is locked (rule 5).
fn known(held: Option<Held>) -> Result<Held, StoreError> {
    held.ok_or_else(|| StoreError::transient(Locked))
}

/// A connection of a pool, for one question. If that is given up unanswered the connection is closed, and its place in the
/// pool free again: it could not be used before the answer has come, which may be never.
pub(super) struct Lent {
    pub(super) connection: PoolConnection<Postgres>,
    answered: bool,
}

impl Lent {
    pub(super) async fn of(pool: &PgPool) -> Result<Self, StoreError> {
        Ok(Self { connection: pool.acquire().await.map_err(error::failed)?, answered: false })
    }

    pub(super) fn back<T>(mut self, answer: T) -> T {
        self.answered = true;
        answer
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if !self.answered {
            self.connection.close_on_drop();
        }
    }
}
