--[[ Opens the queue for workers: a list was marked completely under this incarnation.
KEYS  as in lib/keys.lua
ARGV  epoch, incarnation under which it was assumed, incarnation of the connection
Returns 1, or 0 if the epoch is not the current one, or Redis was restarted since it was assumed (marks may be missing).
Hints and a sweep that another incarnation sent may be lost, so another sweep for lost hints may be requested.
]]
--- @include "lib/keys"
local epoch, assumed_under, incarnation = unpack(ARGV)
if assumed_under ~= incarnation or redis.call('HGET', META, 'epoch') ~= epoch then return 0 end
if redis.call('HGET', META, 'run') ~= incarnation then redis.call('DEL', SWEEP) end
redis.call('HSET', META, 'run', incarnation)
return 1
