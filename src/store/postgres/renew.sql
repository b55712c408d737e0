-- Renews all that wait: `asked` has a row for each. A record that an open transaction has is skipped.
WITH asked AS MATERIALIZED (
    SELECT id, fence, holder, lease * interval '1 microsecond' AS lease, n, clock_timestamp() AS now
    FROM unnest($1, $2, $3, $4) WITH ORDINALITY AS asked (id, fence, holder, lease, n)
),
seen AS MATERIALIZED (
    SELECT asked.n FROM asked JOIN {records} r USING (id, fence, holder)
    WHERE r.ended_at IS NULL AND r.expires_at > asked.now
),
free AS MATERIALIZED (
    SELECT r.id, asked.n, asked.lease, asked.now
    FROM asked JOIN {records} r ON r.id = asked.id AND r.fence = asked.fence AND r.holder = asked.holder
    WHERE r.ended_at IS NULL AND r.expires_at > asked.now
    FOR NO KEY UPDATE OF r SKIP LOCKED
),
renewed AS (
    UPDATE {records} r SET lease_until = free.now + free.lease, expires_at = free.now + free.lease + r.retention
    FROM free WHERE r.id = free.id
    RETURNING r.id, r.fence, r.holder
)
SELECT EXISTS (SELECT FROM renewed WHERE (renewed.id, renewed.fence, renewed.holder) = (asked.id, asked.fence, asked.holder)) AS changed,
    EXISTS (SELECT FROM seen WHERE seen.n = asked.n) AS seen
FROM asked ORDER BY asked.n
