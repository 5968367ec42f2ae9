--[[ Prolongs the holder's lease and records where the key's name may hold ports.
KEYS  as in lib/keys.lua
ARGV  key, token, lease (ms), JSON list of pools to remember ('' = none)
Returns 1, or 0 if the token no longer holds the key.
]]
--- @include "lib/keys"
--- @include "lib/add_pools"
--- @include "lib/timer_end"
local key, token, lease, pools = unpack(ARGV)
if redis.call('HGET', HOLDERS, key) ~= token then return 0 end
redis.call('ZADD', TIMER, timer_end(lease), key)
add_pools(key, pools)
return 1
