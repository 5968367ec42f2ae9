--[[ Makes keys ready whose lease ended (the holder died or is paused) or whose wait is over.
KEYS  as in lib/keys.lua
ARGV  incarnation of the connection, how many keys at most
Returns {number of keys, ids of the hints that the caller sends}.
After TIME went back, leases and waits end earlier by as much, so that none is longer than its length and the time between
two sweeps (rule `clock`). One that began since then ends too early: its token, or one run too many, is the price. Ready keys
become older by as much, so that later ones do not overtake them.
]]
--- @include "lib/keys"
--- @include "lib/classes"
--- @include "lib/mark_dirty"
--- @include "lib/now_ms"
--- @include "lib/top_up"
local incarnation, limit = unpack(ARGV)
local now = now_ms()
local back = tonumber(redis.call('HGET', META, 'noted') or 0) - now
if back > 0 then
  local queues = {TIMER}
  for class = 1, SLOW do queues[class + 1] = ready_queue(class) end
  for _, queue in ipairs(queues) do
    for _, key in ipairs(redis.call('ZRANGE', queue, 0, -1)) do redis.call('ZINCRBY', queue, -back, key) end
  end
end
redis.call('HSET', META, 'noted', now)
local due = redis.call('ZRANGEBYSCORE', TIMER, '-inf', now, 'LIMIT', 0, limit)
for _, key in ipairs(due) do
  redis.call('ZREM', TIMER, key)
  redis.call('HDEL', HOLDERS, key)
  mark_dirty(key)
end
return {#due, top_up(redis.call('HGET', META, 'run') == incarnation)}
