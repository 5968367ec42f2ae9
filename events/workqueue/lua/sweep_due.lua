--[[ Queues keys whose lease ended (the holder died or is paused) or whose wait is over.
KEYS  as in head.lua
ARGV  how many at most
Returns the keys; the caller publishes.
After TIME went back, leases and waits end earlier by as much, so that none is longer than its length and the time between
two sweeps (rule `clock`). One that began since then ends too early: its token, or one run too many, is the price.
]]
local time = now()
local back = tonumber(redis.call('HGET', meta, 'noted') or 0) - time
if back > 0 then
  for _, k in ipairs(redis.call('ZRANGE', timer, 0, -1)) do redis.call('ZINCRBY', timer, -back, k) end
end
redis.call('HSET', meta, 'noted', time)
local due = redis.call('ZRANGEBYSCORE', timer, '-inf', time, 'LIMIT', 0, ARGV[1])
for _, k in ipairs(due) do
  redis.call('ZREM', timer, k)
  redis.call('HDEL', hold, k)
  touch(k)
end
return due
