//! Makes the tables, once, whoever comes first.

use sqlx::{AssertSqlSafe, PgPool, Row};

use super::{error::MigrateError, names::Names};

/// As the last line of `schema.sql` says it.
const LAYOUT: &str = "tower-idempotency: layout 1";

pub(super) fn text(names: &Names) -> String {
    format!("CREATE SCHEMA IF NOT EXISTS {};\n\n{}", names.schema(), names.put_into(include_str!("schema.sql")))
}

/// `CREATE ... IF NOT EXISTS` by two at once can fail for one of them: the second waits for the first here, and finds
/// everything made.
pub(super) async fn run(pool: &PgPool, names: &Names) -> Result<(), MigrateError> {
    // Each statement has to see what the lock was waited for, whatever the default isolation is.
    let mut tx = pool.begin_with("BEGIN ISOLATION LEVEL READ COMMITTED").await?;
    let lock = format!("SELECT pg_advisory_xact_lock({})", names.number_of_the_schema());
    sqlx::raw_sql(AssertSqlSafe(lock)).execute(&mut *tx).await?;
    let found = format!(
        "SELECT to_regclass({0}) IS NOT NULL AS made, obj_description(to_regclass({0})) AS layout",
        names.records_literal()
    );
    let found = sqlx::raw_sql(AssertSqlSafe(found)).fetch_one(&mut *tx).await?;
    if found.try_get("made")? {
        let layout: Option<String> = found.try_get("layout")?;
        return if layout.as_deref() == Some(LAYOUT) { Ok(()) } else { Err(MigrateError::OtherLayout) };
    }
    let schema = format!("SELECT to_regnamespace({}) IS NOT NULL AS made", names.schema_literal());
    let schema = sqlx::raw_sql(AssertSqlSafe(schema)).fetch_one(&mut *tx).await?;
    if !schema.try_get::<bool, _>("made")? {
        // Not asked of a role that may not: Postgres refuses it even where the schema is there.
        let make = format!("CREATE SCHEMA IF NOT EXISTS {}", names.schema());
        sqlx::raw_sql(AssertSqlSafe(make)).execute(&mut *tx).await?;
    }
    sqlx::raw_sql(AssertSqlSafe(names.put_into(include_str!("schema.sql")))).execute(&mut *tx).await?;
    tx.commit().await?;
    Ok(())
}
