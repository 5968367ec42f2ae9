--[[ Keys that concern the pool as a whole, besides those of keys.lua.

SLOTS     hash   slot -> load balancer
RETAINED  zset   names with retained entries, by the first ms at which one is over; a name may be late in leaving
]]
--- @include "lib/keys"
-- luacheck: push ignore 211
-- Each script uses some of them.
local SLOTS, RETAINED = PREFIX .. 'slots', PREFIX .. 'retained'
-- luacheck: pop
