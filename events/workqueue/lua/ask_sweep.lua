--[[ Asks for a sweep for lost hints, unless one is outstanding.
KEYS  as in head.lua
ARGV  ms after which the message of an outstanding sweep counts as lost
Returns the time to send with the sweep's message (ms), nil while one is outstanding.
A sweep of the future was asked before TIME went back: it counts as lost.
]]
local time, asked = now(), tonumber(redis.call('GET', sweep) or nil)
if asked and asked <= time and time - asked < tonumber(ARGV[1]) then return false end
redis.call('SET', sweep, time, 'PX', ARGV[1])
return time
