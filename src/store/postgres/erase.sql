-- Erases a record whoever holds it: an unfinished one, or with $2 a finished one too. One that an open transaction has is skipped.
WITH asked AS MATERIALIZED (
    SELECT clock_timestamp() AS now
),
seen AS MATERIALIZED (
    SELECT r.id FROM {records} r, asked
    WHERE r.id = $1 AND (r.ended_at IS NULL OR $2) AND r.expires_at > asked.now
),
free AS MATERIALIZED (
    SELECT r.id FROM {records} r, asked
    WHERE r.id = $1 AND (r.ended_at IS NULL OR $2) AND r.expires_at > asked.now
    FOR UPDATE OF r SKIP LOCKED
),
gone AS (
    DELETE FROM {records} r USING free WHERE r.id = free.id RETURNING r.id
)
SELECT EXISTS (SELECT FROM gone) AS changed, EXISTS (SELECT FROM seen) AS seen
