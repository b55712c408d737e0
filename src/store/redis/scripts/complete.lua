-- ARGV: fence, holder, status and, if it is kept, the response.
local record = held(ARGV[1], ARGV[2])
if not record then
  return 0
end
local status, response = ARGV[3], ARGV[4]
if record.ended then
  local same = record.status == status and redis.call('HGET', KEYS[1], 'response') == (response or false)
  return same and 1 or 0
end
redis.call('HSET', KEYS[1], 'status', status, 'ended', whole(now))
if response then
  redis.call('HSET', KEYS[1], 'response', response)
end
expire_after(record.retention)
return 1
