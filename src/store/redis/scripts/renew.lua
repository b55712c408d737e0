-- ARGV: fence, holder, lease.
local record = held(ARGV[1], ARGV[2])
if not unfinished(record) then
  return 0
end
local lease = tonumber(ARGV[3])
if lease ~= record.lease then
  redis.call('HSET', KEYS[1], 'lease', whole(lease))
end
expire_after(lease + record.retention)
return 1
