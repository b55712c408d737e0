local record = read()
if not record then
  return {'unknown'}
end
if record.ended then
  return {'done', record.status, record.ended, redis.call('HEXISTS', KEYS[1], 'response')}
end
return {record.lease_left > 0 and 'in_progress' or 'lapsed', record.claimed}
