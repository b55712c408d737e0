//! Settings.

use sqlx::PgPool;

use super::{
    PostgresStore,
    names::{InvalidName, Names},
    records::Records,
    statement::Sending,
};

/// Settings of a [`PostgresStore`].
///
/// # Default
///
/// - [`schema`](Self::schema): `tower_idempotency`
/// - [`table`](Self::table): `records`
/// - named prepared statements, unless [`without_prepared_statements`](Self::without_prepared_statements)
#[derive(Clone, Debug)]
#[must_use]
pub struct PostgresStoreBuilder {
    pool: PgPool,
    schema: String,
    table: String,
    sending: Sending,
}

impl PostgresStoreBuilder {
    pub(super) fn new(pool: PgPool) -> Self {
        Self { pool, schema: "tower_idempotency".into(), table: "records".into(), sending: Sending::Prepared }
    }

    /// The schema of the table, `tower_idempotency` by default. Quoted wherever it is used: letters keep their case.
    pub fn schema(mut self, schema: impl Into<String>) -> Self {
        self.schema = schema.into();
        self
    }

    /// The table of the records, `records` by default. Its index and its sequence have names that begin with it. Quoted
    /// wherever it is used.
    pub fn table(mut self, table: impl Into<String>) -> Self {
        self.table = table.into();
        self
    }

    /// Sends each statement as text, in one message: for PgBouncer in transaction mode where it does not support
    /// prepared statements (before 1.21, or with `max_prepared_statements = 0`). By default they are prepared once on each
    /// connection. The statements of the application are not the store's: see the
    /// [module's page](crate::store::postgres#pgbouncer).
    pub fn without_prepared_statements(mut self) -> Self {
        self.sending = Sending::Text;
        self
    }

    /// The store. Nothing is asked of the server yet.
    ///
    /// # Errors
    ///
    /// [`InvalidName`]: a name that Postgres would refuse or cut off.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime: the pool for renewals is made.
    pub fn build(self) -> Result<PostgresStore, InvalidName> {
        let names = Names::parse(self.schema, self.table)?;
        Ok(PostgresStore::with(self.pool, Records::new(names, self.sending)))
    }
}
