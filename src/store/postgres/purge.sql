-- Deletes the oldest records past their retention; one that is being taken over is skipped.
WITH old AS MATERIALIZED (
    SELECT id FROM {records} WHERE expires_at <= (SELECT clock_timestamp()) ORDER BY expires_at LIMIT $1
    FOR UPDATE SKIP LOCKED
),
gone AS (
    DELETE FROM {records} r USING old WHERE r.id = old.id RETURNING r.id
)
SELECT count(*) AS purged FROM gone
