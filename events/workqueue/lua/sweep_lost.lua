--[[ Finds hints that were lost: sent before this sweep's own message, which has come through the same queue.
A hint with a future time was sent before TIME went back, and before this sweep.
KEYS  as in lib/keys.lua
ARGV  when the sweep's message was sent (ms), how many at most
Returns the keys; the caller sends their hints.
]]
--- @include "lib/keys"
--- @include "lib/now_ms"
local sent, limit = unpack(ARGV)
if redis.call('GET', SWEEP) == sent then redis.call('DEL', SWEEP) end
local now = now_ms()
local lost = redis.call('ZRANGEBYSCORE', QUEUED, '-inf', '(' .. sent, 'LIMIT', 0, limit)
local ahead = redis.call('ZRANGEBYSCORE', QUEUED, '(' .. now, '+inf', 'LIMIT', 0, limit)
for _, key in ipairs(ahead) do lost[#lost + 1] = key end
for _, key in ipairs(lost) do redis.call('ZADD', QUEUED, now, key) end
return lost
