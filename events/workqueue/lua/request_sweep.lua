--[[ Requests a sweep for lost hints, unless one is outstanding.
KEYS  as in lib/keys.lua
ARGV  ms after which the message of an outstanding sweep counts as lost
Returns the time to send with the sweep's message (ms), nil while one is outstanding.
A sweep with a future time was requested before TIME went back: it counts as lost.
]]
--- @include "lib/keys"
--- @include "lib/now_ms"
local lost_after = ARGV[1]
local now, sent = now_ms(), tonumber(redis.call('GET', SWEEP) or nil)
if sent and sent <= now and now - sent < tonumber(lost_after) then return false end
redis.call('SET', SWEEP, now, 'PX', lost_after)
return now
