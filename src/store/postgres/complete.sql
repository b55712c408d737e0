-- Finishes an unfinished record of this token. `seen`: it was unfinished at the snapshot; `before`: it was finished by
-- this token with this outcome.
WITH asked AS MATERIALIZED (
    SELECT clock_timestamp() AS now, set_config('lock_timeout', '1s', true)
),
seen AS MATERIALIZED (
    SELECT r.ended_at IS NULL AS unfinished,
        r.ended_at IS NOT NULL AND r.status = $4 AND r.response IS NOT DISTINCT FROM $5 AS before
    FROM {records} r, asked WHERE r.id = $1 AND r.fence = $2 AND r.holder = $3 AND r.expires_at > asked.now
),
ended AS (
    UPDATE {records} r SET ended_at = asked.now, status = $4, response = $5, expires_at = asked.now + r.retention
    FROM asked
    WHERE r.id = $1 AND r.fence = $2 AND r.holder = $3 AND r.ended_at IS NULL AND r.expires_at > asked.now
    RETURNING r.id
)
SELECT EXISTS (SELECT FROM ended) OR EXISTS (SELECT FROM seen WHERE before) AS changed,
    EXISTS (SELECT FROM seen WHERE unfinished) AS seen
