-- ARGV: fence, holder.
if not unfinished(held(ARGV[1], ARGV[2])) then
  return 0
end
return redis.call('DEL', KEYS[1])
