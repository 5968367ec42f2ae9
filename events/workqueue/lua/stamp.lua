--[[ Opens the queue for workers: a list was marked completely under this incarnation.
KEYS  as in head.lua
ARGV  epoch, incarnation that it was claimed under, incarnation of the connection
Returns 1, or 0 if the epoch no longer stands or Redis was restarted since the claim (marks may be missing).
What another incarnation has sent may be lost, hints and the sweep for lost hints alike: another sweep may be asked for.
]]
local epoch, claimed, run = ARGV[1], ARGV[2], ARGV[3]
if claimed ~= run or redis.call('HGET', meta, 'epoch') ~= epoch then return 0 end
if redis.call('HGET', meta, 'run') ~= run then redis.call('DEL', sweep) end
redis.call('HSET', meta, 'run', run)
return 1
