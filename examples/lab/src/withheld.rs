//! A database that takes no renewal of a lease: the leases of holders that live lapse too.

use rusqlite::Connection;

/// From now on each renewal in this file finds nothing to renew; claims, take-overs and commits go through.
///
/// Inside the file, since only the claim of a `SqliteStore` commits, and that of a store around one does not.
pub fn withhold_renewals(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "CREATE TRIGGER renewals_are_withheld BEFORE UPDATE OF lease_until ON tower_idempotency_records
             WHEN NEW.ended_at IS NULL AND NEW.fence = OLD.fence
             BEGIN SELECT RAISE(IGNORE); END",
    )
}
