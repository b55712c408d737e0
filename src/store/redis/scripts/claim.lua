-- KEYS[2]: the fences of the bucket. ARGV: fingerprint, holder, lease, retention.
local fingerprint, holder = ARGV[1], ARGV[2]
local lease, retention = tonumber(ARGV[3]), tonumber(ARGV[4])

-- Never the same twice, though the counter was lost or taken back by a failover: it keeps up with the clock.
local function next_fence(record)
  local last = tonumber(redis.call('GET', KEYS[2]) or 0)
  local passed = record and tonumber(record.fence) or 0
  local fence = whole(math.max(last + 1, passed + 1, time[1] * 1000000 + time[2]))
  redis.call('SET', KEYS[2], fence)
  return fence
end

local record = read()
local judged = judge(record, fingerprint)
local verdict = judged[1]

if verdict == 'in_flight' then
  if record.holder == holder then
    -- This very claim was granted, and the answer was lost.
    expire_after(record.lease + record.retention)
    return {'granted', record.fence, record.attempt}
  end
  if record.lease_left > record.lease then
    expire_after(record.lease + record.retention)
  end
end
if verdict ~= 'absent' and verdict ~= 'lapsed' then
  return judged
end

local attempt = record and record.attempt + 1 or 1
-- The first write: a server without memory refuses it, and nothing has changed.
local fence = next_fence(record)
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'fence', fence, 'holder', holder, 'attempt', attempt, 'fingerprint', fingerprint,
  'claimed', whole(now), 'lease', whole(lease), 'retention', whole(retention))
expire_after(lease + retention)
return {'granted', fence, attempt}
