-- What a claim would find; no lock. `bytea_output`: a statement sent as text is answered as text, in the form that the
-- role or the database is set to.
SELECT r.fingerprint, r.ended_at IS NOT NULL AS ended, r.status,
    CASE WHEN r.fingerprint = $2 THEN r.response END AS response,
    (extract(epoch FROM r.lease_until - asked.now) * 1000000)::bigint AS lease_left,
    {locked} AS locked
FROM {records} r, (SELECT clock_timestamp() AS now, set_config('bytea_output', 'hex', true) OFFSET 0) asked
WHERE r.id = $1 AND r.expires_at > asked.now
