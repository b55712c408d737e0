if not read() then
  return 0
end
return redis.call('DEL', KEYS[1])
