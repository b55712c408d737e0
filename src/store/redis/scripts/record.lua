-- Stands before each verb. KEYS[1] is the record; lengths and times are milliseconds by the clock of this server.
--
-- A record's time to live is the end of its retention, which counts from the end of the request and, until then, from
-- the lapse of the lease. So it tells when the lease lapses too, and a renewal moves nothing else: it takes no memory.
local FOR_EVER = 2 ^ 52
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

-- Lua writes a large number as 1.7e+15.
local function whole(number)
  return string.format('%.0f', number)
end

local function expire_after(length)
  redis.call('PEXPIREAT', KEYS[1], whole(now + length))
end

-- The record, or nil if there is none or it is past its retention.
local function read()
  local expires = redis.call('PEXPIRETIME', KEYS[1])
  if expires == -1 then
    expires = FOR_EVER -- Someone's PERSIST.
  end
  if expires <= now then
    return nil
  end
  local kept = redis.call('HMGET', KEYS[1], 'fence', 'holder', 'attempt', 'fingerprint', 'claimed', 'lease',
    'retention', 'status', 'ended')
  local retention = tonumber(kept[7])
  return {
    fence = kept[1],
    holder = kept[2],
    attempt = tonumber(kept[3]),
    fingerprint = kept[4],
    claimed = kept[5],
    lease = tonumber(kept[6]),
    retention = retention,
    status = kept[8],
    ended = kept[9],
    lease_left = expires - retention - now,
  }
end

-- The record if this token holds it, or finished it.
local function held(fence, holder)
  local record = read()
  if record and record.fence == fence and record.holder == holder then
    return record
  end
  return nil
end

local function unfinished(record)
  return record and not record.ended
end

local function judge(record, fingerprint)
  if not record then
    return {'absent'}
  end
  if record.fingerprint ~= fingerprint then
    return {'mismatch', record.fingerprint}
  end
  if record.ended then
    return {'ended', record.status, redis.call('HGET', KEYS[1], 'response')}
  end
  if record.lease_left > 0 then
    -- More than its own length is left of it if the clock was set back.
    return {'in_flight', whole(math.min(record.lease_left, record.lease))}
  end
  return {'lapsed'}
end

