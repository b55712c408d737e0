-- As complete, inside a transaction that is not the store's: no time limit is set that would outlast the statement, and
-- the record has to be unfinished. `before`: this token has finished it, in this transaction or another.
WITH ended AS (
    UPDATE {records} r
    SET ended_at = clock_timestamp(), status = $4, response = $5, expires_at = clock_timestamp() + r.retention
    WHERE r.id = $1 AND r.fence = $2 AND r.holder = $3 AND r.ended_at IS NULL AND r.expires_at > clock_timestamp()
    RETURNING r.id
)
SELECT EXISTS (SELECT FROM ended) AS changed,
    EXISTS (
        SELECT FROM {records} r WHERE r.id = $1 AND r.fence = $2 AND r.holder = $3 AND r.ended_at IS NOT NULL
    ) AS before
