-- Gives an unfinished record of this token back; one that an open transaction has is skipped.
WITH asked AS MATERIALIZED (
    SELECT clock_timestamp() AS now
),
seen AS MATERIALIZED (
    SELECT r.id FROM {records} r, asked
    WHERE r.id = $1 AND r.fence = $2 AND r.holder = $3 AND r.ended_at IS NULL AND r.expires_at > asked.now
),
free AS MATERIALIZED (
    SELECT r.id FROM {records} r, asked
    WHERE r.id = $1 AND r.fence = $2 AND r.holder = $3 AND r.ended_at IS NULL AND r.expires_at > asked.now
    FOR UPDATE OF r SKIP LOCKED
),
gone AS (
    DELETE FROM {records} r USING free WHERE r.id = free.id RETURNING r.id
)
SELECT EXISTS (SELECT FROM gone) AS changed, EXISTS (SELECT FROM seen) AS seen
