-- Grants a lease, or says why not. One statement, which decides by four steps and waits for nobody:
--
-- 1. `seen` reads the record as of the statement's snapshot, without a lock. That settles replays, refusals and keys
--    in flight; nothing below runs for them.
-- 2. `door` is the right to grant this key, taken without waiting and given back with the statement: whoever finds it
--    shut is in flight. It keeps two inserts of one key from waiting for each other, and fences in the order of grants.
-- 3. `freed` locks a lapsed or expired record by its newest version, or skips it: an open transaction has it, or it
--    is no longer what was seen.
-- 4. `made` inserts where none was seen. Where one has come since, it conflicts and makes nothing.
--
-- Granted nothing behind an open door: the record changed since the snapshot, or is locked, and is asked about again.
--
-- `bytea_output`: a statement sent as text is answered as text, in the form that the role or the database is set to.
WITH asked AS MATERIALIZED (
    SELECT clock_timestamp() AS now, set_config('lock_timeout', '100ms', true), set_config('bytea_output', 'hex', true)
),
seen AS MATERIALIZED (
    SELECT r.fingerprint, r.ended_at IS NOT NULL AS ended, r.status,
        CASE WHEN r.fingerprint = $2 THEN r.response END AS response,
        r.lease_until - asked.now AS lease_left,
        r.expires_at <= asked.now AS expired,
        {locked} AS locked
    FROM {records} r, asked WHERE r.id = $1
),
door AS MATERIALIZED (
    SELECT pg_try_advisory_xact_lock($6) AS opened
    WHERE NOT EXISTS (
        SELECT FROM seen WHERE NOT expired AND (fingerprint <> $2 OR ended OR lease_left > interval '0')
    )
),
freed AS MATERIALIZED (
    SELECT r.id, CASE WHEN r.expires_at <= asked.now THEN 1 ELSE r.attempt + 1 END AS attempt
    FROM {records} r, asked, door
    WHERE door.opened AND r.id = $1 AND (
        r.expires_at <= asked.now OR (r.fingerprint = $2 AND r.ended_at IS NULL AND r.lease_until <= asked.now)
    )
    FOR UPDATE OF r SKIP LOCKED
),
taken AS (
    UPDATE {records} r SET
        fingerprint = $2, fence = nextval({fences_literal}), holder = $3, attempt = freed.attempt,
        claimed_at = asked.now,
        lease_until = asked.now + $4 * interval '1 microsecond',
        retention = $5 * interval '1 microsecond',
        expires_at = asked.now + $4 * interval '1 microsecond' + $5 * interval '1 microsecond',
        ended_at = NULL, status = NULL, response = NULL
    FROM freed, asked WHERE r.id = freed.id
    RETURNING r.fence, r.attempt
),
made AS (
    INSERT INTO {records}
        (id, key, fingerprint, fence, holder, attempt, claimed_at, lease_until, retention, expires_at)
    SELECT $1, $7, $2, nextval({fences_literal}), $3, 1, asked.now,
        asked.now + $4 * interval '1 microsecond',
        $5 * interval '1 microsecond',
        asked.now + $4 * interval '1 microsecond' + $5 * interval '1 microsecond'
    FROM asked, door WHERE door.opened AND NOT EXISTS (SELECT FROM seen)
    ON CONFLICT (id) DO NOTHING
    RETURNING fence, attempt
),
granted AS (
    SELECT fence, attempt FROM taken UNION ALL SELECT fence, attempt FROM made
)
SELECT granted.fence, granted.attempt, door.opened,
    seen.expired, seen.fingerprint, seen.ended, seen.status, seen.response, seen.locked,
    (extract(epoch FROM seen.lease_left) * 1000000)::bigint AS lease_left
FROM asked LEFT JOIN seen ON true LEFT JOIN door ON true LEFT JOIN granted ON true
