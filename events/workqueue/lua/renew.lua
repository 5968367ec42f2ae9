--[[ Prolongs the holder's lease and records where the key's name may hold ports.
KEYS  as in head.lua
ARGV  key, token, lease (ms), JSON list of pools to remember ('' = none)
Returns 1, or 0 if the token no longer holds the key.
]]
local k, token, lease, list = unpack(ARGV)
if redis.call('HGET', hold, k) ~= token then return 0 end
redis.call('ZADD', timer, after(lease), k)
add_pools(k, list)
return 1
