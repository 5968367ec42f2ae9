--[[ Makes the Redis another fleet's, whose publisher must claim and list before anybody takes a key.
KEYS  as in head.lua
ARGV  cluster and UID of the fleet that it belongs to, cluster and UID of the one that it shall belong to
Returns 1, or 0 if it does not belong to the first.
]]
local cluster, system, heir, own = unpack(ARGV)
local m = redis.call('HMGET', meta, 'cluster', 'system')
if m[1] ~= cluster or (m[2] or '') ~= system then return 0 end
redis.call('HDEL', meta, 'epoch', 'run', 'system')
redis.call('HSET', meta, 'cluster', heir)
if own ~= '' then redis.call('HSET', meta, 'system', own) end
return 1
