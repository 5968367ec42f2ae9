--[[ Keys of a pool with precreated listeners, besides those of keys.lua.

STOCK     hash   `lb:port` -> `listener ARN target group ARN` of a precreated listener. A port that is neither in stock nor held
                 has its bit set; capacity:LB counts those in stock or held
COMING    hash   LB -> precreated listeners that are still to be made
COMPARE   hash   `lb:port` -> request to compare its targets with AWS: a number that was never used before, so that only a run
                 that has read it can end it
]]
--- @include "lib/keys"
-- luacheck: push ignore 211
-- Each script uses some of them.
local STOCK, COMING, COMPARE = PREFIX .. 'stock', PREFIX .. 'coming', PREFIX .. 'compare'
-- luacheck: pop
