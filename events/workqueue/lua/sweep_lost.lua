--[[ Finds hints that were lost: sent before this sweep's own message, which has come through the same queue.
What was sent in the future was sent before TIME went back, and before this sweep.
KEYS  as in head.lua
ARGV  when the sweep's message was sent (ms), how many at most
Returns the keys; the caller publishes.
]]
local sent, limit = ARGV[1], ARGV[2]
if redis.call('GET', sweep) == sent then redis.call('DEL', sweep) end
local time = now()
local lost = redis.call('ZRANGEBYSCORE', queued, '-inf', '(' .. sent, 'LIMIT', 0, limit)
local ahead = redis.call('ZRANGEBYSCORE', queued, '(' .. time, '+inf', 'LIMIT', 0, limit)
for _, k in ipairs(ahead) do lost[#lost + 1] = k end
for _, k in ipairs(lost) do redis.call('ZADD', queued, time, k) end
return lost
