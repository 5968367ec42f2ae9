--[[ Opens the queue for workers: a list was marked completely under this incarnation.
KEYS  as in lib/keys.lua
ARGV  epoch, incarnation under which it was assumed, incarnation of the connection
Returns {1, ids of the hints that the caller sends}, or {0, {}} if the epoch is not the current one, or Redis was restarted
since it was assumed (marks may be missing).
Rule opened: hints that were sent under another incarnation may be lost, so none of them counts.
]]
--- @include "lib/keys"
--- @include "lib/top_up"
local epoch, assumed_under, incarnation = unpack(ARGV)
if assumed_under ~= incarnation or redis.call('HGET', META, 'epoch') ~= epoch then return {0, {}} end
if redis.call('HGET', META, 'run') ~= incarnation then redis.call('DEL', SENT) end
redis.call('HSET', META, 'run', incarnation)
return {1, top_up(true)}
