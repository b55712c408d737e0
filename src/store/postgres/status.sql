SELECT r.ended_at IS NOT NULL AS ended, r.status, r.response IS NOT NULL AS replayable, r.lease_until > asked.now AS running,
    (extract(epoch FROM coalesce(r.ended_at, r.claimed_at)) * 1000000)::bigint AS at
FROM {records} r, (SELECT clock_timestamp() AS now OFFSET 0) asked
WHERE r.id = $1 AND r.expires_at > asked.now
