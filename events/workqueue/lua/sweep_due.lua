--[[ Queues keys whose lease ended (the holder died or is paused) or whose wait is over.
KEYS  as in head.lua
ARGV  how many at most
Returns the keys; the caller publishes.
]]
local due = redis.call('ZRANGEBYSCORE', timer, '-inf', now(), 'LIMIT', 0, ARGV[1])
for _, k in ipairs(due) do
  redis.call('ZREM', timer, k)
  redis.call('HDEL', hold, k)
  touch(k)
end
return due
