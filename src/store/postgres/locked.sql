-- Whether a transaction that was open at the statement's snapshot has locked or changed this version of the record.
-- Read from the record's header, since taking a lock to learn of one would cost a write, and keep renewals off. xmax has
-- 32 bits: it is within 2^31 of the next transaction, on either side. Where several lockers share a record, or one
-- locked it in a savepoint, this may be wrong. No grant depends on it. Nor does a release, which takes the lock: the
-- layer, which takes "not locked" for "rolled back", is held up there.
(r.xmax <> 0 AND NOT pg_visible_in_snapshot(
    greatest(
        pg_snapshot_xmax(pg_current_snapshot())::text::bigint - 2147483648
            + ((r.xmax::text::bigint - pg_snapshot_xmax(pg_current_snapshot())::text::bigint + 2147483648) & 4294967295),
        0
    )::text::xid8,
    pg_current_snapshot()
))
