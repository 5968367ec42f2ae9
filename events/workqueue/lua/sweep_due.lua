--[[ Queues keys whose lease ended (the holder died or is paused) or whose wait is over.
KEYS  as in lib/keys.lua
ARGV  how many at most
Returns the keys; the caller publishes.
After TIME went back, leases and waits end earlier by as much, so that none is longer than its length and the time between
two sweeps (rule `clock`). One that began since then ends too early: its token, or one run too many, is the price.
]]
--- @include "lib/keys"
--- @include "lib/mark_dirty"
--- @include "lib/now_ms"
local limit = ARGV[1]
local now = now_ms()
local back = tonumber(redis.call('HGET', META, 'noted') or 0) - now
if back > 0 then
  for _, key in ipairs(redis.call('ZRANGE', TIMER, 0, -1)) do redis.call('ZINCRBY', TIMER, -back, key) end
end
redis.call('HSET', META, 'noted', now)
local due = redis.call('ZRANGEBYSCORE', TIMER, '-inf', now, 'LIMIT', 0, limit)
for _, key in ipairs(due) do
  redis.call('ZREM', TIMER, key)
  redis.call('HDEL', HOLDERS, key)
  mark_dirty(key)
end
return due
