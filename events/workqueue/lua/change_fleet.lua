--[[ Makes the Redis another fleet's. That fleet's publisher must assume an epoch and list before a worker takes a key.
KEYS  as in lib/keys.lua
ARGV  cluster and UID of the present fleet, cluster and UID of the new fleet
Returns 1, or 0 if the Redis does not belong to the present fleet as named.
]]
--- @include "lib/keys"
local cluster, system, new_cluster, new_system = unpack(ARGV)
local owner = redis.call('HMGET', META, 'cluster', 'system')
if owner[1] ~= cluster or (owner[2] or '') ~= system then return 0 end
redis.call('HDEL', META, 'epoch', 'run', 'system')
redis.call('HSET', META, 'cluster', new_cluster)
if new_system ~= '' then redis.call('HSET', META, 'system', new_system) end
return 1
